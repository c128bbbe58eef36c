// The file that a collector's library leaves in the folder of `byteways watch`: its histogram as JSON,
// replaced about once a second by a thread while something changes, and at the end of the process.
#pragma once
#include <atomic>
#include <string_view>

#include "watch/forked.hpp"

namespace byteways::watch {

// Variables that the launcher sets (src/byteways/ext/watch/launching.py): the folder, and when the time line
// begins, in ns since 1970.
inline constexpr const char* kFolderVariable = "BYTEWAYS_WATCH";
inline constexpr const char* kStartVariable = "BYTEWAYS_WATCH_START";

namespace inner {
bool begin() noexcept;
}  // namespace inner

// Whether this process is watched. The thread starts with the first operation that is counted.
inline bool is_watching() noexcept {
  const int now = across_fork.state.load(std::memory_order_acquire);
  return now == 1 || (now == 0 && inner::begin());
}

// Names the library's file, "mpi", before the first operation.
void name_library(const char* name) noexcept;
// Adds to what watched the process: "mpi", "cuda", "nccl", "hip", "memcpy".
void note_collector(std::string_view name) noexcept;
// Why a collector could not watch, as a code.
void note_failure(std::string_view code) noexcept;
// Rank in the world's communicator, and its number of ranks.
void note_rank(int rank, int ranks) noexcept;

// Has the thread call this before each snapshot, to fetch what a collector's source still buffers. There are
// at most two such sources in a library.
void collect_before_snapshots(void (*collect)()) noexcept;

// Has the thread write the file if anything changed, and waits for that no longer than some seconds; without
// a thread the file is written here. `ended`: the process is about to end. May be called where a signal
// interrupted the program; the program's errno stays.
void save(bool ended) noexcept;
// The process did not end after all: a program could not be executed in its place.
void go_on() noexcept;
// Ends the thread of this process, for a call of the system that a process with threads may not make; whether
// it ran. resume() starts it again.
bool pause() noexcept;
void resume() noexcept;

}  // namespace byteways::watch
