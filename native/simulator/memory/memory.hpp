// Memory of the simulated machine: address blocks, page locations and content.
#pragma once
#include <any>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "simulator/machine/common.hpp"
#include "simulator/memory/content.hpp"

namespace byteways::sim {

inline constexpr std::uint64_t kWordBytes = sizeof(Word);
inline constexpr std::uint64_t kPageBytes = 4096;
// Smaller blocks are real memory, which the program may access.
inline constexpr std::uint64_t kRealBelowBytes = 1 << 20;

// Pages of the system: not those of a GPU's allocator.
inline bool has_system_pages(Kind kind) { return !is_device(kind); }

// A note by a kernel about words that it wrote, for kernels that read them. Writing any of the words deletes
// it.
struct Note {
  Word begin = 0, end = 0;
  std::any about;
};

struct Block {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0, reserved_bytes = 0;  // reserved: 0 of memory that is the program's
  Kind kind = Kind::pageable;
  std::uint64_t number = 0;              // from 1 on, never given twice
  Place owner;                           // owner of the memory
  std::map<std::uint64_t, Place> pages;  // managed: place of the pages from this offset on
  std::map<std::uint64_t, std::optional<Place>> prefetched;  // managed: last prefetch destination
  bool held = false;                                         // managed: kernels do not migrate the pages
  bool touched = true;                                       // false: the first write places the pages
  std::optional<Place> toucher;      // executor of the first access since the allocation
  std::uint64_t physical = 0;        // vmm: number of the mapped physical memory, 0: none
  std::set<int> open_to;             // vmm: GPUs with access
  std::set<int> registered_by;       // ranks whose MPI has opened it
  std::multiset<int> opened_by;      // processes (process_of_caller()) that have opened its handle
  std::unique_ptr<Content> content;  // null: the memory is real
  std::optional<Note> note;

  bool real() const { return content == nullptr; }
  Word words() const { return bytes / kWordBytes; }
};

// A range of words of one block, plus the bytes of a partial word after them.
struct Range {
  Block* block = nullptr;
  Word begin = 0, end = 0;
  unsigned rest_bytes = 0;

  std::uint64_t bytes() const { return (end - begin) * kWordBytes + rest_bytes; }
  std::uint64_t end_byte() const { return end * kWordBytes + rest_bytes; }
};

// Scattered blocks that are moved: the first words of the first one by destination, on both sides, and all
// relative to it.
struct BlockMove {
  Word to = 0, from = 0;
  std::shared_ptr<const BlockPlaces> places;
};

class Memory {
 public:
  ~Memory();
  // Throws Failure (out_of_memory) when the operating system has no addresses for it.
  Block& allocate(Place owner, Kind kind, std::uint64_t bytes) {
    return allocate(owner, kind, bytes, all_real_ || bytes < kRealBelowBytes);
  }
  Block& allocate(Place owner, Kind kind, std::uint64_t bytes, bool real);
  // From now on every block is real, and so is what the program has of its own (adopt(), borrow()): for a
  // program that knows nothing of the simulator and accesses its memory.
  void make_all_real() { all_real_ = true; }
  bool all_real() const { return all_real_; }
  // A block over the program's own memory, until it is released: what is registered.
  Block& adopt(void* data, std::uint64_t bytes, Place owner);
  // The same for operations that end soon, and no block that find() knows.
  Block& borrow(const void* data, std::uint64_t bytes, Place owner);
  // Forgets what was borrowed, if that is much. Nothing may use it any more.
  void drop_borrowed();
  void release(const void* data);
  std::size_t blocks() const { return blocks_.size(); }
  std::vector<void*> blocks_of(Place owner) const;
  // Returns nullptr if the address is in no block.
  Block* find(const void* data) const;
  // Throws Failure: illegal_address when [data, data + bytes) is not inside one block, not_supported when it
  // does not begin with a word.
  Range range(const void* data, std::uint64_t bytes) const;

  // Copies between real and symbolic content. Ranges have equal length.
  void copy(const Range& to, const Range& from);
  void fill(const Range& to, Word key, Word first_index, Word stride);
  void poison(const Range& to, Word value, Word stride);
  CheckResult check(const Range& of, Word key, Word first_index, Word stride);
  CheckResult check_sum(const Range& of, const PatternSum& expected, Word first_index, Word stride);
  // Every stride-th word, of which the bits in `mask` are the pattern's and the others `rest`.
  CheckResult check_bits(const Range& of, Word key, Word first_index, Word stride, Word mask, Word rest);
  // Same effect as the STREAM kernels and their checks; `second` has no block if an operation reads one
  // array.
  void fill_doubles(const Range& to, Word key, Word first_index);
  void stream(unsigned operation, const Range& to, const Range& first, const Range& second);
  CheckResult check_doubles(const Range& of, unsigned operation, Word key, Word second_key, Word first_index);
  // Ranges include the gaps; the gaps of `to` keep their content.
  void copy_rows(const Range& to, const Range& from, const RowsShape& shape);
  // Checks slots of `slot_words` as the kernel `check_rows` does.
  CheckResult check_rows(const Range& of, Word slot_words, const RowsShape& shape, Word key, Word gap);
  // The same for scattered blocks; the ranges span all of them.
  void copy_blocks(const Range& to, const Range& from, const BlockMove& move);
  // Checks words from word `first` of a slot on as the kernel `check_blocks` does.
  CheckResult check_blocks(const Range& of, Word first, Word slot_words, const BlockPlaces& places, Word key,
                           Word gap);
  CheckResult check_rule(const Range& of, const Rule& expected) const;
  Word at(const Block& block, Word index) const;
  void set(Block& block, Word index, Word value);

 private:
  std::map<const std::byte*, std::unique_ptr<Block>> blocks_;  // by address
  std::vector<std::unique_ptr<Block>> borrowed_;
  std::uint64_t made_ = 0;
  bool all_real_ = false;
};

// Returns the bytes of a block's range per place, in the order of first pages.
std::vector<std::pair<Place, std::uint64_t>> bytes_by_place(const Block& block, std::uint64_t begin,
                                                            std::uint64_t end);
void move_pages_to(Block& block, std::uint64_t begin, std::uint64_t end, Place where);
// Record and query the destination of prefetch calls: the place to which all pages of a range were last sent,
// or no value.
void note_prefetch(Block& block, std::uint64_t begin, std::uint64_t end, Place where);
std::optional<Place> last_prefetch(const Block& block, std::uint64_t begin, std::uint64_t end);
Place place_of(const Block& block, std::uint64_t offset);

}  // namespace byteways::sim
