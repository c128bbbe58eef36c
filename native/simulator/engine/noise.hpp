// Reproducible noise of a simulated machine: depends only on seed, key and number of the operation.
#pragma once
#include <cstdint>

namespace byteways::sim {

class Noise {
 public:
  // `deviation` is relative; 0: no noise. Another key gives another series.
  Noise(double deviation, std::uint64_t seed, std::uint64_t key);
  // The factor on the next operation's time: 1 + deviation · |x| with x from the standard normal
  // distribution. It is never below 1: noise delays an operation, but no operation exceeds the rate of its
  // link.
  double next();

 private:
  double deviation_;
  std::uint64_t seed_, numbered_ = 0;
};

}  // namespace byteways::sim
