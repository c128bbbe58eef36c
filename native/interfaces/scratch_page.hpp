// What lies where in the scratch pages that a session keeps for each device: one in the device's own memory,
// one in host memory that the device can read and write (Session::own_scratch, shared_scratch).
#pragma once
#include <cstddef>

#include "interfaces/direct/arguments.hpp"
#include "runtimes/session.hpp"

namespace byteways {

// A kernel may poll one of them while another is written: each has cache lines of its own.
inline constexpr std::size_t kScratchLines = 256;
struct ScratchPage {
  alignas(kScratchLines) unsigned int gate;             // shared: Session::gate_word
  alignas(kScratchLines) unsigned int occupied;         // shared: ends the kernel that occupies the device
  alignas(kScratchLines) unsigned int running;          // shared: its blocks that have started
  alignas(kScratchLines) CheckResult result;            // both: of a check of the pattern
  alignas(kScratchLines) unsigned long long word;       // shared: copy of a word that is compared
  alignas(kScratchLines) unsigned long long chase_end;  // own: where a pointer chase ended
  // Shared: rounds of a ping-pong that the executor and its partner have ended.
  alignas(kScratchLines) unsigned long long executor_done;
  alignas(kScratchLines) unsigned long long partner_done;
  alignas(kScratchLines) DirectFailure failure;  // shared: the first flag that did not come
};
static_assert(sizeof(ScratchPage) <= Session::kScratchBytes);
static_assert(offsetof(ScratchPage, gate) == 0, "the session knows this word alone");

}  // namespace byteways
