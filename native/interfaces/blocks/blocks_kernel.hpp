// The kernel that moves listed blocks by loads and stores, ready to launch.
#pragma once
#include "interfaces/blocks/listed_blocks.hpp"
#include "interfaces/pattern.hpp"

namespace byteways {

class BlocksKernel {
 public:
  BlocksKernel() = default;
  // For lists of up to `most_blocks` blocks of `block_bytes`. `addresses`: all of theirs and what is added to
  // them, by or; the lowest bit that is set in any limits the width of an access. Options of the flow choose
  // the grid. Throws Unsupported if the kernel is not available.
  BlocksKernel(const Flow& flow, std::uint64_t block_bytes, std::uint64_t most_blocks,
               std::uint64_t addresses);

  // Accesses of the widest kind that such blocks have.
  static std::uint64_t accesses(std::uint64_t block_bytes, std::uint64_t addresses);
  const LaunchShape& shape() const { return choice_.shape; }
  void launch(Device& by, Stream& stream, const BlockPair* list, std::uint64_t blocks) const;

 private:
  BlocksArguments arguments_{};
  KernelChoice choice_;
};

}  // namespace byteways
