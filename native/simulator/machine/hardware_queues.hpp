// Hardware queues of GPUs: streams beyond their number share a queue and are serialised there.
#pragma once
#include <vector>

#include "simulator/engine/engine.hpp"

namespace byteways::sim {

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

}  // namespace byteways::sim
