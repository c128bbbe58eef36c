// Streams and events: which queue of the engine a stream's operations go to, and what an operation is given
// on its way there.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "simulator/devices.hpp"
#include "simulator/engine.hpp"
#include "simulator/hardware_queues.hpp"
#include "simulator/noise.hpp"
#include "simulator/timeline.hpp"
#include "simulator/world.hpp"

namespace byteways::sim {

// One launch of a graph: where, and when the last of it ends.
struct Launch {
  Place place;
  std::shared_ptr<const Mark> end;
};

// Calls that were recorded; each is made anew when the graph is launched.
struct Graph {
  std::vector<std::function<void(Lock&, Stream*)>> calls;
  std::vector<Launch> runs;  // the latest, and those before it that had not ended then
};

struct Stream {
  Place place;
  Engine::Queue* queue = nullptr;  // a GPU's streams may share one; a CPU's stream has its own
  std::uint64_t submitted = 0, completed = 0;
  std::shared_ptr<const Mark> latest = nullptr;  // of what was submitted last, null before
  std::unique_ptr<Graph> recording = nullptr;    // set between begin and end of a recording
  bool idle() const { return completed == submitted; }
};

struct Event {
  Place place;
  std::shared_ptr<Mark> mark;  // of the latest record, null before
};

class Streams {
 public:
  Streams(const Model& model, const Faults& faults, Engine& engine, Timeline& time, Devices& devices,
          std::uint64_t noise_key);

  // Whether a program has streams or events of its own.
  bool in_use() const;

  Stream* make(Place place);
  Stream* default_of(int gpu);
  void destroy(Stream* stream);  // it is idle
  Event* make_event(Place place);
  void destroy(Event* event);  // throws invalid when there is no such event

  // Blocks while the queue is full. `noisy`: its time varies as the model says.
  void submit(Lock& lock, Stream& stream, std::unique_ptr<Operation> operation, bool noisy);

  void set_hardware_queues(int most) { hardware_queues_.set_most(most); }  // of each GPU

 private:
  const Model* model_;
  const Faults* faults_;
  std::uint64_t submissions_ = 0;  // to a device that stalls the host once
  Engine* engine_;
  Timeline* time_;
  Devices* devices_;
  HardwareQueues hardware_queues_;
  std::vector<Engine::Queue*> unused_;  // of CPUs' streams that are gone
  Noise noise_;
  std::vector<Stream*> defaults_;  // [gpu]
  std::unordered_map<const Stream*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<const Event*, std::unique_ptr<Event>> events_;
};

}  // namespace byteways::sim
