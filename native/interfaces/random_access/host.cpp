// The host's random accesses: regular loads and stores, which the processor overlaps as far as its buffers
// for misses go.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "interfaces/host_sum.hpp"
#include "interfaces/pattern_loops.hpp"
#include "interfaces/random_access/arguments.hpp"
#include "interfaces/random_access/host_loops.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

using u64 = unsigned long long;

constexpr Versions<RandomElements, void(unsigned*, unsigned, RandomOrder)> elements_of;
constexpr Versions<RandomProducts, void(u64*, const unsigned*, u64, unsigned)> products_of;
constexpr Versions<RandomWords, void(u64*, const unsigned*, u64, unsigned)> words_of;

// Some accesses of an operation.
struct Block {
  std::byte* slot;
  u64 index;  // of the slot's first word in the pattern: its key included
  const unsigned* elements;
  unsigned count;
};

// Each access returns a word; the XOR of a block's counts for loads.
template <unsigned bytes>
struct LoadBlock {
  static u64 run(const Block& block) {
    u64 all = 0;
    for (unsigned k = 0; k < block.count; ++k) {
      const std::byte* from = block.slot + u64{block.elements[k]} * bytes;
      if constexpr (bytes < sizeof(u64)) {
        std::uint32_t got;
        std::memcpy(&got, from, sizeof got);
        all ^= got;
      } else {
        for (u64 word = 0; word < bytes / sizeof(u64); ++word) {
          u64 got;
          std::memcpy(&got, from + word * sizeof got, sizeof got);
          all ^= got;
        }
      }
    }
    return all;
  }
};

template <unsigned bytes>
struct StoreBlock {
  static u64 run(const Block& block) {
    alignas(64) u64 words[kRandomBlock];
    if constexpr (bytes <= sizeof(u64))
      words_of(words, block.elements, block.index, bytes < sizeof(u64) ? 1 : 0);
    else
      products_of(words, block.elements, block.index, bytes / sizeof(u64));
    for (unsigned k = 0; k < block.count; ++k) {
      std::byte* to = block.slot + u64{block.elements[k]} * bytes;
      if constexpr (bytes < sizeof(u64)) {
        const std::uint32_t value = half_word(words[k], block.elements[k] & 1);
        std::memcpy(to, &value, sizeof value);
      } else if constexpr (bytes == sizeof(u64)) {
        std::memcpy(to, &words[k], sizeof(u64));
      } else {
        for (u64 word = 0; word < bytes / sizeof(u64); ++word) {
          const u64 value = folded(words[k] + word * kPatternMultiplier);
          std::memcpy(to + word * sizeof value, &value, sizeof value);
        }
      }
    }
    return 0;
  }
};

template <unsigned bytes>
struct UpdateBlock {
  static u64 run(const Block& block) {
    for (unsigned k = 0; k < block.count; ++k) {
      std::byte* at = block.slot + u64{block.elements[k]} * bytes;
      for (u64 word = 0; word < bytes / sizeof(u64); ++word) {
        u64 value;
        std::memcpy(&value, at + word * sizeof value, sizeof value);
        value = updated_word(value);
        std::memcpy(at + word * sizeof value, &value, sizeof value);
      }
    }
    return 0;
  }
};

// Runs this member's share of each operation.
template <class Access, bool reads>
void run_operations(const RandomArguments& arguments, const TeamMember& member) {
  const Share share = share_of(u64{1} << arguments.access_bits, 1, member);
  alignas(64) unsigned elements[kRandomBlock];
  for (u64 k = 0; k < arguments.operations; ++k) {
    const u64 operation = arguments.first_operation + k;
    const u64 offset = operation % arguments.slots * arguments.stride;
    const RandomOrder order(operation, arguments.access_bits);
    u64 all = 0;
    for (u64 first = share.begin; first < share.end; first += kRandomBlock) {
      elements_of(elements, static_cast<unsigned>(first), order);
      all ^=
          Access::run({static_cast<std::byte*>(arguments.data) + offset, arguments.key + offset / sizeof(u64),
                       elements, static_cast<unsigned>(std::min<u64>(kRandomBlock, share.end - first))});
    }
    if (reads)
      add_to_sum(arguments.right, all, k, member);
    else
      member.wait();  // an operation ends when all of its elements have been accessed
  }
}

// Calls the kernel for the size of an element.
template <template <unsigned> class Access, bool reads>
void random_kernel(const RandomArguments& arguments, const TeamMember& member) {
  switch (arguments.access_bytes) {
    case 4:
      return run_operations<Access<4>, reads>(arguments, member);
    case 8:
      return run_operations<Access<8>, reads>(arguments, member);
    case 16:
      return run_operations<Access<16>, reads>(arguments, member);
    case 32:
      return run_operations<Access<32>, reads>(arguments, member);
    case 64:
      return run_operations<Access<64>, reads>(arguments, member);
    default:
      return run_operations<Access<128>, reads>(arguments, member);
  }
}

const RegisterHostKernel<random_kernel<LoadBlock, true>> kRandomLoad("random_load");
const RegisterHostKernel<random_kernel<StoreBlock, false>> kRandomStore("random_store");
const RegisterHostKernel<random_kernel<UpdateBlock, false>> kRandomUpdate("random_update");

}  // namespace
}  // namespace byteways
