// Memory functions of the simulated CUDA driver, implemented by memory.hpp.
#include "simulator/vendors/cuda.hpp"
#include "simulator/vendors/memory.hpp"
#include "simulator/vendors/queue.hpp"

namespace byteways::sim::cuda_api {
namespace {

using Memory = MemoryCalls<Cuda>;

// Only whether kernels access pages remotely matters here: with preferred location and accessor, pages stay.
int advise(const void* data, int advice) {
  using Table = Cuda::Table;
  return answer([&] {
    require(data != nullptr && advice >= Table::kPreferredLocation && advice <= Table::kNotAccessedBy,
            code::kInvalidValue);
    Cuda::world().hold(data, advice == Table::kPreferredLocation || advice == Table::kAccessedBy);
  });
}

Place place_of(const Location& location) {
  using Table = Cuda::Table;
  if (location.type == Table::kLocationDevice) return gpu_place(Cuda::gpu_of(Device{location.id}));
  if (location.type == Table::kLocationHost) return Memory::host_place();
  require(location.type == Table::kLocationHostDomain && location.id >= 0 &&
              location.id < Cuda::world().model().cpu.domains,
          code::kInvalidValue);
  return {Place::Kind::cpu, location.id};
}

void prefetch(void* data, std::size_t bytes, Place to, Stream stream) {
  Cuda::world().prefetch(data, bytes, to, QueueCalls<Cuda>::stream_of(stream));
}

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int cuMemAlloc_v2(void** data, std::size_t bytes) { return Memory::allocate(data, bytes); }

int cuMemFree_v2(void* data) { return Memory::free(data); }

int cuMemAllocManaged(void** data, std::size_t bytes, unsigned flags) {
  return Memory::allocate_managed(data, bytes, flags);
}

int cuMemHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    const bool combined = (flags & Cuda::Table::kHostWriteCombined) != 0;
    *data =
        Cuda::world().allocate(Memory::host_place(), combined ? Kind::write_combined : Kind::pinned, bytes);
  });
}

int cuMemFreeHost(void* data) { return Memory::free_not_null(data); }

int cuMemHostRegister_v2(void* data, std::size_t bytes, unsigned) {
  return Memory::register_host(data, bytes);
}

int cuMemHostUnregister(void* data) { return Memory::unregister_host(data); }

int cuMemPrefetchAsync(void* data, std::size_t bytes, Device device, Stream stream) {
  return answer([&] {
    prefetch(data, bytes,
             device == Cuda::Table::kHostDevice ? Memory::host_place() : gpu_place(Cuda::gpu_of(device)),
             stream);
  });
}

int cuMemPrefetchAsync_v2(void* data, std::size_t bytes, Location to, unsigned flags, Stream stream) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    prefetch(data, bytes, place_of(to), stream);
  });
}

int cuMemAdvise(void* data, std::size_t, int advice, Device) { return advise(data, advice); }

int cuMemAdvise_v2(void* data, std::size_t, int advice, Location) { return advise(data, advice); }

int cuMemRangeGetAttribute(void* to, std::size_t room, int attribute, const void* data, std::size_t bytes) {
  return Memory::range_attribute(to, room, attribute, data, bytes);
}

int cuMemGetInfo_v2(std::size_t* available, std::size_t* all) { return Memory::info(available, all); }

// Another process simulates a separate machine, so handles work only between ranks of this one.
int cuIpcGetMemHandle(Handle* handle, void* data) { return Memory::get_handle(handle, data); }
int cuIpcOpenMemHandle_v2(void** data, Handle handle, unsigned flags) {
  if (flags != Cuda::Table::kOpenWithPeerAccess) return code::kInvalidValue;
  return Memory::open_handle(data, handle);
}
int cuIpcCloseMemHandle(void* data) { return Memory::close_handle(data); }

int cuCtxSynchronize() { return Memory::synchronize_device(); }

int cuDeviceGetDefaultMemPool(Pool* pool, Device device) { return Memory::default_pool(pool, device); }
int cuMemPoolSetAttribute(Pool pool, int attribute, void* value) {
  return Memory::set_pool_attribute(pool, attribute, value);
}
int cuMemPoolSetAccess(Pool pool, const Access* access, std::size_t count) {
  return Memory::set_pool_access(pool, access, count);
}
int cuMemPoolTrimTo(Pool pool, std::size_t keep) { return Memory::trim_pool(pool, keep); }
int cuMemAllocFromPoolAsync(void** data, std::size_t bytes, Pool pool, Stream) {
  return Memory::allocate_from_pool(data, bytes, pool);
}
int cuMemFreeAsync(void* data, Stream) { return Memory::free_to_pool(data); }

int cuMemGetAllocationGranularity(std::size_t* bytes, const PhysicalProperties* properties, int) {
  return Memory::granularity(bytes, properties);
}
int cuMemCreate(Physical* physical, std::size_t bytes, const PhysicalProperties* properties,
                unsigned long long) {
  return Memory::create(physical, bytes, properties);
}
int cuMemRelease(Physical physical) { return Memory::release(physical); }
int cuMemAddressReserve(void** data, std::size_t bytes, std::size_t, void*, unsigned long long) {
  return Memory::reserve(data, bytes);
}
int cuMemAddressFree(void* data, std::size_t) { return Memory::free_addresses(data); }
int cuMemMap(void* data, std::size_t bytes, std::size_t offset, Physical physical, unsigned long long) {
  return Memory::map(data, bytes, offset, physical);
}
int cuMemUnmap(void* data, std::size_t) { return Memory::unmap(data); }
int cuMemSetAccess(void* data, std::size_t, const Access* access, std::size_t count) {
  return Memory::set_access(data, access, count);
}

}  // extern "C"

}  // namespace byteways::sim::cuda_api
