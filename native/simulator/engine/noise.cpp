// See noise.hpp.
#include "simulator/engine/noise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace byteways::sim {
namespace {

constexpr double kMost = 0.5;

// SplitMix64 (Steele, Lea and Flood, 2014): a good hash of a counter.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

double uniform(std::uint64_t x) { return (static_cast<double>(mixed(x) >> 11) + 0.5) * 0x1p-53; }

double gaussian(std::uint64_t x) {  // Box and Muller, 1958
  return std::sqrt(-2 * std::log(uniform(2 * x))) * std::cos(2 * std::numbers::pi * uniform(2 * x + 1));
}

}  // namespace

Noise::Noise(double deviation, std::uint64_t seed, std::uint64_t key)
    : deviation_(deviation), seed_(mixed(mixed(seed) + key)) {}

double Noise::next() {
  if (deviation_ <= 0) return 1;
  return 1 + std::min(std::abs(deviation_ * gaussian(seed_ + ++numbered_)), kMost);
}

}  // namespace byteways::sim
