// Argument blocks of the kernels that serve every measurement: gate, data, occupation and pauses.
#pragma once
#include "interfaces/device/data_pattern.hpp"

namespace byteways {

// "gate": waits until *word >= target (unsigned compare), with system-scope acquire.
struct GateArguments {
  const unsigned int* word;
  unsigned int target;
};

// "fill", "poison" and "check" over 64-bit words. Word i of a buffer filled with `key` is
// pattern_word(key, i). Touched are words[0], words[stride], … below words[count]; words[j] is pattern word
// first_index + j.
struct PatternArguments {
  unsigned long long* words;
  unsigned long long count;        // words spanned, touched or not
  unsigned long long key;          // fill, check: the key; poison: the value stored
  unsigned long long first_index;  // index of words[0] in the pattern
  unsigned long long stride;       // 1: every word; n: every n-th word (spot poisoning)
  CheckResult* result;             // check only, in memory the executing device can write
  // check with a stride: the bits of each word that are the pattern's, and what the others must be.
  unsigned long long mask = ~0ull, rest = 0;
};

// "occupy": every block spins until *word >= target; grid and shared memory are chosen to leave no room for
// another block, so that whatever completes meanwhile was not done by the multiprocessors.
struct OccupyArguments {
  const unsigned int* word;
  unsigned int target;
  unsigned int* running;  // incremented once by every block that has started
};

// "idle": nothing happens for so long; the pause between the operations of a flow that only loads a link.
struct IdleArguments {
  unsigned long long nanoseconds;
};

}  // namespace byteways
