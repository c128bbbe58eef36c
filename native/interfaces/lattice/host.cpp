// The host's words of the lattice.
#include "interfaces/lattice/loops.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

// Calls action(index, word) for the words of this member's share that `stride` selects.
template <class Action>
void for_words(const LatticeArguments& arguments, const TeamMember& member, Action action) {
  const Share share = share_of((arguments.count + arguments.stride - 1) / arguments.stride, 1, member);
  if (arguments.stride != 1) {
    for (unsigned long long k = share.begin; k < share.end; ++k)
      action(k * arguments.stride, lattice_word(arguments, k * arguments.stride));
    return;
  }
  lattice_for_words(arguments, share.begin, share.end, action);
}

void lattice_fill(const LatticeArguments& arguments, const TeamMember& member) {
  for_words(arguments, member,
            [&](unsigned long long i, unsigned long long word) { arguments.words[i] = word; });
}

void lattice_check(const LatticeArguments& arguments, const TeamMember& member) {
  CheckResult found{0, ~0ull, 0, 0};
  for_words(arguments, member, [&](unsigned long long i, unsigned long long word) {
    if (arguments.words[i] == word) return;
    if (found.bad_count++ == 0) found = {1, i, word, arguments.words[i]};
  });
  report(*arguments.result, found, member);
}

const RegisterHostKernel<lattice_fill> kLatticeFill("lattice_fill");
const RegisterHostKernel<lattice_check> kLatticeCheck("lattice_check");

}  // namespace
}  // namespace byteways
