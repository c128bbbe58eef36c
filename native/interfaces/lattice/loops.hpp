// The words of the lattice row by row, by one multiplication a word: for hosts, and for the simulated
// machine.
#pragma once
#include <algorithm>

#include "interfaces/lattice/arguments.hpp"

namespace byteways {

// Calls action(index, word) for words [first, last).
template <class Action>
void lattice_for_words(const LatticeArguments& arguments, unsigned long long first, unsigned long long last,
                       const Action& action) {
  for (unsigned long long i = first; i < last;) {
    const unsigned long long end = std::min(last, (i / arguments.width + 1) * arguments.width);
    for (unsigned long long word = lattice_word(arguments, i); i < end; ++i, word *= kAcross) action(i, word);
  }
}

}  // namespace byteways
