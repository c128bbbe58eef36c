// Memory functions of the simulated HIP runtime, implemented by memory.hpp.
#include "simulator/vendors/hip.hpp"
#include "simulator/vendors/memory.hpp"
#include "simulator/vendors/queue.hpp"

namespace byteways::sim::hip_api {
namespace {

using Memory = MemoryCalls<Hip>;

constexpr int kUnsetCoarseGrain = 101;  // hipMemAdviseUnsetCoarseGrain

Place near_place() { return {Place::Kind::cpu, domain_of(Hip::world().model(), Hip::current_gpu())}; }

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int hipMalloc(void** data, std::size_t bytes) { return Memory::allocate(data, bytes); }

int hipExtMallocWithFlags(void** data, std::size_t bytes, unsigned flags) {
  switch (flags) {
    case 0:
      return Memory::allocate(data, bytes);
    case Hip::Table::kDeviceFineGrained:
      return Memory::allocate(data, bytes, Kind::device_fine);
    case Hip::Table::kDeviceUncached:
      return Memory::allocate(data, bytes, Kind::device_uncached);
    default:
      return forget_sentence(code::kInvalidValue);
  }
}

int hipFree(void* data) { return Memory::free(data); }

int hipMallocManaged(void** data, std::size_t bytes, unsigned flags) {
  return Memory::allocate_managed(data, bytes, flags);
}

int hipMemAdvise(const void* data, std::size_t, int advice, Device) {
  return answer([&] {
    require(data != nullptr && (advice == Hip::Table::kAdviseCoarseGrain || advice == kUnsetCoarseGrain),
            code::kInvalidValue);
    Hip::world().set_kind(const_cast<void*>(data),
                          advice == Hip::Table::kAdviseCoarseGrain ? Kind::managed_coarse : Kind::managed);
  });
}

int hipHostMalloc(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    // Near the current device, unless the caller requests its own placement.
    const Place place = (flags & Hip::Table::kHostNumaUser) != 0 ? Memory::host_place() : near_place();
    const bool cached = (flags & Hip::Table::kHostNonCoherent) != 0;
    const bool combined = (flags & Hip::Table::kHostWriteCombined) != 0;
    *data = Hip::world().allocate(place,
                                  cached     ? Kind::pinned_noncoherent
                                  : combined ? Kind::write_combined
                                             : Kind::pinned,
                                  bytes);
  });
}

int hipHostFree(void* data) { return Memory::free(data); }

int hipHostRegister(void* data, std::size_t bytes, unsigned) { return Memory::register_host(data, bytes); }

int hipHostUnregister(void* data) { return Memory::unregister_host(data); }

int hipHostGetDevicePointer(void** device_data, void* data, unsigned flags) {
  return answer([&] {
    require(data != nullptr && flags == 0, code::kInvalidValue);
    Hip::world();
    give(device_data, data);
  });
}

int hipMemPrefetchAsync(const void* data, std::size_t bytes, Device device, Stream stream) {
  return answer([&] {
    Hip::world().prefetch(const_cast<void*>(data), bytes,
                          device == Hip::Table::kHostDevice ? near_place() : gpu_place(Hip::gpu_of(device)),
                          QueueCalls<Hip>::stream_of(stream));
  });
}

int hipMemRangeGetAttribute(void* to, std::size_t room, int attribute, const void* data, std::size_t bytes) {
  return Memory::range_attribute(to, room, attribute, data, bytes);
}

int hipMemGetInfo(std::size_t* available, std::size_t* all) { return Memory::info(available, all); }

// Another process simulates a separate machine, so handles work only between ranks of this one.
int hipIpcGetMemHandle(Handle* handle, void* data) { return Memory::get_handle(handle, data); }
int hipIpcOpenMemHandle(void** data, Handle handle, unsigned flags) {
  // hipIpcMemLazyEnablePeerAccess of the version, which takes no other flag.
  const unsigned known = world_of("amd").model().runtime_version < 60'000'000 ? 0 : 1;
  if (flags != known) return code::kInvalidValue;
  return Memory::open_handle(data, handle);
}
int hipIpcCloseMemHandle(void* data) { return Memory::close_handle(data); }

int hipDeviceSynchronize() { return Memory::synchronize_device(); }

int hipDeviceGetDefaultMemPool(Pool* pool, Device device) { return Memory::default_pool(pool, device); }
int hipMemPoolSetAttribute(Pool pool, int attribute, void* value) {
  return Memory::set_pool_attribute(pool, attribute, value);
}
int hipMemPoolSetAccess(Pool pool, const Access* access, std::size_t count) {
  return Memory::set_pool_access(pool, access, count);
}
int hipMemPoolTrimTo(Pool pool, std::size_t keep) { return Memory::trim_pool(pool, keep); }
int hipMallocFromPoolAsync(void** data, std::size_t bytes, Pool pool, Stream) {
  return Memory::allocate_from_pool(data, bytes, pool);
}
int hipFreeAsync(void* data, Stream) { return Memory::free_to_pool(data); }

int hipMemGetAllocationGranularity(std::size_t* bytes, const PhysicalProperties* properties, int) {
  return Memory::granularity(bytes, properties);
}
int hipMemCreate(Physical* physical, std::size_t bytes, const PhysicalProperties* properties,
                 unsigned long long) {
  return Memory::create(physical, bytes, properties);
}
int hipMemRelease(Physical physical) { return Memory::release(physical); }
int hipMemAddressReserve(void** data, std::size_t bytes, std::size_t, void*, unsigned long long) {
  return Memory::reserve(data, bytes);
}
int hipMemAddressFree(void* data, std::size_t) { return Memory::free_addresses(data); }
int hipMemMap(void* data, std::size_t bytes, std::size_t offset, Physical physical, unsigned long long) {
  return Memory::map(data, bytes, offset, physical);
}
int hipMemUnmap(void* data, std::size_t) { return Memory::unmap(data); }
int hipMemSetAccess(void* data, std::size_t, const Access* access, std::size_t count) {
  return Memory::set_access(data, access, count);
}

}  // extern "C"

}  // namespace byteways::sim::hip_api
