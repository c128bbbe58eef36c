// What is wrong with the simulated machine, on command. The grammar is documented in
// docs/guides/simulate-a-machine.md; byteways.machines.faults checks it before a sheet is made.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/model.hpp"

namespace byteways::sim {

struct Fault {
  enum class Kind {
    corrupt,
    hang,
    skip,
    lapse,
    no_memory,
    lost,
    stall,
    early_return,
    slow,
    down,
    false_peer,
    serialise,
    throttle,
  } kind;
  std::string a, b;  // devices; b is empty where one is concerned
  double part = 1;   // slow, throttle
  std::uint64_t number =
      0;  // corrupt: word; no_memory: above so many bytes; lost, lapse, stall: after so many operations
};

class Faults {
 public:
  // Those of the model. Throws std::invalid_argument for a fault that is none, or of a device that is not
  // there.
  explicit Faults(const Model& model);
  const Fault* find(Fault::Kind kind, const std::string& a, const std::string& b = {}) const;
  const std::vector<Fault>& all() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

}  // namespace byteways::sim
