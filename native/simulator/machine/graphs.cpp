// See graphs.hpp.
#include "simulator/machine/graphs.hpp"

#include <algorithm>
#include <utility>

namespace byteways::sim {

void Graphs::perform(Lock& lock, Stream* stream, std::function<void(Lock&, Stream*)> call) {
  if (stream->recording != nullptr)
    stream->recording->calls.push_back(std::move(call));
  else
    call(lock, stream);
}

void Graphs::begin(Stream& stream) {
  if (stream.recording != nullptr) throw Failure(Code::invalid, "the stream is being recorded already");
  stream.recording = std::make_unique<Graph>();
}

Graph* Graphs::end(Stream& stream) {
  if (stream.recording == nullptr) throw Failure(Code::invalid, "the stream is not being recorded");
  return keep(std::move(stream.recording));
}

Graph* Graphs::copy_of(Graph* graph) {
  auto copy = std::make_unique<Graph>();
  copy->calls = known(graph).calls;
  return keep(std::move(copy));
}

void Graphs::play(Lock& lock, Graph* graph, Stream* stream) {
  Graph& played = known(graph);
  if (played.calls.empty()) return;
  bool follows = false;  // the graph's first operation is launched with it
  for (const auto& call : played.calls) {
    stream->replays = std::exchange(follows, true);
    call(lock, stream);
  }
  stream->replays = false;
  std::erase_if(played.runs, [](const Launch& run) { return run.end->done(); });
  played.runs.push_back({stream->place, stream->latest});
}

void Graphs::destroy(Graph* graph) {
  const Graph& gone = known(graph);
  const auto running =
      std::find_if(gone.runs.begin(), gone.runs.end(), [](const Launch& run) { return !run.end->done(); });
  if (running != gone.runs.end()) {
    const Failure failure(Code::illegal_address, "a graph was destroyed while it ran");
    devices_->fail(running->place, failure);
    throw failure;
  }
  graphs_.erase(graph);
}

Graph* Graphs::keep(std::unique_ptr<Graph> graph) {
  Graph* const made = graph.get();
  graphs_[made] = std::move(graph);
  return made;
}

Graph& Graphs::known(Graph* graph) const {
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) throw Failure(Code::invalid, "no such graph");
  return *found->second;
}

}  // namespace byteways::sim
