// Pools and mapped memory of the simulated CUDA driver: what api_memory.hpp carries out.
#include "simulator/api_memory.hpp"
#include "simulator/cuda_api.hpp"

namespace byteways::sim::cuda_api {
namespace {

using Device = Cuda::Table::Device;
using Stream = Cuda::Table::Stream;
using Pool = Cuda::Table::Pool;
using Physical = Cuda::Table::Physical;
using Handle = Cuda::Table::Handle;
using Access = Cuda::Table::Access;
using PhysicalProperties = Cuda::Table::PhysicalProperties;
using Context = Cuda::Table::Context;
using Event = Cuda::Table::Event;
using Module = Cuda::Table::Module;
using Kernel = Cuda::Table::Kernel;
using Graph = Cuda::Table::Graph;
using Launchable = Cuda::Table::Launchable;
using RowsCopy = Cuda::Table::RowsCopy;
using BatchAttributes = Cuda::Table::BatchAttributes;
using Uuid = Cuda::Table::Uuid;
using Location = Cuda::Table::Location;
using Memory = MemoryCalls<Cuda>;

}  // namespace

extern "C" {

#define BYTEWAYS_FUNCTION BYTEWAYS_ENTRY_POINT
#include "runtimes/cuda/cuda.def"
#undef BYTEWAYS_FUNCTION

// Another process plays a machine of its own: there is nobody to give a handle to.
int cuIpcGetMemHandle(Handle*, void*) { return code::kNotSupported; }
int cuIpcOpenMemHandle_v2(void**, Handle, unsigned) { return code::kNotSupported; }
int cuIpcCloseMemHandle(void*) { return code::kNotSupported; }

int cuCtxSynchronize() {
  return answer([&] { Cuda::world().synchronize_device(Cuda::current_gpu()); });
}

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
int cuMemFreeAsync(void* data, Stream) {
  return answer([&] {
    require(data != nullptr, code::kInvalidValue);
    Cuda::world().release(data);
  });
}

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
