// The queues that GPUs have for streams: streams beyond them share one, and wait for each other there.
#pragma once
#include <vector>

#include "simulator/engine.hpp"

namespace byteways::sim {

class HardwareQueues {
 public:
  HardwareQueues(Engine& engine, int gpus, int most) : engine_(&engine), most_(most) {
    queues_.resize(static_cast<std::size_t>(gpus));
  }
  void set_most(int most) { most_ = most; }

  // A queue without streams where there is one or may be one more, else that with the fewest.
  // `alone`: there is one for the whole GPU.
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
