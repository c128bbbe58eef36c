// Argument block of the kernel that only writes.
#pragma once
#include "interfaces/device/data_pattern.hpp"
#include "interfaces/device/geometry.hpp"

namespace byteways {

// "store": runs `operations` one after another. Each writes the pattern of `key` into its slot of `bytes`;
// word i of the whole buffer is pattern_word(key, i). "memset", of a host alone, sets each byte to the lowest
// one of `key` instead. A device kernel is launched once per operation; the host loops inside one launch.
struct StoreArguments {
  void* data;
  unsigned long long bytes;
  unsigned long long offset;  // device: of this operation's slot
  unsigned long long key;
  unsigned int fence;  // device: 1 if must_fence() (mover.hpp)
  unsigned long long slots, stride;
  unsigned long long first_operation;
  unsigned long long operations;
};

}  // namespace byteways
