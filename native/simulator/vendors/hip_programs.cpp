// Further entry points of the HIP runtime on the simulated machine, for programs that load the simulator as
// their HIP: every row of vendors/hip_programs.def.
#include <cstddef>

#include "runtimes/gpu/memory_types.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/hip.hpp"
#include "simulator/vendors/rocprofiler.hpp"

#undef BYTEWAYS_ENTRY_TABLE
#define BYTEWAYS_ENTRY_TABLE "simulator/vendors/hip_programs.def"

namespace byteways::sim::hip_api {
namespace {

using rocprofiler::Called;
using rocprofiler::Traced;

sim::Stream* queue_of(Stream stream) {
  return stream == nullptr ? Hip::world().default_stream(Hip::current_gpu())
                           : reinterpret_cast<sim::Stream*>(stream);
}

int make_stream(Stream* stream) {
  return answer([&] {
    give(stream, reinterpret_cast<Stream>(Hip::world().create_stream(gpu_place(Hip::current_gpu()))));
  });
}

int allocate_pinned(void** data, std::size_t bytes) {
  const Traced traced(Called::hipHostMalloc);
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    World& world = Hip::world();
    const int domain = host_domain(world.model(), Hip::current_gpu());
    *data = world.allocate({Place::Kind::cpu, domain}, Kind::pinned, bytes);
  });
}

int copy(void* to, const void* from, std::size_t bytes, Stream stream, bool waits) {
  const Traced traced(waits ? Called::hipMemcpy : Called::hipMemcpyAsync);
  return answer([&] {
    require(to != nullptr && from != nullptr, code::kInvalidValue);
    if (bytes == 0) return;
    sim::Stream* const queue = queue_of(stream);
    Hip::world().copy(to, from, bytes, queue, Hip::copies());
    if (waits) Hip::world().synchronize(queue);
  });
}

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int hipDriverGetVersion(int* version) {
  return answer([&] { give(version, Hip::world().model().runtime_version); });
}
int hipSetDeviceFlags(unsigned) {
  return answer([] { Hip::world(); });
}
int hipDeviceReset() {
  return answer([] { Hip::world().synchronize_device(Hip::current_gpu()); });
}

int hipStreamCreate(Stream* stream) { return make_stream(stream); }
int hipStreamCreateWithPriority(Stream* stream, unsigned, int) { return make_stream(stream); }
int hipStreamQuery(Stream stream) {
  bool idle = false;
  const int failed = answer([&] { idle = Hip::world().finished(queue_of(stream)); });
  return failed == 0 && !idle ? told(code::kNotReady) : failed;
}
int hipEventCreate(Event* event) {
  return answer([&] {
    give(event, reinterpret_cast<Event>(Hip::world().create_event(gpu_place(Hip::current_gpu()))));
  });
}

int hipHostAlloc(void** data, std::size_t bytes, unsigned) { return allocate_pinned(data, bytes); }
int hipMallocHost(void** data, std::size_t bytes) { return allocate_pinned(data, bytes); }
int hipFreeHost(void* data) {
  const Traced traced(Called::hipHostFree);
  return answer([&] {
    if (data != nullptr) Hip::world().release(data);
  });
}

int hipMemcpyWithStream(void* to, const void* from, std::size_t bytes, int, Stream stream) {
  return copy(to, from, bytes, stream, true);
}
int hipMemcpyHtoD(void* to, void* from, std::size_t bytes) { return copy(to, from, bytes, nullptr, true); }
int hipMemcpyDtoH(void* to, void* from, std::size_t bytes) { return copy(to, from, bytes, nullptr, true); }
int hipMemcpyHtoDAsync(void* to, void* from, std::size_t bytes, Stream stream) {
  return copy(to, from, bytes, stream, false);
}
int hipMemcpyDtoHAsync(void* to, void* from, std::size_t bytes, Stream stream) {
  return copy(to, from, bytes, stream, false);
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::hip_api
