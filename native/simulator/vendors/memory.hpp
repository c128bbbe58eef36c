// Implementation of the memory functions, shared by both vendors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtimes/gpu/memory_types.hpp"
#include "simulator/engine/thread_state.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/devices.hpp"

namespace byteways::sim {

inline constexpr std::size_t kGranuleBytes = 2 << 20;  // granule with which vendors map GPU memory

// `Vendor` as in queue.hpp and devices.hpp. A pool is the number of its GPU, counted from 1.
template <class Vendor>
class MemoryCalls {
  using Table = typename Vendor::Table;
  using Pool = typename Table::Pool;
  using Physical = typename Table::Physical;

 public:
  // Returns the place of host memory that this thread allocates.
  static Place host_place() {
    return {Place::Kind::cpu, host_domain(Vendor::world().model(), Vendor::current_gpu())};
  }

  static int allocate(void** data, std::size_t bytes, Kind kind = Kind::device) {
    return answer([&] {
      require(data != nullptr && bytes != 0, code::kInvalidValue);
      *data = Vendor::world().allocate(gpu_place(Vendor::current_gpu()), kind, bytes);
    });
  }
  static int allocate_managed(void** data, std::size_t bytes, unsigned flags) {
    return answer([&] {
      require(data != nullptr && bytes != 0 && flags == Table::kAttachGlobal, code::kInvalidValue);
      require(Vendor::world().model().managed_memory, code::kNotSupported);
      *data = Vendor::world().allocate(host_place(), Kind::managed, bytes);
    });
  }
  static int free(void* data) {
    return answer([&] {
      if (data != nullptr) Vendor::world().release(data);
    });
  }
  static int free_not_null(void* data) {
    return answer([&] {
      require(data != nullptr, code::kInvalidValue);
      Vendor::world().release(data);
    });
  }
  // Handles are for other processes: the ranks of this machine, which are threads that have joined, or a
  // thread that acts as another process. As CUDA does, the process that exported memory is refused.
  template <class Handle>
  static int get_handle(Handle* handle, void* data) {
    return answer([&] {
      require(handle != nullptr, code::kInvalidValue);
      Vendor::world().owner_of(data);  // throws for what is no memory
      const int exporter = process();
      *handle = {};
      std::memcpy(handle, &data, sizeof data);
      std::memcpy(reinterpret_cast<std::byte*>(handle) + sizeof data, &exporter, sizeof exporter);
    });
  }
  template <class Handle>
  static int open_handle(void** data, const Handle& handle) {
    return answer([&] {
      require(data != nullptr, code::kInvalidValue);
      void* address = nullptr;
      int exporter = 0;
      std::memcpy(&address, &handle, sizeof address);
      std::memcpy(&exporter, reinterpret_cast<const std::byte*>(&handle) + sizeof address, sizeof exporter);
      require(exporter != process(), code::kInvalidContext);
      *data = Vendor::world().open_shared(address, Vendor::current_gpu());
    });
  }
  static int close_handle(void* data) {
    return answer([&] { Vendor::world().owner_of(data); });
  }
  static int register_host(void* data, std::size_t bytes) {
    return answer([&] {
      require(data != nullptr && bytes != 0, code::kInvalidValue);
      Vendor::current_gpu();
      Vendor::world().set_kind(data, Kind::registered);
    });
  }
  static int unregister_host(void* data) {
    return answer([&] {
      require(data != nullptr, code::kInvalidValue);
      Vendor::world().set_kind(data, Kind::pageable);
    });
  }
  static int info(std::size_t* available, std::size_t* all) {
    return answer([&] {
      World& world = Vendor::world();
      give(available, static_cast<std::size_t>(world.free_bytes(gpu_place(Vendor::current_gpu()))));
      give(all, static_cast<std::size_t>(world.model().gpu.memory_bytes));
    });
  }
  static int range_attribute(void* to, std::size_t room, int attribute, const void* data, std::size_t bytes) {
    using Device = typename Table::Device;
    return answer([&] {
      require(attribute == Table::kLastPrefetchLocation && room == sizeof(Device), code::kInvalidValue);
      const auto place = Vendor::world().last_prefetch(data, bytes);
      give(static_cast<Device*>(to), DeviceCalls<Vendor>::device_of(place));
    });
  }
  static int synchronize_device() {
    return answer([&] { Vendor::world().synchronize_device(Vendor::current_gpu()); });
  }

