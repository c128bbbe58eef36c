// The host's part of the argument block of kernels that move scattered blocks.
#pragma once
#include <bit>
#include <cstdint>

#include "interfaces/blocks/arguments.hpp"

namespace byteways {

// Sets factor and shift for blocks of `per_block` accesses or chunks, so that i * factor >> shift is i /
// per_block for all i < 2^31 (Granlund and Montgomery: Division by Invariant Integers using Multiplication,
// 1994).
template <class Arguments>
void set_divisor(Arguments& arguments) {
  arguments.shift = 31u + static_cast<unsigned>(std::bit_width(arguments.per_block - 1));
  arguments.factor = static_cast<unsigned>(((std::uint64_t{1} << arguments.shift) + arguments.per_block - 1) /
                                           arguments.per_block);
}

}  // namespace byteways
