// Copies, streams, events, graphs, modules and kernels of the simulated CUDA driver, implemented by
// queue.hpp.
#include "simulator/vendors/cuda.hpp"
#include "simulator/vendors/queue.hpp"

namespace byteways::sim::cuda_api {
namespace {

using Queue = QueueCalls<Cuda>;

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int cuMemcpyAsync(void* destination, const void* source, std::size_t bytes, Stream stream) {
  return answer([&] {
    require(destination != nullptr && source != nullptr, code::kInvalidValue);
    if (bytes != 0) Cuda::world().copy(destination, source, bytes, Queue::stream_of(stream), CopyPolicy{});
  });
}

int cuMemcpy2DAsync_v2(const Cuda::Table::RowsCopy* rows, Stream stream) {
  return answer([&] {
    require(rows != nullptr, code::kInvalidValue);
    const auto address = [](const Cuda::Table::RowsSide& side) {
      require(side.x == 0 && side.y == 0 && side.array == nullptr, code::kNotSupported);
      require(side.kind == Cuda::Table::kMemoryHost || side.kind == Cuda::Table::kMemoryUnified,
              code::kInvalidValue);
      const void* data = side.kind == Cuda::Table::kMemoryHost ? side.host : side.device;
      require(data != nullptr, code::kInvalidValue);
      return data;
    };
    Cuda::world().copy_rows(const_cast<void*>(address(rows->destination)), rows->destination.pitch,
                            address(rows->source), rows->source.pitch, rows->width_bytes, rows->rows,
                            Queue::stream_of(stream), CopyPolicy{});
  });
}
int cuStreamCreate(Stream* stream, unsigned) { return Queue::create(stream); }
int cuStreamDestroy_v2(Stream stream) { return Queue::destroy(stream); }
int cuStreamSynchronize(Stream stream) { return Queue::synchronize(stream); }
int cuStreamWaitEvent(Stream stream, Event event, unsigned) { return Queue::wait(stream, event); }
int cuEventCreate(Event* event, unsigned) { return Queue::create(event); }
int cuEventDestroy_v2(Event event) { return Queue::destroy(event); }
int cuEventRecord(Event event, Stream stream) { return Queue::record(event, stream); }
int cuEventQuery(Event event) { return Queue::query(event); }
int cuEventSynchronize(Event event) { return Queue::synchronize(event); }

int cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  return Queue::elapsed(milliseconds, begin, end);
}
int cuStreamBeginCapture_v2(Stream stream, int) { return Queue::begin_capture(stream); }
int cuStreamEndCapture(Stream stream, Graph* graph) { return Queue::end_capture(stream, graph); }

int cuGraphInstantiateWithFlags(Launchable* made, Graph graph, unsigned long long) {
  return Queue::instantiate(made, graph);
}
int cuGraphUpload(Launchable, Stream) { return 0; }
int cuGraphLaunch(Launchable graph, Stream stream) { return Queue::launch(graph, stream); }
int cuGraphDestroy(Graph graph) { return Queue::forget(graph); }
int cuGraphExecDestroy(Launchable graph) { return Queue::forget(graph); }

int cuMemcpyBatchAsync_v2(void** to, const void** from, const std::size_t* sizes, std::size_t count,
                          BatchAttributes*, std::size_t*, std::size_t, Stream stream) {
  return Queue::copy_batch(to, from, sizes, count, stream, CopyPolicy{});
}

int cuMemcpyBatchAsync(void** to, const void** from, const std::size_t* sizes, std::size_t count,
                       BatchAttributes*, std::size_t*, std::size_t, std::size_t*, Stream stream) {
  return Queue::copy_batch(to, from, sizes, count, stream, CopyPolicy{});
}
int cuModuleLoadData(Module* module, const void* image) { return Queue::load(module, image); }

int cuModuleGetFunction(Kernel* kernel, Module module, const char* name) {
  return Queue::find(kernel, module, name);
}

int cuFuncLoad(Kernel kernel) {
  return answer([&] { Queue::kernel_of(kernel); });
}

int cuFuncGetAttribute(int* value, int attribute, Kernel kernel) {
  return Queue::attribute(value, attribute, kernel);
}

int cuFuncSetAttribute(Kernel kernel, int attribute, int value) {
  return answer([&] {
    Queue::kernel_of(kernel);
    require(
        attribute == Cuda::Table::kKernelMaxDynamicSharedBytes && value >= 0 && value <= Cuda::kSharedBytes,
        code::kInvalidValue);
  });
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel kernel, int threads, std::size_t shared) {
  return Queue::occupancy(blocks, kernel, threads, shared);
}

int cuLaunchKernel(Kernel kernel, unsigned blocks, unsigned blocks_y, unsigned blocks_z, unsigned threads,
                   unsigned threads_y, unsigned threads_z, unsigned shared, Stream stream, void** parameters,
                   void** extra) {
  return Queue::launch(kernel, {blocks, threads, shared}, blocks_y * blocks_z, threads_y * threads_z, stream,
                       parameters, extra);
}

}  // extern "C"

}  // namespace byteways::sim::cuda_api
