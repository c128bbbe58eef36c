// Noise of a simulated machine: the same for the same seed, key and number of the operation, wherever it is
// played.
#pragma once
#include <cstdint>

namespace byteways::sim {

class Noise {
 public:
  // `deviation` is relative, of one standard deviation; 0: none. Another key gives another series.
  Noise(double deviation, std::uint64_t seed, std::uint64_t key);
  // What the next operation's time is multiplied by; normal around 1.
  double next();

 private:
  double deviation_;
  std::uint64_t seed_, numbered_ = 0;
};

}  // namespace byteways::sim
