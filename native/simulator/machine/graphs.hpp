// Graphs: the calls enqueued on a stream between begin and end of a recording, replayed by one call.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "simulator/machine/devices.hpp"
#include "simulator/machine/streams.hpp"

namespace byteways::sim {

class Graphs {
 public:
  explicit Graphs(Devices& devices) : devices_(&devices) {}

  // Executes a call, or records it if the stream is being recorded.
  static void perform(Lock& lock, Stream* stream, std::function<void(Lock&, Stream*)> call);

  // All throw Failure (invalid) for an unknown graph or recording.
  static void begin(Stream& stream);
  Graph* end(Stream& stream);
  Graph* copy_of(Graph* graph);
  void play(Lock& lock, Graph* graph, Stream* stream);
  // Destroying a running graph is an error that breaks the GPU, so that later calls report it even if this
  // result is ignored. HIP's documentation leaves this case undefined, as CUDA's did before it said that such
  // a graph is freed when it ends.
  void destroy(Graph* graph);

 private:
  Graph* keep(std::unique_ptr<Graph> graph);
  Graph& known(Graph* graph) const;

  Devices* devices_;
  std::map<const Graph*, std::unique_ptr<Graph>> graphs_;
};

}  // namespace byteways::sim
