// What movers between ranks share: the slots of the buffers that this rank holds, and data that proves what
// arrived. Ranks have numbers 0, 1, … in the communicator of the case; each has a mover of its own, with the
// buffers that it holds, and all of them do the same operations in the same order.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "interfaces/mover.hpp"
#include "runtimes/ranks.hpp"

namespace byteways {

// The parts of a buffer that operations take in turn.
struct RankSlots {
  std::byte* first = nullptr;  // nullptr: this rank has no buffer
  std::uint64_t stride_bytes = 0, rotation = 1;

  std::byte* at(std::uint64_t operation) const {
    return first == nullptr ? nullptr : first + operation % rotation * stride_bytes;
  }
};

// The slots of operations one after the other. Stepped on before each operation of under a microsecond, so it
// takes no division.
class SlotWalk {
 public:
  SlotWalk(const RankSlots& slots, std::uint64_t first_operation)
      : next_(slots.at(first_operation)),
        rotates_(next_ != nullptr && slots.rotation > 1),
        stride_bytes_(slots.stride_bytes),
        first_(slots.first),
        last_(rotates_ ? first_ + (slots.rotation - 1) * stride_bytes_ : nullptr) {}
  std::byte* next() {
    std::byte* const slot = next_;
    if (rotates_) next_ = slot == last_ ? first_ : slot + stride_bytes_;
    return slot;
  }

 private:
  std::byte* next_;
  bool rotates_;
  std::uint64_t stride_bytes_;
  std::byte *first_, *last_;
};

class RankMover : public Mover {
 public:
  void meet() override { ranks().barrier(); }
  void prepare(std::uint64_t key) override;
  void spoil(std::uint64_t first_operation, std::uint64_t count) override;
  Verification verify(std::uint64_t first_operation, std::uint64_t count) override;
  Verification spot_check(std::uint64_t first_operation, std::uint64_t count) override;

 protected:
  // Throws Unsupported when the flow names no ranks, or its size is 0.
  RankMover(Session& session, const Flow& flow);

  // What an operation leaves in a part of the destination slot: words of the source slot of rank `from`, or
  // the sum of these words over all ranks.
  struct Arrival {
    std::uint64_t offset_bytes = 0, bytes = 0;
    int from = 0;
    std::uint64_t source_offset_bytes = 0;
    bool sum = false;
  };
  // On this rank; empty where it receives nothing.
  virtual std::vector<Arrival> arrivals() const = 0;

  // In place an operation reads its input from the destination slot, so the second one there reads what the
  // first has left. The input is this part of the slot; out of place it is empty.
  struct Part {
    std::uint64_t offset_bytes = 0, bytes = 0;
  };
  virtual Part input_in_place() const { return {}; }
  // After `times` operations on the same input, sums hold `factor` times all ranks' data plus `own_factor`
  // times that of this rank.
  struct Weights {
    std::uint64_t factor = 1, own_factor = 0;
  };
  virtual Weights weights(std::uint64_t) const { return {}; }
  // Every enqueue() in place reports its operations here.
  void count_repetitions(std::uint64_t first_operation, std::uint64_t count);

  // Throws Unsupported unless there are two ranks, and this one has the buffers of the ends that it plays.
  void require_ends(bool sends, bool receives) const;
  // Throws Unsupported unless this rank has the buffers of the ends that it plays.
  void require_buffers(bool sends, bool receives) const;
  const Ranks& ranks() const { return *flow_.ranks; }
  int rank() const { return flow_.ranks->rank(); }
  RankSlots source_slots() const { return {source_, stride_bytes_, traits_.rotation}; }
  RankSlots destination_slots() const { return {destination_, stride_bytes_, traits_.rotation}; }
  std::byte* source_slot(std::uint64_t operation) const { return source_slots().at(operation); }
  std::byte* destination_slot(std::uint64_t operation) const { return destination_slots().at(operation); }
  void note_evidence(const std::string& how);

  Session* session_;
  Flow flow_;

 private:
  std::uint64_t key_of(int rank) const;
  Verification look(std::uint64_t first_operation, std::uint64_t count, std::uint64_t stride);
  struct Words {  // of an arrival
    std::uint64_t first = 0, count = 0, stride = 1;
  };
  std::uint64_t offset_of(const Arrival& arrival, std::uint64_t slot, std::uint64_t word) const {
    return slot * stride_bytes_ + arrival.offset_bytes + word * kWord;
  }
  CheckResult compare(const Arrival& arrival, std::uint64_t slot, const Words& words);
  void look_at(const Arrival& arrival, std::uint64_t slot, const Words& words, Verification& found);
  void look_at_rest(const Arrival& arrival, std::uint64_t slot, std::uint64_t bytes, Verification& found);
  void fill_input(std::uint64_t slot);  // in place

  std::byte *source_ = nullptr, *destination_ = nullptr;  // the first slots; nullptr: this rank has no buffer
  std::uint64_t stride_bytes_ = 0;
  std::uint64_t key_ = 0;
  std::vector<std::uint64_t> repetitions_;  // in place: operations on each slot since its input was written
};

}  // namespace byteways
