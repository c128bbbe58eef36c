// The memory of the simulated machine: blocks of addresses, where their pages are, and what they hold.
#pragma once
#include <any>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "simulator/content.hpp"
#include "simulator/world.hpp"

namespace byteways::sim {

inline constexpr std::uint64_t kWordBytes = sizeof(Word);
inline constexpr std::uint64_t kPageBytes = 4096;
// Blocks below it are real memory, which the host's program may touch.
inline constexpr std::uint64_t kRealBelowBytes = 1 << 20;

inline bool is_plain(Kind kind) { return kind == Kind::pageable || kind == Kind::hugepage; }
inline bool is_device(Kind kind) {
  return kind == Kind::device || kind == Kind::device_fine || kind == Kind::device_uncached ||
         kind == Kind::pool || kind == Kind::vmm;
}
inline bool is_managed(Kind kind) { return kind == Kind::managed || kind == Kind::managed_coarse; }

// What a kernel keeps about the words of a range that it wrote, for those that read them. It is gone when any
// of them is written.
struct Note {
  Word begin = 0, end = 0;
  std::any about;
};

struct Block {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0, reserved_bytes = 0;
  Kind kind = Kind::pageable;
  Place owner;                           // whose memory was taken for it
  std::map<std::uint64_t, Place> pages;  // managed: where the pages from this offset on are
  std::map<std::uint64_t, std::optional<Place>> prefetched;  // the same: where they were last prefetched to
  bool held = false;                 // managed: kernels leave the pages where they are
  bool touched = true;               // false: whoever writes first decides where they are
  std::uint64_t physical = 0;        // vmm: the number of what is mapped there, 0: nothing is
  std::set<int> open_to;             // vmm: GPUs
  std::unique_ptr<Content> content;  // null: the memory is real
  std::optional<Note> note;

  bool real() const { return content == nullptr; }
  Word words() const { return bytes / kWordBytes; }
};

// A range of words of one block, and bytes of the word after them: fewer than a word has.
struct Range {
  Block* block = nullptr;
  Word begin = 0, end = 0;
  unsigned rest_bytes = 0;

  std::uint64_t bytes() const { return (end - begin) * kWordBytes + rest_bytes; }
  std::uint64_t end_byte() const { return end * kWordBytes + rest_bytes; }
};

class Memory {
 public:
  ~Memory();
  // Throws Failure (out_of_memory) when the operating system has no addresses for it.
  Block& allocate(Place owner, Kind kind, std::uint64_t bytes);
  void release(const void* data);
  bool empty() const { return blocks_.empty(); }
  // nullptr when the address is in no block.
  Block* find(const void* data) const;
  // Throws Failure: illegal_address when [data, data + bytes) is not inside one block, not_supported when it
  // does not begin with a word.
  Range range(const void* data, std::uint64_t bytes) const;

  // Whatever the ends are made of. Ranges are equally long.
  void copy(const Range& to, const Range& from);
  void fill(const Range& to, Word key, Word first_index, Word stride);
  void poison(const Range& to, Word value, Word stride);
  CheckResult check(const Range& of, Word key, Word first_index, Word stride);
  // Every stride-th word, of which the bits in `mask` are the pattern's and the others `rest`.
  CheckResult check_bits(const Range& of, Word key, Word first_index, Word stride, Word mask, Word rest);
  // As the STREAM kernels and what proves them do it; `second` has no block where an operation reads one
  // array.
  void fill_doubles(const Range& to, Word key, Word first_index);
  void stream(unsigned operation, const Range& to, const Range& first, const Range& second);
  CheckResult check_doubles(const Range& of, unsigned operation, Word key, Word second_key, Word first_index);
  // Ranges span rows and gaps; what is between the rows of `to` stays.
  void copy_rows(const Range& to, const Range& from, const RowsShape& shape);
  // Slots of `slot_words`, as the kernel `check_rows` looks at them.
  CheckResult check_rows(const Range& of, Word slot_words, const RowsShape& shape, Word key, Word gap);
  CheckResult check_rule(const Range& of, const Rule& expected) const;
  Word at(const Block& block, Word index) const;
  void set(Block& block, Word index, Word value);

 private:
  std::map<const std::byte*, std::unique_ptr<Block>> blocks_;  // by address
};

// How much of a block's range is where, in the order of first pages.
std::vector<std::pair<Place, std::uint64_t>> bytes_by_place(const Block& block, std::uint64_t begin,
                                                            std::uint64_t end);
void move_pages_to(Block& block, std::uint64_t begin, std::uint64_t end, Place where);
// What a driver keeps of its prefetch call. The place that all pages of a range were last sent to, or
// nothing.
void note_prefetch(Block& block, std::uint64_t begin, std::uint64_t end, Place where);
std::optional<Place> last_prefetch(const Block& block, std::uint64_t begin, std::uint64_t end);
Place place_of(const Block& block, std::uint64_t offset);

}  // namespace byteways::sim
