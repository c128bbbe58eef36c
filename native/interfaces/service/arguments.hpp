// Argument blocks of the kernels that all measurements use: gate, data pattern, occupation, pauses.
#pragma once
#include "interfaces/device/data_pattern.hpp"

namespace byteways {

// "gate": waits until *word >= target (unsigned compare), with system-scope acquire.
struct GateArguments {
  const unsigned int* word;
  unsigned int target;
};

// "fill", "poison" and "check" over 64-bit words. Word i of a buffer filled with `key` is pattern_word(key,
// i). Only words[0], words[stride], … below words[count] are accessed; words[j] is pattern word first_index +
// j.
struct PatternArguments {
  unsigned long long* words;
  unsigned long long count;        // words in the range, accessed or not
  unsigned long long key;          // fill, check: the key; poison: the value stored
  unsigned long long first_index;  // index of words[0] in the pattern
  unsigned long long stride;       // 1: every word; n: every n-th word (spot poisoning)
  CheckResult* result;             // check only, in memory the executing device can write
  // Check with a stride: the bits of each word that belong to the pattern, and the required value of the
  // others.
  unsigned long long mask = ~0ull, rest = 0;
  // Check: words are a PatternSum, whose first key is `key`.
  unsigned long long key_step = 0, factor = 1, own_key = 0, own_factor = 0;
  unsigned int terms = 1;
};

BYTEWAYS_HOST_DEVICE inline PatternSum sum_of(const PatternArguments& arguments) {
  return {arguments.key,    arguments.key_step, arguments.terms,
          arguments.factor, arguments.own_key,  arguments.own_factor};
}

// "occupy": every block spins until *word >= target. Grid and shared memory leave no room for another block,
// so an operation that completes meanwhile was not executed by the multiprocessors.
struct OccupyArguments {
  const unsigned int* word;
  unsigned int target;
  unsigned int* running;  // incremented once by every block that has started
};

// "idle": waits for the given time. It is the pause between operations of a background flow.
struct IdleArguments {
  unsigned long long nanoseconds;
};

}  // namespace byteways
