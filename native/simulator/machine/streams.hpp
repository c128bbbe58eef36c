// Streams and events: assigns streams to queues of the engine, and completes operations before submission.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulator/engine/engine.hpp"
#include "simulator/engine/noise.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/machine/common.hpp"
#include "simulator/machine/devices.hpp"

namespace byteways::sim {

// One launch of a graph: stream, and completion of its last operation.
struct Launch {
  Place place;
  std::shared_ptr<const Mark> end;
};

// Recorded calls, which each launch executes again.
struct Graph {
  std::vector<std::function<void(Lock&, Stream*)>> calls;
  std::vector<Launch> runs;  // the latest launch, and earlier ones that have not ended
};

struct Stream {
  Place place;
  Engine::Queue* queue = nullptr;  // a GPU's streams may share one; a CPU's stream has its own
  std::uint64_t submitted = 0, completed = 0;
  std::shared_ptr<const Mark> latest = nullptr;  // of what was submitted last, null before
  std::unique_ptr<Graph> recording = nullptr;    // set between begin and end of a recording
  bool replays = false;                          // a graph plays a call that is not its first
  bool lost = false;                             // the GPU was reset
  bool idle() const { return completed == submitted; }
};

struct Event {
  Place place;
  std::shared_ptr<Mark> mark;  // of the latest record, null before
  bool lost = false;           // the GPU was reset
};

// Hardware queues of GPUs: streams beyond their number share a queue and are serialised there.
class HardwareQueues {
 public:
  HardwareQueues(Engine& engine, int gpus, int most) : engine_(&engine), most_(most) {
    queues_.resize(static_cast<std::size_t>(gpus));
  }
  void set_most(int most) { most_ = most; }

  // Returns an unused queue if there is one or another may be created, else the queue with the fewest
  // streams. `alone`: the GPU has a single queue.
  Engine::Queue* take(int gpu, bool alone);
  void give_back(int gpu, const Engine::Queue* queue);

 private:
  struct Shared {
    Engine::Queue* queue;
    int streams;
  };

  Engine* engine_;
  int most_;
  std::vector<std::vector<Shared>> queues_;  // [gpu]
};

class Streams {
 public:
  Streams(const Model& model, const Faults& faults, Engine& engine, Timeline& time, Devices& devices,
          std::uint64_t noise_key);

  // Whether a program has streams or events of its own.
  bool in_use() const;

  Stream* make(Place place);
  Stream* default_of(int gpu);
  Stream* of_thread(int gpu);    // the calling thread's own default stream
  void destroy(Stream* stream);  // it is idle
  Event* make_event(Place place);
  void destroy(Event* event);  // throws invalid when there is no such event

  // Streams and events of a GPU that was reset stay where they are, so that their use is noticed.
  void reset(int gpu);
  std::uint64_t resets(int gpu) const { return resets_.at(static_cast<std::size_t>(gpu)); }

  // Submits an operation; blocks while the queue is full. `noisy`: add the noise of the model.
  void submit(Lock& lock, Stream& stream, std::unique_ptr<Operation> operation, bool noisy);

  void vary(Operation& operation);  // the noise of the next one

  void set_hardware_queues(int most) { hardware_queues_.set_most(most); }  // of each GPU

 private:
  const Model* model_;
  const Faults* faults_;
  std::uint64_t submissions_ = 0;  // to a device that stalls the host once
  Engine* engine_;
  Timeline* time_;
  Devices* devices_;
  HardwareQueues hardware_queues_;
  std::vector<Engine::Queue*> unused_;  // queues of destroyed CPU streams
  Noise noise_;
  std::vector<Stream*> defaults_;  // [gpu]
  std::map<std::pair<std::thread::id, int>, Stream*> of_threads_;
  std::vector<std::uint64_t> resets_;  // [gpu]
  std::unordered_map<const Stream*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<const Event*, std::unique_ptr<Event>> events_;
};

}  // namespace byteways::sim
