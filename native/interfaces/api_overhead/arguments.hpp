// Argument block of the empty kernel.
#pragma once

namespace byteways {

// "empty": ends at once. With a word it leaves `value` there first, which proves that it ran.
struct EmptyArguments {
  unsigned long long* word;
  unsigned long long value;
};

}  // namespace byteways
