// A buffer of the simulated MPI library itself, in memory of the same kind as one of its user's. It takes
// neither time nor room: libraries have theirs ready.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "simulator/machine/world.hpp"
#include "simulator/memory/memory.hpp"

namespace byteways::sim::mpi {

class Scratch {
 public:
  // As much as `bytes` where `like` is, or in pinned memory of the `host`; none for 0 bytes.
  Scratch(const void* like, std::uint64_t bytes, std::optional<Place> host = std::nullopt) {
    if (bytes == 0) return;
    const Block* block = World::get().memory().find(like);
    if (block == nullptr) {
      plain_.resize(bytes);
      data_ = plain_.data();
      return;
    }
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(like) - block->data);
    const Place place = host ? *host : place_of(*block, offset);
    const Kind kind = place.kind == Place::Kind::gpu ? Kind::device : Kind::pinned;
    data_ = World::get().transfers().take_buffer(place, kind, bytes, block->real());
    in_block_ = true;
  }
  ~Scratch() {
    if (in_block_) World::get().transfers().give_back(data_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  void* data() const { return data_; }

 private:
  std::vector<std::byte> plain_;
  void* data_ = nullptr;
  bool in_block_ = false;
};

}  // namespace byteways::sim::mpi
