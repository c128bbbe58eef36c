// Graphs: what was enqueued on a stream between begin and end of a recording, made again in one call.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "simulator/devices.hpp"
#include "simulator/streams.hpp"

namespace byteways::sim {

class Graphs {
 public:
  explicit Graphs(Devices& devices) : devices_(&devices) {}

  // Makes a call, or notes it where the stream is being recorded.
  static void perform(Lock& lock, Stream* stream, std::function<void(Lock&, Stream*)> call);

  // All throw Failure (invalid) for a graph, or a recording, that is not there.
  static void begin(Stream& stream);
  Graph* end(Stream& stream);
  Graph* copy_of(Graph* graph);
  void play(Lock& lock, Graph* graph, Stream* stream);
  // Of one that still runs breaks the GPU, so that whoever drops this call's answer meets it in the next one:
  // HIP's documentation promises nothing then, nor did CUDA's before it said that such a graph is freed when
  // it ends.
  void destroy(Graph* graph);

 private:
  Graph* keep(std::unique_ptr<Graph> graph);
  Graph& known(Graph* graph) const;

  Devices* devices_;
  std::map<const Graph*, std::unique_ptr<Graph>> graphs_;
};

}  // namespace byteways::sim
