// The file of one process and collector: its name, and how it is replaced. Nothing here allocates or takes a
// lock, and so a snapshot can be written wherever a program was interrupted.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

namespace byteways::watch {

inline constexpr std::size_t kMostNotes = 8;

// What a snapshot says of its process.
struct Process {
  pid_t number = 0;
  std::int64_t began = 0;  // of the monotonic clock, ns
  const char* library = "other";
  char folder[PATH_MAX] = {};
  char host[256] = {};
  std::uint16_t collectors[kMostNotes]{}, failures[kMostNotes]{};  // of names.hpp
  std::atomic<int> rank{-1}, ranks{-1};
};
extern constinit Process the_process;

// Replaces the file by what the histogram has now; false if the old one stays.
bool write_snapshot(bool ended) noexcept;
// Whether there is a file already.
bool has_snapshot() noexcept;

// In the child of a fork: closes the draft of its parent, where it has the descriptor.
void close_draft() noexcept;
// Before the first snapshot of a child: it has a file of its own.
void forget_snapshot() noexcept;

}  // namespace byteways::watch
