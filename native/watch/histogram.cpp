// See histogram.hpp.
#include "watch/histogram.hpp"

#include <sched.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <initializer_list>

namespace byteways::watch {
namespace {

// Without a constructor at run time: operations may come before those of this library have run.
constexpr std::size_t kPage = 4096;  // of x86-64; with larger pages the kernel refuses, and children copy
alignas(kPage) constinit Histogram the_histogram;

std::size_t place_of(const Key& key) {
  std::uint64_t words[sizeof(Key) / 8];
  std::memcpy(words, &key, sizeof key);
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words)
    hash = (std::rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15u;  // the golden ratio, as of Fibonacci hashing
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

bool same(const Key& one, const Key& other) { return std::memcmp(&one, &other, sizeof one) == 0; }

// A key that more sizes share; that of width 2 leaves the call alone.
Key wider(Key key, std::uint8_t width) {
  if (width == 2) {
    Key coarse;
    coarse.what = key.what;
    coarse.method = key.method;
    coarse.width = width;
    return coarse;
  }
  key.width = width;
  key.size = key.size == 0 ? 0 : std::bit_floor(key.size);
  return key;
}

void add_time(Bin& bin, std::uint32_t bit, std::atomic<std::int64_t>& sum, std::int64_t time) {
  if (time == kUnknownTime) return;
  if ((bin.times_seen.load(std::memory_order_relaxed) & bit) == 0)
    bin.times_seen.fetch_or(bit, std::memory_order_relaxed);
  sum.fetch_add(time, std::memory_order_relaxed);
}

void note_size(Bin& bin, std::uint64_t size) {
  std::uint64_t least = bin.least.load(std::memory_order_relaxed);
  while (size < least && !bin.least.compare_exchange_weak(least, size, std::memory_order_relaxed)) {
  }
  std::uint64_t most = bin.most.load(std::memory_order_relaxed);
  while (size > most && !bin.most.compare_exchange_weak(most, size, std::memory_order_relaxed)) {
  }
}

void clear(Bin& bin) {
  for (auto* value : {&bin.count, &bin.bytes, &bin.least, &bin.most}) value->store(0);
  for (auto* value : {&bin.time, &bin.call, &bin.waiting, &bin.overlap}) value->store(0);
  bin.times_seen.store(0);
  bin.ready.store(0);
}

}  // namespace

Histogram& histogram() noexcept { return the_histogram; }

void Histogram::take() noexcept {
  while (lock_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}

// The bin of a key that is ready, or null.
Bin* Histogram::known(const Key& key, std::size_t place) noexcept {
  for (std::size_t tried = 0; tried < kPlaces; ++tried) {
    Bin& bin = bins_[(place + tried) % kPlaces];
    if (bin.ready.load(std::memory_order_acquire) == 0) return nullptr;
    if (same(bin.key, key)) return &bin;
  }
  return nullptr;
}

// The bin of a key, which is made if there is none. Under the lock; bins are never more than half the places.
Bin* Histogram::placed(const Key& key) noexcept {
  const std::size_t place = place_of(key);
  if (Bin* found = known(key, place)) return found;
  for (std::size_t tried = 0; tried < kPlaces; ++tried) {
    Bin& bin = bins_[(place + tried) % kPlaces];
    if (bin.ready.load(std::memory_order_relaxed) != 0) continue;
    bin.key = key;
    bin.least.store(key.width == 0 ? key.size : UINT64_MAX, std::memory_order_relaxed);
    bin.most.store(key.width == 0 ? key.size : 0, std::memory_order_relaxed);
    // First in the order: a fork between the two leaves no bin that begin_anew() does not find.
    const std::size_t made = taken_.load(std::memory_order_relaxed);
    order_[made] = static_cast<std::uint16_t>(&bin - bins_);
    taken_.store(made + 1, std::memory_order_release);
    bin.ready.store(1, std::memory_order_release);
    return &bin;
  }
  return nullptr;
}

// A bin for a key without one: of its size while there are enough, else of wider ones; null if all are taken.
Bin* Histogram::made(Key key) noexcept {
  take();
  const std::size_t before = taken_.load(std::memory_order_relaxed);
  Bin* bin = known(key, place_of(key));  // another thread may have made it
  if (bin == nullptr && before < kExactBins) bin = placed(key);
  for (std::uint8_t width = 1; bin == nullptr && width <= 2; ++width) {
    const Key shared = wider(key, width);
    bin = known(shared, place_of(shared));
    if (bin == nullptr && before < (width == 1 ? kWideBins : kMostBins)) bin = placed(shared);
  }
  release();
  if (before == 0)
    if (void (*const act)() = at_first_.load(std::memory_order_acquire); act != nullptr) act();
  return bin;
}

Bin* Histogram::add(const Key& key, std::uint64_t count, const Times& times, std::int64_t at) noexcept {
  Bin* bin = known(key, place_of(key));
  if (bin == nullptr) bin = made(key);
  if (bin == nullptr) {
    lose(count);
    return nullptr;
  }
  const std::uint64_t bytes = count * key.size;
  bin->count.fetch_add(count, std::memory_order_relaxed);
  if (bin->key.width != 0) {
    bin->bytes.fetch_add(bytes, std::memory_order_relaxed);
    note_size(*bin, key.size);
  }
  add_time(*bin, 1, bin->time, times.time);
  add_time(*bin, 2, bin->call, times.call);
  add_time(*bin, 4, bin->waiting, times.waiting);
  if (bytes != 0) add_to_time_line(key.what, bytes, at);
  note_change();
  return bin;
}

void Histogram::add_overlap(Bin* bin, std::int64_t time) noexcept {
  add_time(*bin, 8, bin->overlap, time);
  note_change();
}

void Histogram::add_to_time_line(What what, std::uint64_t bytes, std::int64_t at) noexcept {
  const std::int64_t since = at - start_.load(std::memory_order_relaxed);
  const auto place = since < 0 ? 0 : static_cast<std::uint64_t>(since / kFirstInterval);
  int doublings = doublings_.load(std::memory_order_relaxed);
  while (place >> doublings >= kMostIntervals) {
    widen_intervals(doublings);
    doublings = doublings_.load(std::memory_order_relaxed);
  }
  intervals_[static_cast<std::size_t>(what)][place >> doublings].fetch_add(bytes, std::memory_order_relaxed);
}

// Joins intervals by twos, unless another thread did. What is added meanwhile may be in a neighbouring
// interval; no byte is lost.
void Histogram::widen_intervals(int doublings) noexcept {
  take();
  if (doublings_.load(std::memory_order_relaxed) == doublings) {
    for (auto& line : intervals_)
      for (std::size_t at = 0; at < kMostIntervals; ++at) {
        const std::uint64_t bytes = line[at].exchange(0, std::memory_order_relaxed);
        if (bytes != 0) line[at / 2].fetch_add(bytes, std::memory_order_relaxed);
      }
    doublings_.store(doublings + 1, std::memory_order_relaxed);
  }
  release();
}

void Histogram::leave_out_of_children() noexcept {
  // Whole pages alone; what else lies in the last one is not the histogram's. Linux 4.14.
  madvise(this, sizeof *this / kPage * kPage, MADV_WIPEONFORK);
}

void Histogram::begin_anew() noexcept {
  const std::size_t end = taken_.load(std::memory_order_relaxed);
  for (std::size_t at = 0; at < end; ++at) clear(bins_[order_[at]]);
  for (auto& line : intervals_)
    for (auto& bytes : line)
      if (bytes.load(std::memory_order_relaxed) != 0) bytes.store(0, std::memory_order_relaxed);
  doublings_.store(0);
  changes_.store(0);
  lost_.store(0);
  taken_.store(0);
  release();
}

}  // namespace byteways::watch
