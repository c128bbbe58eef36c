// Argument block of the empty kernel.
#pragma once

namespace byteways {

// "empty": ends at once. If it is given a word, it first stores `value` there, which proves that it ran.
struct EmptyArguments {
  unsigned long long* word;
  unsigned long long value;
};

}  // namespace byteways
