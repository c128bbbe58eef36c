// The log of the simulated NCCL or RCCL: what it chose for a collective, in the words of NCCL's own log.
#pragma once
#include <cstdint>
#include <string_view>

namespace byteways::sim::xccl {

struct Choice {
  std::string_view function;   // "AllReduce"
  std::uint64_t bytes;         // of a rank's call
  std::string_view algorithm;  // "RING"
  std::string_view protocol;   // "LL", "SIMPLE"
  unsigned channels;
};

// Appends a line to the file that NCCL_DEBUG_FILE names if NCCL_DEBUG is INFO, once for equal choices.
void log_choice(const Choice& choice);

}  // namespace byteways::sim::xccl
