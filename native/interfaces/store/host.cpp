// The host's stores: words generated in vector registers, written by regular stores; and memset.
#include <cstring>

#include "interfaces/pattern_loops.hpp"
#include "interfaces/store/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/slot_operations.hpp"

namespace byteways {
namespace {

using Word = unsigned long long;

constexpr Word kLineBytes = 64;

struct StoreOperation {
  std::byte* data;
  Word count, first;  // `first` is the key plus the index of the first word

  StoreOperation(const StoreArguments& arguments, const TeamMember& member) {
    const Share share = share_of(arguments.bytes, kLineBytes, member);
    data = static_cast<std::byte*>(arguments.data) + share.begin;
    count = (share.end - share.begin) / sizeof(Word);
    first = arguments.key + share.begin / sizeof(Word);
  }
  template <class Isa>
  BYTEWAYS_INLINE void run(Word offset, Word, const TeamMember& member) const {
    PatternFill::run<Isa>(reinterpret_cast<Word*>(hidden(data + offset)), hidden(count),
                          (first + offset / sizeof(Word)) * kPatternMultiplier);
    member.wait();  // an operation ends when all of its words are written
  }
};

constexpr SlotVersions<StoreOperation, StoreArguments> store_slots;

void store_kernel(const StoreArguments& arguments, const TeamMember& member) {
  store_slots(arguments, member);
}

void memset_kernel(const StoreArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.bytes, kLineBytes, member);
  for (Word k = arguments.first_operation; k < arguments.first_operation + arguments.operations; ++k) {
    auto* data = static_cast<std::byte*>(arguments.data) + k % arguments.slots * arguments.stride;
    std::memset(data + share.begin, static_cast<unsigned char>(arguments.key), share.end - share.begin);
    member.wait();  // an operation ends when all of its bytes are written
  }
}

const RegisterHostKernel<store_kernel> kStore("store");
const RegisterHostKernel<memset_kernel> kMemset("memset");

}  // namespace
}  // namespace byteways
