// Pools and mapped memory of the simulated HIP runtime: what api_memory.hpp carries out.
#include "simulator/api_memory.hpp"
#include "simulator/hip_api.hpp"

namespace byteways::sim::hip_api {
namespace {

using Device = Hip::Table::Device;
using Stream = Hip::Table::Stream;
using Pool = Hip::Table::Pool;
using Physical = Hip::Table::Physical;
using Handle = Hip::Table::Handle;
using Access = Hip::Table::Access;
using PhysicalProperties = Hip::Table::PhysicalProperties;
using Event = Hip::Table::Event;
using Module = Hip::Table::Module;
using Kernel = Hip::Table::Kernel;
using Graph = Hip::Table::Graph;
using Launchable = Hip::Table::Launchable;
using Uuid = Hip::Table::Uuid;
using Properties = Hip::Table::Properties;
using Memory = MemoryCalls<Hip>;

}  // namespace

extern "C" {

#define BYTEWAYS_FUNCTION BYTEWAYS_ENTRY_POINT
#include "runtimes/hip/hip.def"
#undef BYTEWAYS_FUNCTION

// Another process plays a machine of its own: there is nobody to give a handle to.
int hipIpcGetMemHandle(Handle*, void*) { return code::kNotSupported; }
int hipIpcOpenMemHandle(void**, Handle, unsigned) { return code::kNotSupported; }
int hipIpcCloseMemHandle(void*) { return code::kNotSupported; }

int hipDeviceSynchronize() {
  return answer([&] { Hip::world().synchronize_device(Hip::current_gpu()); });
}

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
int hipFreeAsync(void* data, Stream) {
  return answer([&] {
    require(data != nullptr, code::kInvalidValue);
    Hip::world().release(data);
  });
}

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
