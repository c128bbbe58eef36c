// Counts the operations of a watched program in bins (src/byteways/ext/watch/bins.py has their meaning). Any
// thread adds, without a lock where the bin is known; memory is fixed, and nothing throws.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace byteways::watch {

// MOST_BINS and MOST_INTERVALS of bins.py. New sizes share bins of a power of two when kExactBins are taken,
// and operations differ by call alone when kWideBins are: these are few, so that the last bins are enough for
// them.
inline constexpr std::size_t kMostBins = 4096, kExactBins = 3072, kWideBins = 3840;
inline constexpr std::size_t kMostIntervals = 1024;
inline constexpr std::int64_t kFirstInterval = 1'000'000;  // ns; doubled when the program runs longer

enum class What : std::uint8_t {
  kCopy,
  kSet,
  kMessage,
  kPut,
  kGet,
  kCollective,
  kAllocation,
  kRelease,
  kSynchronisation,
  kMigration,
  kFault,
  kLink,
  kStart,
  kOther
};
inline constexpr const char* kWhats[] = {
    "copy",       "set",     "message",         "put",       "get",   "collective",
    "allocation", "release", "synchronisation", "migration", "fault", "link",
    "start",      "other"};
inline constexpr std::size_t kWhatCount = sizeof kWhats / sizeof *kWhats;

enum class Memory : std::uint8_t { kUnknown, kPageable, kPinned, kManaged, kDevice };
inline constexpr const char* kMemories[] = {"", "pageable", "pinned", "managed", "device"};

inline constexpr std::int64_t kUnknownTime = -1;

// How a key names a NUMA domain in place of a GPU; -1 is neither.
constexpr std::int16_t cpu_number(int domain) { return static_cast<std::int16_t>(-2 - domain); }

// What operations of one bin have in common. Compared as bytes: every byte is a member.
struct Key {
  What what = What::kCopy;
  Memory source = Memory::kUnknown, destination = Memory::kUnknown;
  std::uint8_t width = 0;  // set by the histogram: 0 one size, 1 sizes of a power of two, 2 all sizes
  std::int16_t source_gpu = -1, destination_gpu = -1;
  std::int32_t source_rank = -1, destination_rank = -1;
  std::int32_t ranks = -1;
  std::uint16_t method = 0, site = 0, detail = 0;  // of names.hpp
  std::uint16_t reserved = 0;
  std::uint32_t reserved_too = 0;
  std::uint64_t size = 0;  // of one operation in bytes
};
static_assert(sizeof(Key) == 40);
// Of a bin that nobody uses yet. All bytes are zero, so that the bins need no room in the library's file.
inline constexpr Key kNoKey{
    .source_gpu = 0, .destination_gpu = 0, .source_rank = 0, .destination_rank = 0, .ranks = 0};

// Of one call to add(), in ns; kUnknownTime: not observed. Without a time of its own an operation takes that
// of its call.
struct Times {
  std::int64_t time = kUnknownTime, call = kUnknownTime, waiting = kUnknownTime;
};

// Two lines of a cache: most operations touch the key and the first counts, and one time.
class alignas(64) Bin {
 public:
  Key key = kNoKey;  // constant once the bin is ready
  std::atomic<std::uint32_t> ready{0};
  std::atomic<std::uint32_t> times_seen{0};                          // bits: time, call, waiting, overlap
  std::atomic<std::uint64_t> count{0}, bytes{0}, least{0}, most{0};  // bytes: of several sizes alone
  std::atomic<std::int64_t> time{0}, call{0}, waiting{0}, overlap{0};

  std::uint64_t all_bytes(std::uint64_t operations) const noexcept {
    return key.width == 0 ? operations * key.size : bytes.load(std::memory_order_relaxed);
  }
};

// Zero from its first byte to its last, as long as nothing is counted.
class Histogram {
 public:
  // Adds `count` operations of `key.size` bytes each, which ended at this time of the monotonic clock.
  // Returns their bin, which stays where it is; null when all are taken.
  Bin* add(const Key& key, std::uint64_t count, const Times& times, std::int64_t at) noexcept;
  // Adds the time of an operation that passed while kernels ran on its device, in ns.
  void add_overlap(Bin* bin, std::int64_t time) noexcept;

  // Calls act(bin) for every bin.
  template <class Act>
  void each(Act act) const {
    const std::size_t end = taken_.load(std::memory_order_acquire);
    for (std::size_t at = 0; at < end; ++at)
      if (const Bin& bin = bins_[order_[at]]; bin.ready.load(std::memory_order_acquire) != 0) act(bin);
  }
  std::uint64_t interval_bytes(std::size_t what, std::size_t interval) const {
    return intervals_[what][interval].load(std::memory_order_relaxed);
  }
  std::int64_t interval_ns() const { return kFirstInterval << doublings_.load(std::memory_order_relaxed); }
  std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }
  // Whether the number of changes differs is all that is asked.
  void note_change() noexcept { changes_.store(changes() + 1, std::memory_order_relaxed); }
  void lose(std::uint64_t count) noexcept { lost_.fetch_add(count, std::memory_order_relaxed); }
  // Time of the monotonic clock at which the time line begins.
  void start(std::int64_t at) noexcept { start_.store(at, std::memory_order_relaxed); }
  std::int64_t started() const { return start_.load(std::memory_order_relaxed); }

  // Has this called behind the operation that makes the first bin, at the start and after begin_anew().
  void at_first(void (*act)()) noexcept { at_first_.store(act, std::memory_order_release); }

  // In the child of a fork, before it adds: no bins, and an open lock, which a thread that is not there may
  // have held. It costs what the bins in use cost.
  void begin_anew() noexcept;
  // Has the kernel give children of a fork zeros in place of the bins, where it can: nothing is copied.
  void leave_out_of_children() noexcept;

 private:
  static constexpr std::size_t kPlaces = 2 * kMostBins;

  Bin* known(const Key& key, std::size_t place) noexcept;
  Bin* made(Key key) noexcept;
  Bin* placed(const Key& key) noexcept;
  void add_to_time_line(What what, std::uint64_t bytes, std::int64_t at) noexcept;
  void widen_intervals(int doublings) noexcept;
  void take() noexcept;
  void release() noexcept { lock_.store(0, std::memory_order_release); }

  Bin bins_[kPlaces];
  std::atomic<std::uint64_t> intervals_[kWhatCount][kMostIntervals]{};
  std::atomic<int> doublings_{0};  // of the first interval
  std::atomic<std::int64_t> start_{0};
  std::atomic<std::uint64_t> changes_{0}, lost_{0};
  std::atomic<std::uint32_t> lock_{0};
  std::uint16_t order_[kMostBins]{};   // places of the bins, in the order in which they were made
  std::atomic<std::size_t> taken_{0};  // bins; raised under the lock
  std::atomic<void (*)()> at_first_{nullptr};
};

// The one histogram of a collector's library.
Histogram& histogram() noexcept;

}  // namespace byteways::watch
