// See blocks.hpp.
#include "copy_library/blocks.hpp"

#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "copy_library/memory_ranges.hpp"
#include "copy_library/thread_state.hpp"

namespace byteways::copy_library {
namespace {

// Follows the places of one side's blocks, which mostly lie in the range of the block before.
class Follower {
 public:
  // false: the block, or all together, are not of one place that is known.
  bool follow(MemoryRanges& ranges, std::uintptr_t begin, std::size_t bytes, Side& side) {
    return lies_within(range_, begin, bytes) || move(ranges, begin, bytes, side);
  }

 private:
  // Not in line: the registers of the loop are worth more.
  [[gnu::noinline]] bool move(MemoryRanges& ranges, std::uintptr_t begin, std::size_t bytes, Side& side) {
    range_ = ranges.find(begin);
    return take(range_, side) &&
           (lies_within(range_, begin, bytes) || take(ranges.find(begin + bytes - 1), side));
  }

  static bool lies_within(const Extent& range, std::uintptr_t begin, std::size_t bytes) {
    const std::uintptr_t offset = begin - range.begin, room = range.end - range.begin;
    return offset < room && bytes <= room - offset;
  }
  static bool take(const Extent& range, Side& side) {
    side.open_to_peers &= range.open_to_peers;
    if (range.place == kUnknown || (side.place != kUnknown && side.place != range.place)) return false;
    side.place = range.place;
    return true;
  }
  Extent range_;
};

// Marks the memory that blocks write, in granules. A word has a bit for each of 32 granules, and above them
// the number of the call that it is of, so that nothing has to be cleared.
class Marks {
 public:
  // Begins a call with room for so many granules.
  void begin(std::size_t granules) {
    const std::size_t wanted = granules / kGranules + 1;
    if (wanted <= size_ && ++call_ != 0) return;
    size_ = 0;
    const std::size_t size = std::bit_ceil(wanted);
    // Zeroed by the system page by page, when they are first used.
    words_.reset(static_cast<std::uint64_t*>(std::calloc(size, sizeof(std::uint64_t))));
    if (words_ == nullptr) throw std::bad_alloc();
    size_ = size;
    call_ = 1;
  }
  // Marks granules, or only looks at them; false: one of them was marked before.
  bool take(std::size_t first, std::size_t granules, bool mark) {
    while (granules != 0) {
      std::uint64_t& word = words_[first / kGranules];
      const std::size_t within = first % kGranules, here = std::min(kGranules - within, granules);
      const std::uint64_t wanted = ((std::uint64_t{1} << here) - 1) << within;
      const std::uint64_t before = word >> kGranules == call_ ? word : std::uint64_t{call_} << kGranules;
      if ((before & wanted) != 0) return false;
      if (mark) word = before | wanted;
      first += here;
      granules -= here;
    }
    return true;
  }

