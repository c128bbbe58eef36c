// The host's copy of blocks by memcpy, and the check of blocks.
#include <algorithm>
#include <cstring>

#include "interfaces/blocks/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {

namespace {

void memcpy_blocks_kernel(const MemcpyBlocksArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.blocks, 1, member);
  unsigned long long slot = arguments.first_operation % arguments.slots;
  for (unsigned long long operation = 0; operation < arguments.operations; ++operation) {
    const unsigned long long offset = slot * arguments.stride;
    for (unsigned long long k = share.begin; k < share.end; ++k)
      std::memcpy(static_cast<std::byte*>(arguments.list[k].destination) + offset,
                  static_cast<const std::byte*>(arguments.list[k].source) + offset, arguments.block_bytes);
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
    member.wait();  // an operation ends when all of its blocks are written
  }
}

void check_blocks_kernel(const CheckBlocksArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, 1, member);
  CheckResult found{0, ~0ull, 0, 0};
  for (unsigned long long i = share.begin; i < share.end;) {
    const unsigned long long at = arguments.first + i, slot = at / arguments.slot_words;
    const unsigned long long within = at % arguments.slot_words;
    const unsigned long long k = place_before(arguments.map, arguments.blocks, within);
    const BlockPlace& place = arguments.map[k];
    const unsigned long long column = within - place.destination;
    const bool in_block = column < place.words;
    // To the end of the block, of the gap, or of the slot.
    unsigned long long until = arguments.slot_words;
    if (in_block)
      until = place.destination + place.words;
    else if (within < place.destination)
      until = place.destination;
    else if (k + 1 < arguments.blocks)
      until = arguments.map[k + 1].destination;
    const unsigned long long end = std::min(share.end, i + until - within);
    const unsigned long long index = slot * arguments.slot_words + place.source + column - i;
    for (; i < end; ++i) {
      const unsigned long long expected = in_block ? pattern_word(arguments.key, index + i) : arguments.gap;
      if (arguments.words[i] == expected) continue;
      if (found.bad_count++ == 0) found = {1, i, expected, arguments.words[i]};
    }
  }
  report(*arguments.result, found, member);
}

const RegisterHostKernel<memcpy_blocks_kernel> kMemcpyBlocks("memcpy_blocks");
const RegisterHostKernel<check_blocks_kernel> kCheckBlocks("check_blocks");

}  // namespace
}  // namespace byteways
