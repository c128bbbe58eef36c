// The host's twins of the kernels in kernels/rows.cu: rows that lie a pitch apart, copied by memcpy, and
// their check.
#include <algorithm>
#include <cstring>

#include "interfaces/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {

void memcpy_rows_kernel(const void* block, const TeamMember& member) {
  const auto& arguments = *static_cast<const RowsArguments*>(block);
  const Share share = share_of(arguments.rows, 1, member);
  unsigned long long slot = arguments.first_operation % arguments.slots;
  for (unsigned long long operation = 0; operation < arguments.operations; ++operation) {
    const auto* source = static_cast<const std::byte*>(arguments.source) + slot * arguments.stride;
    auto* destination = static_cast<std::byte*>(arguments.destination) + slot * arguments.stride;
    for (unsigned long long row = share.begin; row < share.end; ++row)
      std::memcpy(destination + row * arguments.destination_pitch, source + row * arguments.source_pitch,
                  arguments.width_bytes);
    slot = slot + 1 == arguments.slots ? 0 : slot + 1;
    member.wait();  // an operation is over when all of its rows are there
  }
}

void check_rows_kernel(const void* block, const TeamMember& member) {
  const auto& arguments = *static_cast<const RowsCheckArguments*>(block);
  const Share share = share_of(arguments.count, 1, member);
  CheckResult found{0, ~0ull, 0, 0};
  for (unsigned long long i = share.begin; i < share.end;) {
    const unsigned long long slot = i / arguments.slot_words, within = i % arguments.slot_words;
    const unsigned long long row = within / arguments.pitch_words, column = within % arguments.pitch_words;
    // To the end of the row, of the gap behind it, or of what is left of the slot.
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

}  // namespace byteways
