// What all movers that copy share: the slots, data that proves the copy, and managed pages that move with it.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "interfaces/mover.hpp"

namespace byteways {

// Operation k of a copy uses slot k % slots of both buffers, so that nothing is found in a cache (cold), or
// always slot 0 (warm).
struct Slots {
  std::uint64_t count = 1;
  std::uint64_t stride_bytes = 0;
};

// Managed pages that are kept where they are for as long as it lives.
class HeldPages;

// What all movers that copy share: the slots, and data that proves the copy.
class CopyingMover : public Mover, private Residency {
 public:
  ~CopyingMover() override;
  void prepare(std::uint64_t key) override;
  void spoil(std::uint64_t first_operation, std::uint64_t count) override;
  Verification verify(std::uint64_t first_operation, std::uint64_t count) override;
  Verification spot_check(std::uint64_t first_operation, std::uint64_t count) override;
  Residency* residency() override { return has_managed_ ? this : nullptr; }

 protected:
  // `granularity_bytes`: 8 where sizes are whole words, 1 where they may be any.
  CopyingMover(Session& session, const Flow& flow, std::uint64_t granularity_bytes = sizeof(std::uint64_t));
  // Of each operation, where that is less than the flow's size.
  void set_payload(std::uint64_t source_bytes, std::uint64_t destination_bytes);
  // Every enqueue() says which operations it enqueues, so that restore() brings back what they moved.
  void moves(std::uint64_t first_operation, std::uint64_t count);
  std::byte* source_slot(std::uint64_t operation) const;
  // What the words of the sources are, and what those of the destination have to be: as a copy has them.
  // `words` from the first slot on; `first_index` is that of data[0] within the destination.
  virtual void fill_sources(std::uint64_t words);
  virtual CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index);
  // Some words of one slot from data[0] on, which is word `phase` of it: every `stride`-th, or as good a
  // part.
  virtual CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                                 std::uint64_t first_index, std::uint64_t phase);
  std::byte* destination_slot(std::uint64_t operation) const;

  Session* session_;
  Flow flow_;
  Slots slots_;
  std::uint64_t key_ = 0;  // of the data
  // Whether check_some() looks at the `stride`-th words alone, so that slots may be checked in one go.
  bool checks_strided_ = true;

 private:
  bool moves_parts_of_words() const { return traits_.granularity_bytes < sizeof(std::uint64_t); }
  bool contiguous() const { return slots_.stride_bytes == flow_.size_bytes; }
  // Ranges of slots that `count` operations write, before and after the rotation starts again.
  template <class Action>
  void for_written(std::uint64_t first_operation, std::uint64_t count, Action action) const;
  // Where in each slot the words lie that are spoiled and looked at, one in `stride`.
  struct Spots {
    std::uint64_t phase = 0, stride = 1;
  };
  Spots spots(std::uint64_t first_operation) const;
  void check_word(std::uint64_t word, std::uint64_t first_slot, std::uint64_t count,
                  Verification& verification);
  void check_range(std::uint64_t first_slot, std::uint64_t count, Verification& verification);
  void restore() override;
  std::vector<SideResidency> of(const Operations& operations) const override;
  std::uint64_t bytes_per_touch() override;
  void restore_slots(std::uint64_t first_slot, std::uint64_t count);
  // The arrays of the flow, the destination last.
  std::vector<Buffer*> buffers() const;
  // The managed ones of them, with the side that they are.
  std::vector<std::pair<const char*, Buffer*>> managed() const;
  void hold_pages();
  bool has_managed_ = false;
  // Of option `migration` off: pages stay where they are while the executor reaches them.
  std::vector<std::unique_ptr<HeldPages>> held_;
  std::uint64_t moved_first_ = 0, moved_count_ = 0;  // operations since the last restore()
};

}  // namespace byteways
