// What all memory operations share: their buffer, the memory that a batch holds, and the words that prove it.
#pragma once
#include <algorithm>
#include <string>

#include "interfaces/pattern.hpp"

namespace byteways {

inline constexpr std::uint64_t kPageBytes = 4096;
// Limits of one batch: number of blocks, and bytes, or one larger block (the same in cases/memory_steps.py).
inline constexpr std::uint64_t kMostHeld = 64;
inline constexpr std::uint64_t kMostBytes = 256ull << 20;
inline constexpr std::uint64_t kMostChecked = 4;  // blocks per batch whose first and last words are checked

class Step : public Mover, private Residency {
 public:
  Residency* residency() override { return this; }
  void prepare(std::uint64_t key) override { key_ = key; }
  void spoil(std::uint64_t, std::uint64_t) override {}

 protected:
  Step(Session& session, const Flow& flow)
      : Mover(*flow.executor), session_(&session), flow_(flow), memory_(flow.source->allocation().memory()) {
    if (flow.size_bytes == 0 || flow.size_bytes % kPageBytes != 0)
      throw Unsupported(flow.interface, "size", "memory is allocated in pages of 4096 bytes");
    traits_.entries_per_operation = 0;
    traits_.entries_per_batch = 1;
    traits_.synchronous = true;
    traits_.changes_residency = true;  // a step allocates, frees, locks or maps
    traits_.distinct_source_bytes = traits_.distinct_destination_bytes = flow.size_bytes;
    traits_.concurrency_obstacle = "what it has is given back before it is had again";
    traits_.engine = "cpu";
    traits_.engine_evidence = "calls of this process's own thread, which move nothing";
  }

  Device& owner() const { return flow_.source->device(); }
  [[noreturn]] void refuse(const std::string& why) const {
    throw Unsupported(flow_.interface, std::string(memory_name(memory_)), why, executor().name());
  }
  std::uint64_t most_blocks() const {
    return std::clamp<std::uint64_t>(kMostBytes / flow_.size_bytes, 1, kMostHeld);
  }
  // The words of a block that prove it: the first and the last.
  void write(Device& by, std::byte* data) const {
    for (std::byte* word : {data, data + flow_.size_bytes - kWord}) fill(*session_, by, word, 1, key_);
    by.runtime->synchronize(session_->service_stream(by));
  }
  void read(Device& by, std::byte* data, Verification& found) const { read(by, data, key_, found); }
  void read(Device& by, std::byte* data, std::uint64_t key, Verification& found) const {
    for (const std::uint64_t offset : {std::uint64_t{0}, flow_.size_bytes - kWord}) {
      const bool last = offset != 0 && key == 0;  // the last word of a block that was filled as a whole
      found.note(check(*session_, by, data + offset, 1, last ? offset / kWord : key), offset);
      found.checked_bytes += kWord;
    }
  }

  Session* session_;
  Flow flow_;
  Memory memory_;
  std::uint64_t key_ = 0;
};

}  // namespace byteways
