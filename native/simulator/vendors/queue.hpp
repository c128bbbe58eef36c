// Implementation of the functions for streams, events, modules and launches, shared by both vendors.
#pragma once
#include <cstddef>
#include <string>

#include "simulator/machine/world.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/kernels.hpp"

namespace byteways::sim {

// `Vendor` brings its function table as Table, world(), current_gpu() and kSharedBytes, the most dynamic
// shared memory of a block. Handles are pointers that the caller cannot look into.
template <class Vendor>
class QueueCalls {
  using Table = typename Vendor::Table;
  using StreamHandle = typename Table::Stream;
  using EventHandle = typename Table::Event;
  using ModuleHandle = typename Table::Module;
  using KernelHandle = typename Table::Kernel;
  using GraphHandle = typename Table::Graph;
  using LaunchableHandle = typename Table::Launchable;

 public:
  static Stream* stream_of(StreamHandle stream) {
    return stream == nullptr ? Vendor::world().default_stream(Vendor::current_gpu())
                             : reinterpret_cast<Stream*>(stream);
  }
  static const KernelEntry& kernel_of(KernelHandle kernel) {
    require(kernel != nullptr, code::kInvalidHandle);
    return *reinterpret_cast<const KernelEntry*>(kernel);
  }

  static int create(StreamHandle* stream) {
    return answer(
        [&] { give(stream, reinterpret_cast<StreamHandle>(Vendor::world().create_stream(here()))); });
  }
  static int destroy(StreamHandle stream) {
    return answer([&] {
      require(stream != nullptr, code::kInvalidHandle);
      Vendor::world().destroy(stream_of(stream));
    });
  }
  static int synchronize(StreamHandle stream) {
    return answer([&] { Vendor::world().synchronize(stream_of(stream)); });
  }
  static int wait(StreamHandle stream, EventHandle event) {
    return answer([&] { Vendor::world().wait(stream_of(stream), event_of(event)); });
  }

  static int create(EventHandle* event) {
    return answer([&] { give(event, reinterpret_cast<EventHandle>(Vendor::world().create_event(here()))); });
  }
  static int destroy(EventHandle event) {
    return answer([&] { Vendor::world().destroy(event_of(event)); });
  }
  static int record(EventHandle event, StreamHandle stream) {
    return answer([&] { Vendor::world().record(event_of(event), stream_of(stream)); });
  }
  static int query(EventHandle event) {
    bool finished = false;  // "not ready" is too frequent for exceptions
    const int failed = answer([&] { finished = Vendor::world().finished(event_of(event)); });
    return failed == 0 && !finished ? code::kNotReady : failed;
  }
  static int synchronize(EventHandle event) {
    return answer([&] { Vendor::world().synchronize(event_of(event)); });
  }
  static int elapsed(float* milliseconds, EventHandle begin, EventHandle end) {
    return answer([&] {
      const double elapsed_ns = Vendor::world().elapsed_ns(event_of(begin), event_of(end));
      give(milliseconds, static_cast<float>(1e-6 * elapsed_ns));
    });
  }

  static int begin_capture(StreamHandle stream) {
    return answer([&] { Vendor::world().begin_recording(stream_of(stream)); });
  }
  static int end_capture(StreamHandle stream, GraphHandle* graph) {
    return answer([&] {
      give(graph, reinterpret_cast<GraphHandle>(Vendor::world().end_recording(stream_of(stream))));
    });
  }
  static int instantiate(LaunchableHandle* made, GraphHandle graph) {
    return answer([&] {
      give(made,
           reinterpret_cast<LaunchableHandle>(Vendor::world().copy_of(reinterpret_cast<Graph*>(graph))));
    });
  }
  static int launch(LaunchableHandle graph, StreamHandle stream) {
    return answer([&] { Vendor::world().launch(reinterpret_cast<Graph*>(graph), stream_of(stream)); });
  }
  template <class Handle>
  static int forget(Handle graph) {
    return answer([&] { Vendor::world().destroy(reinterpret_cast<Graph*>(graph)); });
  }
  static int copy_batch(void** to, const void** from, const std::size_t* sizes, std::size_t count,
                        StreamHandle stream, const CopyPolicy& policy) {
    return answer([&] {
      require(to != nullptr && from != nullptr && sizes != nullptr && count != 0, code::kInvalidValue);
      std::vector<World::Piece> pieces;
      for (std::size_t k = 0; k < count; ++k) pieces.push_back({to[k], from[k], sizes[k]});
      Vendor::world().copy_batch(pieces, stream_of(stream), policy);
    });
  }

  static int load(ModuleHandle* module, const void* image) {
    return answer([&] {
      const std::string gpu = "gpu" + std::to_string(Vendor::current_gpu());
      const bool refused = World::get().faults().find(Fault::Kind::no_kernels, gpu) != nullptr;
      KernelModule* loaded = refused ? nullptr : load_image(static_cast<const char*>(image));
      require(loaded != nullptr, code::kInvalidImage);
      give(module, reinterpret_cast<ModuleHandle>(loaded));
    });
  }
  static int find(KernelHandle* kernel, ModuleHandle module, const char* name) {
    return answer([&] {
      require(module != nullptr && name != nullptr, code::kInvalidValue);
      auto& kernels = reinterpret_cast<KernelModule*>(module)->kernels;
      const auto found = kernels.find(name);
      require(found != kernels.end(), code::kNotFound);
      give(kernel, reinterpret_cast<KernelHandle>(&found->second));
    });
  }
  static int attribute(int* value, int attribute, KernelHandle kernel) {
    return answer([&] {
      const KernelEntry& entry = kernel_of(kernel);
      require(attribute == Table::kKernelMaxThreads || attribute == Table::kKernelSharedBytes,
              code::kInvalidValue);
      give(value, attribute == Table::kKernelMaxThreads ? entry.most_threads : 0);
    });
  }
  static int occupancy(int* blocks, KernelHandle kernel, int threads, std::size_t shared) {
    return answer([&] {
      kernel_of(kernel);
      give(blocks, resident_blocks(threads, shared, Vendor::kSharedBytes));
    });
  }
  // One-dimensional launches only, as all of ours are.
  static int launch(KernelHandle kernel, const Shape& shape, unsigned other_blocks, unsigned other_threads,
                    StreamHandle stream, void** parameters, void** extra) {
    return answer([&] {
      const KernelEntry& entry = kernel_of(kernel);
      require(shape.blocks != 0 && shape.threads != 0 &&
                  shape.threads <= static_cast<unsigned>(entry.most_threads) &&
                  shape.shared_bytes <= static_cast<unsigned>(Vendor::kSharedBytes) && other_blocks == 1 &&
                  other_threads == 1 && parameters != nullptr && extra == nullptr,
              code::kInvalidValue);
      Vendor::world().launch(entry.name, shape, parameters[0], entry.argument_bytes, stream_of(stream));
    });
  }

 private:
  static Place here() { return {Place::Kind::gpu, Vendor::current_gpu()}; }
  static Event* event_of(EventHandle event) {
    require(event != nullptr, code::kInvalidHandle);
    return reinterpret_cast<Event*>(event);
  }
};

}  // namespace byteways::sim
