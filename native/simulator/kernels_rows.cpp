// Rows that lie a pitch apart, as the simulated machine copies and checks them. Memory and links move whole
// lines, so a narrow row costs a line.
#include <algorithm>

#include "simulator/kernels.hpp"

namespace byteways::sim {
namespace {

constexpr Word kLineBytes = 64;

}  // namespace

double bytes_of_rows(const RowsShape& shape) {
  const Word line = kLineBytes / kWordBytes;
  const bool packed = shape.row_words == shape.pitch_words && shape.row_words == shape.source_pitch_words;
  const Word each = packed ? shape.row_words : (shape.row_words + line - 1) / line * line;
  return static_cast<double>(shape.rows * each * kWordBytes);
}

void Kernels::move_rows(const Range& to, const Range& from, const RowsShape& shape, Place executor) {
  deliver(to, from, executor, [&] { memory_->copy_rows(to, from, shape); });
}

void Kernels::rows(Operation& operation, const RowsArguments& arguments, const Shape& shape, Place executor) {
  const bool cores = executor.kind == Place::Kind::cpu;
  const Word operations = cores ? arguments.operations : 1, slots = std::max<Word>(1, arguments.slots);
  const Word first = arguments.first_operation;
  const RowsShape rows{arguments.rows, arguments.width_bytes / kWordBytes,
                       arguments.destination_pitch / kWordBytes, arguments.source_pitch / kWordBytes};
  const auto side = [&](const void* base, Word pitch) {
    // Every slot has to be inside of the block, not only the one whose turn it is.
    const Range all = memory_->range(base, (slots - 1) * arguments.stride + arguments.rows * pitch);
    return [all, pitch, arguments, slots](Word k) {
      const Word begin = all.begin + k % slots * (arguments.stride / kWordBytes);
      return Range{all.block, begin, begin + arguments.rows * pitch / kWordBytes};
    };
  };
  const auto sources = side(arguments.source, arguments.source_pitch);
  const auto destinations = side(arguments.destination, arguments.destination_pitch);
  const auto reached = [&](const Range& range, Word pitch) {
    return reach(operation, executor, range.block->data + range.begin * kWordBytes, arguments.rows * pitch);
  };
  const Reach from = reached(sources(first), arguments.source_pitch);
  const Reach to = reached(destinations(first), arguments.destination_pitch);
  if (cores)
    operation.fixed += picoseconds(model_->cpu.begin_ns(shape.blocks) * static_cast<double>(operations));
  const double threads = cores ? shape.blocks : static_cast<double>(shape.blocks) * shape.threads;
  const double bytes = bytes_of_rows(rows) * static_cast<double>(operations);
  costs_->add(operation,
              Transfer{cores ? "core" : "kernel", executor, from.place, to.place, bytes, 2, threads,
                       cores && slots == 1 ? 2 * bytes / static_cast<double>(operations) : 0,
                       std::min(from.part, to.part)});
  operation.never_ends = hangs(from.place, to.place);
  const Word different = std::min(operations, slots);  // the others change nothing more
  operation.on_end = [=, this] {
    for (Word k = first + operations - different; k < first + operations; ++k) {
      devices_->count_moved(from.place, to.place, arguments.rows * arguments.width_bytes);
      move_rows(destinations(k), sources(k), rows, executor);
    }
  };
}

void Kernels::check_rows(Operation& operation, const RowsCheckArguments& arguments, const Shape& shape,
                         Place executor) {
  must_be_real(arguments.result);
  const RowsShape rows{arguments.rows, arguments.row_words, arguments.pitch_words,
                       arguments.source_pitch_words};
  const std::uint64_t bytes = arguments.count * kWordBytes;
  const Reach reached = reach(operation, executor, arguments.words, bytes);
  const bool cores = executor.kind == Place::Kind::cpu;
  const double threads = cores ? shape.blocks : static_cast<double>(shape.blocks) * shape.threads;
  costs_->add(operation, Transfer{cores ? "core" : "kernel", executor, reached.place, executor,
                                  static_cast<double>(bytes), 1, threads, 0, reached.part});
  const bool lost = lies(executor, reached.place);
  operation.on_end = [this, range = reached.range, arguments, rows, lost] {
    CheckResult found = memory_->check_rows(range, arguments.slot_words, rows, arguments.key, arguments.gap);
    if (lost) found = {arguments.count, 0, pattern_word(arguments.key, 0), 0};
    *arguments.result = found;
  };
}

}  // namespace byteways::sim
