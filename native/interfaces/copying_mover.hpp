// Base of all movers that copy: slots, verification of the data, and migration of managed pages.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "interfaces/mover.hpp"

namespace byteways {

// Operation k of a copy uses slot k % slots of both buffers. Cold cases have enough slots that no byte is
// still cached; warm cases have one slot.
struct Slots {
  std::uint64_t count = 1;
  std::uint64_t stride_bytes = 0;
};

// Of operations over rotating slots, how many use the same one as the k-th of them.
inline std::uint64_t times_used(const Operations& operations, const Slots& slots, std::uint64_t k) {
  return (operations.count - 1 - k) / slots.count + 1;
}

// Keeps managed pages in place during its lifetime.
class HeldPages;

// Base of all movers that copy: slots and verification of the data.
class CopyingMover : public Mover, private Residency {
 public:
  ~CopyingMover() override;
  void prepare(std::uint64_t key) override;
  void spoil(std::uint64_t first_operation, std::uint64_t count) override;
  Verification verify(std::uint64_t first_operation, std::uint64_t count) override;
  Verification spot_check(std::uint64_t first_operation, std::uint64_t count) override;
  Residency* residency() override { return has_managed_ ? this : nullptr; }

 protected:
  // `granularity_bytes`: sizes are multiples of it: 8 for whole words, 1 for any size.
  CopyingMover(Session& session, const Flow& flow, std::uint64_t granularity_bytes = sizeof(std::uint64_t));
  // Sets the bytes that each operation moves, if they are fewer than the flow's size.
  void set_payload(std::uint64_t source_bytes, std::uint64_t destination_bytes);
  // Every enqueue() reports its operations here, so that restore() moves back the pages that they migrated.
  void moves(std::uint64_t first_operation, std::uint64_t count);
  std::byte* source_slot(std::uint64_t operation) const;
  // Fill the sources, and check the destination against what a copy of them must contain.
  // `words` from the first slot on; `first_index` is that of data[0] within the destination.
  virtual void fill_sources(std::uint64_t words);
  virtual CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index);
  // Checks a sample of the words of one slot: every `stride`-th, or an equivalent part. data[0] is word
  // `phase` of the slot.
  virtual CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                                 std::uint64_t first_index, std::uint64_t phase);
  std::byte* destination_slot(std::uint64_t operation) const;

  Session* session_;
  Flow flow_;
  Slots slots_;
  std::uint64_t key_ = 0;  // of the data
  // Whether check_some() reads only every `stride`-th word, so that several slots can be checked at once.
  bool checks_strided_ = true;

 private:
  bool moves_parts_of_words() const { return traits_.granularity_bytes < sizeof(std::uint64_t); }
  bool contiguous() const { return slots_.stride_bytes == flow_.size_bytes; }
  // Calls the action for the ranges of slots that `count` operations write, before and after the rotation
  // starts again.
  template <class Action>
  void for_written(std::uint64_t first_operation, std::uint64_t count, Action action) const;
  // Position in each slot of the words that are spoiled and checked, one in `stride`.
  struct Spots {
    std::uint64_t phase = 0, stride = 1;
  };
  Spots spots(std::uint64_t first_operation) const;
  // Whether one launch reaches such words of adjacent slots.
  bool by_one_launch(const Spots& at) const;
  void check_word(std::uint64_t word, std::uint64_t first_slot, std::uint64_t count,
                  Verification& verification);
  void check_range(std::uint64_t first_slot, std::uint64_t count, Verification& verification);
  void restore() override;
  std::vector<SideResidency> of(const Operations& operations) const override;
  std::uint64_t bytes_per_touch() override;
  void restore_slots(std::uint64_t first_slot, std::uint64_t count);
  // The arrays of the flow, the destination last.
  std::vector<Buffer*> buffers() const;
  // The managed buffers, each with the name of its side.
  std::vector<std::pair<const char*, Buffer*>> managed() const;
  void hold_pages();
  bool has_managed_ = false;
  // With the option `migration` off: keeps pages in place while the executor accesses them.
  std::vector<std::unique_ptr<HeldPages>> held_;
  std::uint64_t moved_first_ = 0, moved_count_ = 0;  // operations since the last restore()
};

}  // namespace byteways
