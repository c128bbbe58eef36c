// Injected faults of the simulated machine. The grammar is documented in
// docs/guides/simulate-a-machine.md; byteways.models.faults checks it before a sheet is made.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulator/machine/model.hpp"

namespace byteways::sim {

struct Fault {
  enum class Kind {
    corrupt,
    hang,
    skip,
    lapse,
    overrun,
    no_memory,
    no_kernels,
    lost,
    stall,
    early_return,
    slow,
    down,
    link_fails,
    false_peer,
    serialise,
    throttle,
    rank_throws,
    rank_never_enters,
    rank_dies,
    rank_late,
  } kind;
  std::string a, b;          // devices, or a rank; b is empty if the fault concerns one
  double part = 1;           // slow, throttle
  std::uint64_t number = 0;  // corrupt: word; no_memory: above so many bytes; lost, lapse, stall, link_fails:
                             // after so many operations; rank_throws, rank_dies: in the so many-th call of
                             // MPI of a case, from 1; rank_late: so many ns
};

class Faults {
 public:
  // Reads the faults of the model. Throws std::invalid_argument for an unknown fault or device.
  explicit Faults(const Model& model);
  const Fault* find(Fault::Kind kind, const std::string& a, const std::string& b = {}) const;
  bool any() const { return !faults_.empty(); }
  const std::vector<Fault>& all() const { return faults_; }

 private:
  std::vector<Fault> faults_;
};

}  // namespace byteways::sim
