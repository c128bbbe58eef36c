// What the child of a fork finds and sets right before anything else, in one line of a cache: each page that
// such a child touches costs it a microsecond, and most children only execute another program.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace byteways::watch {

struct alignas(64) AcrossFork {
  std::atomic<int> state{0};          // of this process: 0 not asked yet, 1 watching, 2 off
  std::atomic<int> beginning{0};      // a thread finds that out
  std::atomic<bool> is_child{false};  // of a watched process, and has not begun: what it has is its parent's
  std::atomic<std::uint32_t> names{0};  // a thread adds a name
  std::atomic<pid_t> reader{0};         // the thread that reads the mappings
  std::atomic<int> open_draft{0};       // the descriptor of an unfinished snapshot, plus one
};

inline constinit AcrossFork across_fork;

}  // namespace byteways::watch
