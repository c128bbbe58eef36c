// Toys: small programs against the simulator's parts, each under a name, for test_engine.py and its
// neighbours. A toy prints lines of `key value value …` and judges nothing: what is right stands in the test.
#pragma once
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>

namespace toys {

using Toys = std::map<std::string, std::function<void()>>;

void add_engine_toys(Toys& toys);
void add_content_toys(Toys& toys);
void add_world_toys(Toys& toys);  // of the machine that is loaded, as the next ones
void add_memory_toys(Toys& toys);
void add_device_toys(Toys& toys);
void add_lattice_toys(Toys& toys);  // need no machine

template <class... Values>
void say(const std::string& key, const Values&... values) {
  std::cout << key;
  ((std::cout << ' ' << values), ...);
  std::cout << '\n';
}

// SplitMix64: the same numbers in every process and on every machine.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

 private:
  std::uint64_t state_;
};

}  // namespace toys
