// The host's loads: the XOR of all words of an operation, added to the sum.
#include "interfaces/host_sum.hpp"
#include "interfaces/load/arguments.hpp"
#include "interfaces/load/host_loop.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/slot_operations.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kLineBytes = 64;

struct LoadOperation {
  const std::byte* data;
  Word count;
  Word* sum;

  LoadOperation(const LoadArguments& arguments, const TeamMember& member) : sum(arguments.sum) {
    const Share share = share_of(arguments.bytes, kLineBytes, member);
    data = static_cast<const std::byte*>(arguments.data) + share.begin;
    count = (share.end - share.begin) / sizeof(Word);
  }
  template <class Isa>
  BYTEWAYS_INLINE void run(Word offset, Word number, const TeamMember& member) const {
    const auto* words = reinterpret_cast<const Word*>(hidden(data + offset));
    // An operation ends when all of its words are read.
    add_to_sum(sum, LoadXor::run<Isa>(words, hidden(count)), number, member);
  }
};

constexpr SlotVersions<LoadOperation, LoadArguments> load_slots;

void load_kernel(const LoadArguments& arguments, const TeamMember& member) { load_slots(arguments, member); }

const RegisterHostKernel<load_kernel> kLoad("load");

}  // namespace
}  // namespace byteways