 private:
  static constexpr std::size_t kGranules = 32;  // of a word
  struct Free {
    void operator()(std::uint64_t* words) const { std::free(words); }
  };
  std::unique_ptr<std::uint64_t[], Free> words_;
  std::size_t size_ = 0;
  std::uint32_t call_ = 0;
};

// Of a table of granules: 16 MiB for each thread, of which pages in use take memory; and so many for a block.
constexpr std::size_t kMostGranules = std::size_t{1} << 26, kMostOfBlock = 256;

// Whether the blocks are found not to overlap; false: nobody knows yet. The granule is the largest power of
// two that all addresses and sizes are multiples of.
bool are_apart(const Blocks& blocks, const Survey& seen, bool reads) {
  auto& marks = of_this_thread<Marks>();
  const std::uintptr_t base = seen.written.first;
  const int shift = std::countr_zero(seen.written.bits | (reads ? seen.read.bits : 0));
  const std::size_t span = (seen.written.end - base) >> shift;
  const bool wraps = std::max(seen.written.end, seen.read.end) == UINTPTR_MAX;
  if (wraps || span > kMostGranules || seen.total_bytes >> shift > kMostOfBlock * blocks.count) return false;
  marks.begin(span);
  for (std::size_t k = 0; k < blocks.count; ++k)
    if (!marks.take((blocks.destination(k) - base) >> shift, blocks.bytes(k) >> shift, true)) return false;
  for (std::size_t k = 0; reads && k < blocks.count; ++k) {
    const std::uintptr_t begin = std::max(blocks.source(k), base);
    const std::uintptr_t end = std::min(blocks.source(k) + blocks.bytes(k), seen.written.end);
    if (begin < end && !marks.take((begin - base) >> shift, (end - begin) >> shift, false)) return false;
  }
  return true;
}

bool is_same(const Blocks& blocks, std::size_t one, std::size_t other) {
  return blocks.to[one] == blocks.to[other] && blocks.from[one] == blocks.from[other] &&
         blocks.bytes(one) == blocks.bytes(other);
}
// A block that is copied onto itself changes nothing, whatever else reads it.
bool changes(const Blocks& blocks, std::size_t k) { return blocks.to[k] != blocks.from[k]; }

struct Order {
  std::vector<std::size_t> blocks;
};

std::optional<Conflict> conflict_in_order(const Blocks& blocks, bool reads) {
  std::vector<std::size_t>& order = of_this_thread<Order>().blocks;
  order.clear();
  for (std::size_t k = 0; k < blocks.count; ++k)
    if (blocks.bytes(k) != 0) order.push_back(k);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return blocks.to[a] < blocks.to[b]; });
  const auto end_of = [&](std::size_t k) { return blocks.destination(k) + blocks.bytes(k); };
  std::size_t kept = 0;  // the repetitions of a block are left out
  for (const std::size_t k : order) {
    if (kept != 0 && is_same(blocks, order[kept - 1], k)) continue;
    if (kept != 0 && blocks.destination(k) < end_of(order[kept - 1]))
      return Conflict{order[kept - 1], k, true};
    order[kept++] = k;
  }
  if (!reads) return std::nullopt;
  order.resize(kept);
  for (std::size_t k = 0; k < blocks.count; ++k) {
    const std::uintptr_t begin = blocks.source(k), end = begin + blocks.bytes(k);
    const auto after = std::partition_point(order.begin(), order.end(),
                                            [&](std::size_t j) { return blocks.destination(j) < end; });
    for (auto at = after; at != order.begin() && end_of(*(at - 1)) > begin; --at)
      if (changes(blocks, *(at - 1)) && begin != end) return Conflict{*(at - 1), k, false};
  }
  return std::nullopt;
}

// A call's blocks without the empty ones.
struct Lists {
  std::vector<void*> to;
  std::vector<const void*> from;
  std::vector<std::size_t> sizes;
};

}  // namespace

NonEmpty::NonEmpty(const Blocks& blocks, const Survey& seen) : Blocks(blocks) {
  if (seen.empty == 0) return;
  count -= seen.empty;
  if (count == 0) return;
  auto& lists = of_this_thread<Lists>();
  lists.to.resize(count);
  lists.from.resize(count);
  lists.sizes.resize(count);
  for (std::size_t k = 0, at = 0; k < blocks.count; ++k) {
    if (blocks.bytes(k) == 0) continue;
    lists.to[at] = blocks.to[k];
    lists.from[at] = blocks.from[k];
    lists.sizes[at++] = blocks.bytes(k);
  }
  to = lists.to.data();
  from = lists.from.data();
  sizes = lists.sizes.data();
}

// What the loop changes is in variables of its own, which fit into registers.
Survey survey(const Blocks& blocks, const Driver* driver) {
  Survey seen;
  std::optional<MemoryRanges> ranges;
  if (driver != nullptr) ranges.emplace(*driver);
  bool located = ranges.has_value();
  Follower sources, destinations;
  Side written, read;
  std::uint64_t total_bytes = 0;
  std::size_t largest = 0, smallest = SIZE_MAX, empty = 0;
  for (std::size_t k = 0; k < blocks.count; ++k) {
    const std::size_t bytes = blocks.bytes(k);
    if (bytes == 0) {
      ++empty;
      continue;
    }
    const std::uintptr_t to = blocks.destination(k), from = blocks.source(k);
    if (to == 0 || from == 0) {
      seen.null_block = k;
      return seen;
    }
    total_bytes += bytes;
    largest = std::max(largest, bytes);
    smallest = std::min(smallest, bytes);
    written.add(to, bytes);
    read.add(from, bytes);
    located = located && sources.follow(*ranges, from, bytes, read) &&
              destinations.follow(*ranges, to, bytes, written);
  }
  if (!located) written.place = read.place = kUnknown;
  seen.total_bytes = total_bytes;
  seen.empty = empty;
  seen.largest = largest;
  seen.uniform = smallest >= largest;
  seen.written = written;
  seen.read = read;
  return seen;
}

// Most calls have no conflict, which a table finds out in constant time for each block. Sorting finds the
// rest, and names the blocks.
std::optional<Conflict> find_conflict(const Blocks& blocks, const Survey& seen) {
  const bool reads = seen.written.first < seen.read.end && seen.read.first < seen.written.end;
  if ((blocks.count < 2 && !reads) || are_apart(blocks, seen, reads)) return std::nullopt;
  return conflict_in_order(blocks, reads);
}

}  // namespace byteways::copy_library
