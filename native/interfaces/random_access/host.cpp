// The host's random accesses: regular loads and stores, which the processor overlaps as far as its buffers
// for misses go.
#include <algorithm>

#include "interfaces/host_sum.hpp"
#include "interfaces/random_access/arguments.hpp"
#include "interfaces/random_access/host_loops.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/slot_operations.hpp"

namespace byteways {
namespace {

using u64 = unsigned long long;

// This member's share of each operation.
template <class Accesses, bool reads>
struct RandomOperation {
  std::byte* data;
  u64 key, first_operation;
  unsigned access_bits;
  Share share;
  u64* sum;

  RandomOperation(const RandomArguments& arguments, const TeamMember& member)
      : data(static_cast<std::byte*>(arguments.data)),
        key(arguments.key),
        first_operation(arguments.first_operation),
        access_bits(arguments.access_bits),
        share(share_of(u64{1} << arguments.access_bits, 1, member)),
        sum(arguments.right) {}

  template <class Isa>
  BYTEWAYS_INLINE void run(u64 offset, u64 number, const TeamMember& member) const {
    ElementBlocks<Isa> blocks(RandomOrder(first_operation + number, access_bits),
                              static_cast<unsigned>(share.begin));
    // The next block's elements are computed before this block's accesses: a processor that has many stores
    // in flight would have to take those just written from among them.
    alignas(64) unsigned elements[2][kRandomBlock];
    blocks.write(elements[0]);
    std::byte* slot = hidden(data + offset);
    u64 all = 0;
    unsigned which = 0;
    for (u64 first = share.begin; first < share.end; first += kRandomBlock, which ^= 1) {
      blocks.write(elements[which ^ 1]);
      all ^= Accesses::template run<Isa>(
          {slot, key + offset / sizeof(u64), elements[which],
           static_cast<unsigned>(std::min<u64>(kRandomBlock, share.end - first))});
    }
    if constexpr (reads)
      add_to_sum(sum, all, number, member);
    else
      member.wait();  // an operation ends when all of its elements have been accessed
  }
};

template <class Accesses, bool reads>
constexpr SlotVersions<RandomOperation<Accesses, reads>, RandomArguments> random_slots;

// Calls the kernel for the size of an element.
template <template <unsigned> class Accesses, bool reads, bool updates = false>
void random_kernel(const RandomArguments& arguments, const TeamMember& member) {
  switch (arguments.access_bytes) {
    case 4:
      if constexpr (updates)
        return;  // whole words only, as its mover demands
      else
        return random_slots<Accesses<4>, reads>(arguments, member);
    case 8:
      return random_slots<Accesses<8>, reads>(arguments, member);
    case 16:
      return random_slots<Accesses<16>, reads>(arguments, member);
    case 32:
      return random_slots<Accesses<32>, reads>(arguments, member);
    case 64:
      return random_slots<Accesses<64>, reads>(arguments, member);
    default:
      return random_slots<Accesses<128>, reads>(arguments, member);
  }
}

const RegisterHostKernel<random_kernel<RandomLoads, true>> kRandomLoad("random_load");
const RegisterHostKernel<random_kernel<RandomStores, false>> kRandomStore("random_store");
const RegisterHostKernel<random_kernel<RandomUpdates, false, true>> kRandomUpdate("random_update");

}  // namespace
}  // namespace byteways
