// See hardware_queues.hpp.
#include "simulator/machine/hardware_queues.hpp"

#include <algorithm>

namespace byteways::sim {

Engine::Queue* HardwareQueues::take(int gpu, bool alone) {
  std::vector<Shared>& queues = queues_.at(static_cast<std::size_t>(gpu));
  auto least = std::min_element(queues.begin(), queues.end(),
                                [](const Shared& a, const Shared& b) { return a.streams < b.streams; });
  const auto most = static_cast<std::size_t>(alone ? 1 : std::max(1, most_));
  if (queues.size() < most && (least == queues.end() || least->streams > 0))
    least = queues.insert(queues.end(), {engine_->add_queue(), 0});
  ++least->streams;
  return least->queue;
}

void HardwareQueues::give_back(int gpu, const Engine::Queue* queue) {
  for (Shared& each : queues_.at(static_cast<std::size_t>(gpu)))
    if (each.queue == queue) --each.streams;
}

}  // namespace byteways::sim
