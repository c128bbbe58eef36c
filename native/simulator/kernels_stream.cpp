// The STREAM kernels as the simulated machine runs them, and those that prove them.
#include <algorithm>

#include "simulator/kernels.hpp"

namespace byteways::sim {
namespace {

double threads_of(const Shape& shape, Place executor) {
  return executor.kind == Place::Kind::cpu ? shape.blocks : static_cast<double>(shape.blocks) * shape.threads;
}

StreamOperation operation_of(std::string_view kernel) {
  if (kernel == "stream_copy") return kStreamCopy;
  if (kernel == "stream_scale") return kStreamScale;
  if (kernel == "stream_add") return kStreamAdd;
  if (kernel == "stream_triad") return kStreamTriad;
  throw Failure(Code::invalid, "the simulator plays no kernel '" + std::string(kernel) + "'");
}

}  // namespace

void Kernels::stream(Operation& operation, std::string_view kernel, const StreamArguments& arguments,
                     const Shape& shape, Place executor) {
  const StreamOperation wanted = operation_of(kernel);
  const bool two = wanted == kStreamAdd || wanted == kStreamTriad;
  const bool cores = executor.kind == Place::Kind::cpu;
  const Word operations = cores ? arguments.operations : 1, slots = std::max<Word>(1, arguments.slots);
  const Word first = arguments.first_operation;
  const std::uint64_t span = (slots - 1) * arguments.stride + arguments.bytes;
  const auto slot_of = [slots, arguments](const Range& all, Word k) {
    if (all.block == nullptr) return all;
    const Word begin = all.begin + k % slots * (arguments.stride / kWordBytes);
    return Range{all.block, begin, begin + arguments.bytes / kWordBytes};
  };
  Pass pass{executor, {}, {}, static_cast<double>(arguments.bytes) * static_cast<double>(operations)};
  pass.threads = threads_of(shape, executor);
  // Every slot has to be inside of the block, not only the one whose turn it is.
  const auto array = [&](const void* base, std::vector<Place>& places) {
    const Range all = memory_->range(base, span);
    const Range turn = slot_of(all, first);
    const Reach reached =
        reach(operation, executor, turn.block->data + turn.begin * kWordBytes, arguments.bytes);
    pass.part = std::min(pass.part, reached.part);
    places.push_back(reached.place);
    return all;
  };
  std::vector<Place> written;
  const Range a = array(arguments.first, pass.reads);
  const Range b = two ? array(arguments.second, pass.reads) : Range{};
  const Range to = array(arguments.destination, written);
  pass.write = written.front();
  if (cores && slots == 1) pass.cached_bytes = (two ? 3.0 : 2.0) * static_cast<double>(arguments.bytes);
  if (cores)
    operation.fixed += picoseconds(model_->cpu.begin_ns(shape.blocks) * static_cast<double>(operations));
  costs_->add(operation, pass);
  for (const Place& place : pass.reads)
    operation.never_ends = operation.never_ends || hangs(place, pass.write);
  const Word different = std::min(operations, slots);  // the others change nothing more
  operation.on_end = [=, this] {
    for (Word k = first + operations - different; k < first + operations; ++k) {
      for (const Place& place : pass.reads) devices_->count_moved(place, executor, arguments.bytes);
      devices_->count_moved(executor, pass.write, arguments.bytes);
      const Range into = slot_of(to, k), from = slot_of(a, k), and_from = slot_of(b, k);
      deliver(into, from, executor, [&] { memory_->stream(wanted, into, from, and_from); });
    }
  };
}

void Kernels::stream_pattern(Operation& operation, bool checks, const StreamPatternArguments& arguments,
                             const Shape& shape, Place executor) {
  if (checks) must_be_real(arguments.result);
  const std::uint64_t bytes = arguments.count * kWordBytes;
  const Reach reached = reach(operation, executor, arguments.words, bytes);
  const std::string_view interface = executor.kind == Place::Kind::cpu ? "core" : "kernel";
  costs_->add(operation, Transfer{interface, executor, checks ? reached.place : executor,
                                  checks ? executor : reached.place, static_cast<double>(bytes), 1,
                                  threads_of(shape, executor), 0, reached.part});
  const bool lost = lies(executor, reached.place);
  operation.on_end = [this, range = reached.range, arguments, checks, lost] {
    if (checks) {
      CheckResult found = memory_->check_doubles(range, arguments.operation, arguments.key,
                                                 arguments.second_key, arguments.first_index);
      if (lost) found = {arguments.count, 0, stream_word(pattern_word(arguments.key, 0)), 0};
      *arguments.result = found;
    } else if (!lost) {
      memory_->fill_doubles(range, arguments.key, arguments.first_index);
    }
  };
}

}  // namespace byteways::sim
