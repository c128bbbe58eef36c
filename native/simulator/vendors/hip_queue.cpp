// Copies, streams, events, graphs, modules and kernels of the simulated HIP runtime, implemented by
// queue.hpp.
#include "simulator/vendors/hip.hpp"
#include "simulator/vendors/queue.hpp"

namespace byteways::sim::hip_api {
namespace {

using Queue = QueueCalls<Hip>;

constexpr int kCopyWithoutKernel = 1024;  // hipMemcpyDeviceToDeviceNoCU

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int hipMemcpy2DAsync(void* destination, std::size_t destination_pitch, const void* source,
                     std::size_t source_pitch, std::size_t width, std::size_t rows, int kind, Stream stream) {
  return answer([&] {
    require(destination != nullptr && source != nullptr && kind == Hip::Table::kCopyDefault,
            code::kInvalidValue);
    Hip::world().copy_rows(destination, destination_pitch, source, source_pitch, width, rows,
                           Queue::stream_of(stream), Hip::copies());
  });
}

int hipMemcpyAsync(void* destination, const void* source, std::size_t bytes, int kind, Stream stream) {
  return answer([&] {
    require(destination != nullptr && source != nullptr, code::kInvalidValue);
    require((kind >= 0 && kind <= Hip::Table::kCopyDefault) || kind == kCopyWithoutKernel,
            code::kInvalidValue);
    CopyPolicy policy = Hip::copies();
    if (kind == kCopyWithoutKernel) {
      policy.engines = policy.peer_engines = true;
      policy.blit_peer_up_to_bytes = policy.blit_host_up_to_bytes = 0;
    }
    if (bytes != 0) Hip::world().copy(destination, source, bytes, Queue::stream_of(stream), policy);
  });
}
int hipStreamCreateWithFlags(Stream* stream, unsigned) { return Queue::create(stream); }
int hipStreamDestroy(Stream stream) { return Queue::destroy(stream); }
int hipStreamSynchronize(Stream stream) { return Queue::synchronize(stream); }
int hipStreamWaitEvent(Stream stream, Event event, unsigned) { return Queue::wait(stream, event); }
int hipEventCreateWithFlags(Event* event, unsigned) { return Queue::create(event); }
int hipEventDestroy(Event event) { return Queue::destroy(event); }
int hipEventRecord(Event event, Stream stream) { return Queue::record(event, stream); }
int hipEventQuery(Event event) { return Queue::query(event); }
int hipEventSynchronize(Event event) { return Queue::synchronize(event); }

int hipEventElapsedTime(float* milliseconds, Event begin, Event end) {
  return Queue::elapsed(milliseconds, begin, end);
}
int hipStreamBeginCapture(Stream stream, int) { return Queue::begin_capture(stream); }
int hipStreamEndCapture(Stream stream, Graph* graph) { return Queue::end_capture(stream, graph); }

int hipGraphInstantiateWithFlags(Launchable* made, Graph graph, unsigned long long) {
  return Queue::instantiate(made, graph);
}
int hipGraphUpload(Launchable, Stream) { return 0; }
int hipGraphLaunch(Launchable graph, Stream stream) { return Queue::launch(graph, stream); }
int hipGraphDestroy(Graph graph) { return Queue::forget(graph); }
int hipGraphExecDestroy(Launchable graph) { return Queue::forget(graph); }

int hipMemcpyBatchAsync(void** to, const void** from, std::size_t* sizes, std::size_t count, void*,
                        std::size_t*, std::size_t, std::size_t*, Stream stream) {
  return Queue::copy_batch(to, from, sizes, count, stream, Hip::copies());
}
int hipModuleLoadData(Module* module, const void* image) { return Queue::load(module, image); }

int hipModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  return Queue::find(kernel, module, name);
}

int hipFuncGetAttribute(int* value, int attribute, Kernel kernel) {
  return Queue::attribute(value, attribute, kernel);
}

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int threads,
                                                       std::size_t shared) {
  return Queue::occupancy(blocks, kernel, threads, shared);
}

int hipModuleLaunchKernel(Kernel kernel, unsigned blocks, unsigned blocks_y, unsigned blocks_z,
                          unsigned threads, unsigned threads_y, unsigned threads_z, unsigned shared,
                          Stream stream, void** parameters, void** extra) {
  return Queue::launch(kernel, {blocks, threads, shared}, blocks_y * blocks_z, threads_y * threads_z, stream,
                       parameters, extra);
}

}  // extern "C"

}  // namespace byteways::sim::hip_api