  static int default_pool(Pool* pool, int device) {
    return answer(
        [&] { give(pool, reinterpret_cast<Pool>(static_cast<std::uintptr_t>(Vendor::gpu_of(device)) + 1)); });
  }
  static int set_pool_attribute(Pool pool, int attribute, void* value) {
    return answer([&] {
      require(attribute == gpu::kPoolReleaseThreshold && value != nullptr, code::kInvalidValue);
      Vendor::world().set_pool_threshold(gpu_of(pool), *static_cast<std::uint64_t*>(value));
    });
  }
  static int set_pool_access(Pool pool, const gpu::AccessDescription* access, std::size_t count) {
    return answer([&] {
      for (std::size_t k = 0; k < count; ++k)
        Vendor::world().open_pool(gpu_of(pool), device_of(access[k]), is_open(access[k]));
    });
  }
  static int trim_pool(Pool pool, std::size_t keep) {
    return answer([&] { Vendor::world().trim_pool(gpu_of(pool), keep); });
  }
  static int free_to_pool(void* data) {
    return answer([&] {
      require(data != nullptr, code::kInvalidValue);
      Vendor::world().release_to_pool(data);
    });
  }
  static int allocate_from_pool(void** data, std::size_t bytes, Pool pool) {
    return answer([&] {
      require(data != nullptr && bytes != 0, code::kInvalidValue);
      *data = Vendor::world().allocate({Place::Kind::gpu, gpu_of(pool)}, Kind::pool, bytes);
    });
  }

  static int granularity(std::size_t* bytes, const gpu::PhysicalProperties* properties) {
    return answer([&] {
      gpu_of(properties);
      give(bytes, kGranuleBytes);
    });
  }
  static int create(Physical* physical, std::size_t bytes, const gpu::PhysicalProperties* properties) {
    return answer([&] {
      require(physical != nullptr && bytes != 0 && bytes % kGranuleBytes == 0, code::kInvalidValue);
      // A number with CUDA, a pointer with HIP.
      *physical = (Physical)(Vendor::world().create_physical(gpu_of(properties), bytes));
    });
  }
  static int release(Physical physical) {
    return answer([&] { Vendor::world().release_physical((std::uint64_t)physical); });
  }
  static int reserve(void** data, std::size_t bytes) {
    return answer([&] {
      require(data != nullptr && bytes != 0 && bytes % kGranuleBytes == 0, code::kInvalidValue);
      *data = Vendor::world().reserve(bytes);
    });
  }
  static int free_addresses(void* data) {
    return answer([&] { Vendor::world().release(data); });
  }
  static int map(void* data, std::size_t bytes, std::size_t offset, Physical physical) {
    return answer([&] {
      require(offset == 0, code::kInvalidValue);
      Vendor::world().map(data, bytes, (std::uint64_t)physical);
    });
  }
  static int unmap(void* data) {
    return answer([&] { Vendor::world().unmap(data); });
  }
  static int set_access(void* data, const gpu::AccessDescription* access, std::size_t count) {
    return answer([&] {
      for (std::size_t k = 0; k < count; ++k)
        Vendor::world().open_mapping(data, device_of(access[k]), is_open(access[k]));
    });
  }

 private:
  static constexpr int kOtherProcess = -2;  // ranks have numbers from 0, a machine without ranks kNoActor
  static int process() { return this_thread().other_process ? kOtherProcess : Timeline::actor(); }
  static int gpu_of(Pool pool) {
    const auto number = reinterpret_cast<std::uintptr_t>(pool);
    require(number >= 1, code::kInvalidHandle);
    return static_cast<int>(number) - 1;
  }
  static int gpu_of(const gpu::PhysicalProperties* properties) {
    require(properties != nullptr && properties->type == gpu::kAllocationPinned &&
                properties->location.type == gpu::kLocationIsDevice,
            code::kInvalidValue);
    return Vendor::gpu_of(properties->location.id);
  }
  static int device_of(const gpu::AccessDescription& access) {
    require(access.location.type == gpu::kLocationIsDevice, code::kInvalidValue);
    return Vendor::gpu_of(access.location.id);
  }
  static bool is_open(const gpu::AccessDescription& access) {
    require(access.flags == gpu::kAccessReadWrite || access.flags == gpu::kAccessNone, code::kInvalidValue);
    return access.flags == gpu::kAccessReadWrite;
  }
};

}  // namespace byteways::sim
