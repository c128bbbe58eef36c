// The host's 2D copy: pitched rows copied by memcpy, and their check.
#include <algorithm>
#include <cstring>

#include "interfaces/copy_2d/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {

namespace {

void memcpy_2d_kernel(const Copy2dArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.rows, 1, member);
  unsigned long long slot = arguments.first_operation % arguments.slots;
  for (unsigned long long operation = 0; operation < arguments.operations; ++operation) {
    const auto* source = static_cast<const std::byte*>(arguments.source) + slot * arguments.stride;
    auto* destination = static_cast<std::byte*>(arguments.destination) + slot * arguments.stride;
    for (unsigned long long row = share.begin; row < share.end; ++row)
      std::memcpy(destination + row * arguments.destination_pitch, source + row * arguments.source_pitch,
                  arguments.width_bytes);
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
    member.wait();  // an operation ends when all of its rows are written
  }
}

void check_2d_kernel(const Check2dArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, 1, member);
  CheckResult found{0, ~0ull, 0, 0};
  for (unsigned long long i = share.begin; i < share.end;) {
    const unsigned long long slot = i / arguments.slot_words, within = i % arguments.slot_words;
    const unsigned long long row = within / arguments.pitch_words, column = within % arguments.pitch_words;
    // To the end of the row, of the gap after it, or of the slot.
    const bool in_row = row < arguments.rows && column < arguments.row_words;
    const unsigned long long left = row >= arguments.rows ? arguments.slot_words - within
                                    : in_row              ? arguments.row_words - column
                                                          : arguments.pitch_words - column;
    const unsigned long long end = std::min({share.end, i + left, (slot + 1) * arguments.slot_words});
    const unsigned long long index =
        slot * arguments.slot_words + row * arguments.source_pitch_words + column - i;
    for (; i < end; ++i) {
      const unsigned long long expected = in_row ? pattern_word(arguments.key, index + i) : arguments.gap;
      if (arguments.words[i] == expected) continue;
      if (found.bad_count++ == 0) found = {1, i, expected, arguments.words[i]};
    }
  }
  report(*arguments.result, found, member);
}

const RegisterHostKernel<memcpy_2d_kernel> kMemcpy2d("memcpy_2d");
const RegisterHostKernel<check_2d_kernel> kCheck2d("check_2d");

}  // namespace
}  // namespace byteways
