// See kernels.hpp.
#include "simulator/kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace byteways::sim {
namespace {

constexpr double kLineBytes = 64;  // what a word costs that is touched alone

constexpr std::string_view kStreamPrefix = "stream_";

template <class Arguments>
Arguments read_arguments(const void* block, std::size_t bytes) {
  if (bytes != sizeof(Arguments)) throw Failure(Code::invalid, "an argument block of the wrong size");
  Arguments arguments;
  std::memcpy(&arguments, block, sizeof arguments);
  return arguments;
}

std::string_view interface_of(std::string_view kernel, Place executor) {
  if (executor.kind == Place::Kind::cpu) return kernel == "memcpy_stream" ? "stream" : "core";
  return kernel == "copy_bulk" ? "bulk" : "kernel";
}

// Threads, or what limits the interface in their place.
double threads_of(std::string_view kernel, const Shape& shape, Place executor) {
  const bool blocks = executor.kind == Place::Kind::cpu || kernel == "copy_bulk";
  return blocks ? shape.blocks : static_cast<double>(shape.blocks) * shape.threads;
}

// The slots that a copying kernel takes in turn.
struct Slots {
  Range first;
  Word count, stride_words;
  Range at(Word operation) const {
    const Word by = operation % count * stride_words;
    return {first.block, first.begin + by, first.end + by, first.rest_bytes};
  }
};

const std::byte* address_of(const Range& range) { return range.block->data + range.begin * kWordBytes; }

}  // namespace

Word chase_position(Word line, Word lines, Word key) {
  constexpr int kRounds = 3;
  const Word mask = lines - 1;
  unsigned half = 1;
  while ((Word{1} << (2 * half)) < lines) ++half;
  Word keys[kRounds];
  for (Word& each : keys) {
    each = key;
    key = key * 0xD1342543DE82EF95ull + 1;
  }
  Word x = line & mask;
  for (int round = kRounds; round-- > 0;) {
    x ^= x >> half;  // its own inverse: the shift is at least half of the width
    const Word factor = (keys[round] | 1) * 0x9E3779B97F4A7C15ull;
    x = ((x - (keys[round] >> 17) - static_cast<Word>(round)) * inverse_of_odd(factor)) & mask;
  }
  return x;
}

Kernels::Kernels(const Model& model, const Faults& faults, Memory& memory, Costs& costs, Devices& devices)
    : migrates(model.managed.kernels_migrate),
      model_(&model),
      faults_(&faults),
      memory_(&memory),
      costs_(&costs),
      devices_(&devices) {}

bool Kernels::lies(Place executor, Place owner) const {
  return faults_->find(Fault::Kind::false_peer, name_of(executor), name_of(owner)) != nullptr;
}

bool Kernels::hangs(Place from, Place to) const {
  return faults_->find(Fault::Kind::hang, name_of(from), name_of(to)) != nullptr;
}

Kernels::Reach Kernels::reach(Operation& operation, Place executor, const void* data, std::uint64_t bytes) {
  Reach reached{memory_->range(data, bytes), {}};
  Block& block = *reached.range.block;
  if (const std::string reason = devices_->barrier(executor, block); !reason.empty())
    throw Failure(Code::illegal_address, reason);
  const bool managed = is_managed(block.kind);
  if (!block.touched) touch(block, executor);
  // A core cannot reach a GPU's memory over the bus: what it touches there always comes to it.
  const bool moves = executor.kind == Place::Kind::cpu || (migrates && !block.held);
  if (managed && moves) bring(operation, reached.range, executor, false);
  reached.place = place_of(block, reached.range.begin * kWordBytes);
  const bool away = !(costs_->memory_of(reached.place) == costs_->memory_of(executor));
  if (managed && away && model_->managed.remote_efficiency > 0)
    reached.part = model_->managed.remote_efficiency;
  return reached;
}

Place Kernels::reach_by_copy(Operation& operation, const Range& range, Place executor) {
  const bool moves = executor.kind == Place::Kind::gpu && migrates && !range.block->held;
  if (is_managed(range.block->kind) && moves) bring(operation, range, executor, false);
  return place_of(*range.block, range.begin * kWordBytes);
}

// Pages come to be beside the core that writes them, or beside the GPU; managed ones move to it afterwards,
// where they move at all.
void Kernels::touch(Block& block, Place executor) {
  block.touched = true;
  if (executor.kind == Place::Kind::gpu) {
    if (is_managed(block.kind)) return;
    executor = {Place::Kind::cpu, model_->gpu.domains.at(static_cast<std::size_t>(executor.index))};
  }
  block.pages = {{0, executor}};
}

void Kernels::bring(Operation& operation, const Range& range, Place to, bool prefetch) {
  range.block->touched = true;
  // Pages move as a whole.
  const std::uint64_t begin = range.begin * kWordBytes / kPageBytes * kPageBytes;
  const std::uint64_t end = std::min<std::uint64_t>(
      range.block->bytes, (range.end_byte() + kPageBytes - 1) / kPageBytes * kPageBytes);
  const auto parts = bytes_by_place(*range.block, begin, end);
  const auto on_host = [](const auto& part) { return part.first.kind == Place::Kind::cpu; };
  // Cores reach the pages of any domain: only those of a GPU move by being touched.
  if (!prefetch && to.kind == Place::Kind::cpu && std::all_of(parts.begin(), parts.end(), on_host)) return;
  for (const auto& [place, bytes] : parts)
    if (!(costs_->memory_of(place) == costs_->memory_of(to))) {
      costs_->add_migration(operation, place, to, static_cast<double>(bytes), prefetch);
      devices_->count_moved(place, to, bytes);
    }
  move_pages_to(*range.block, begin, end, to);
}

void Kernels::must_be_real(const void* word) const {
  const Block* block = memory_->find(word);
  if (word == nullptr)
    throw Failure(Code::illegal_address, "a kernel was given no address for what it tells");
  if (block != nullptr && !block->real())
    throw Failure(Code::not_supported, "what a kernel waits for or tells is in a block of 1 MiB or more");
}

std::unique_ptr<Operation> Kernels::launch(std::string_view kernel, const Shape& shape, const void* arguments,
                                           std::size_t bytes, Place executor) {
  auto operation = std::make_unique<Operation>();
  if (kernel == "gate")
    gate(*operation, read_arguments<GateArguments>(arguments, bytes));
  else if (kernel == "occupy")
    occupy(*operation, read_arguments<OccupyArguments>(arguments, bytes), executor, shape.blocks);
  else if (kernel == "fill" || kernel == "poison" || kernel == "check")
    fill(*operation, kernel, read_arguments<PatternArguments>(arguments, bytes), shape, executor);
  else if (kernel == "copy" || kernel == "copy_bulk" || kernel == "memcpy" || kernel == "memcpy_stream")
    copy(*operation, kernel, read_arguments<CopyArguments>(arguments, bytes), shape, executor);
  else if (kernel == "stream_fill" || kernel == "stream_check")
    stream_pattern(*operation, kernel == "stream_check",
                   read_arguments<StreamPatternArguments>(arguments, bytes), shape, executor);
  else if (kernel.starts_with(kStreamPrefix))
    stream(*operation, kernel, read_arguments<StreamArguments>(arguments, bytes), shape, executor);
  else if (kernel == "copy_rows" || kernel == "memcpy_rows")
    rows(*operation, read_arguments<RowsArguments>(arguments, bytes), shape, executor);
  else if (kernel == "check_rows")
    check_rows(*operation, read_arguments<RowsCheckArguments>(arguments, bytes), shape, executor);
  else if (kernel == "chase_build")
    build_chase(*operation, read_arguments<ChaseArguments>(arguments, bytes), shape, executor);
  else if (kernel == "chase")
    chase(*operation, read_arguments<ChaseArguments>(arguments, bytes), executor);
  else if (kernel == "ping_pong")
    ping_pong(*operation, read_arguments<PingPongArguments>(arguments, bytes), executor);
  else if (kernel == "nothing")
    nothing(*operation, read_arguments<NothingArguments>(arguments, bytes), shape, executor);
  else if (kernel == "idle")
    idle(*operation, read_arguments<IdleArguments>(arguments, bytes), executor);
  else if (kernel == "compute")
    compute(*operation, read_arguments<ComputeArguments>(arguments, bytes), shape, executor);
  else
    throw Failure(Code::invalid, "the simulator plays no kernel '" + std::string(kernel) + "'");
  operation->threads = static_cast<double>(shape.blocks) * shape.threads;
  return operation;
}

void Kernels::gate(Operation& operation, const GateArguments& arguments) const {
  must_be_real(arguments.word);
  operation.latch = {arguments.word, arguments.target, -1};
}

// As long as a copy of no bytes: what a launch costs that follows another.
void Kernels::nothing(Operation& operation, const NothingArguments& arguments, const Shape& shape,
                      Place executor) {
  operation.fixed += picoseconds(costs_->launch_ns(executor, shape.blocks));
  if (executor.kind == Place::Kind::gpu) operation.processors = costs_->processors(executor.index);
  if (arguments.word == nullptr) return;
  const Reach reached = reach(operation, executor, arguments.word, kWordBytes);
  operation.on_end = [this, range = reached.range, value = arguments.value] {
    memory_->set(*range.block, range.begin, value);
  };
}

// Two operations that talk cannot be played one by one: the side that answers is noted and ends at once, the
// one that leads takes the time of both and leaves what both would have left.
void Kernels::ping_pong(Operation& operation, const PingPongArguments& arguments, Place executor) {
  must_be_real(arguments.rounds_done);
  const Reach writes = reach(operation, executor, arguments.writes, kWordBytes);
  const Reach polls = reach(operation, executor, arguments.polls, kWordBytes);
  if (arguments.leads == 0) {
    answering_[arguments.polls] = {executor, arguments};
    return;
  }
  const auto found = answering_.find(arguments.writes);
  const bool answered = found != answering_.end() && found->second.arguments.writes == arguments.polls &&
                        found->second.arguments.first == arguments.first &&
                        found->second.arguments.rounds == arguments.rounds;
  if (!answered) throw Failure(Code::invalid, "a ping-pong begins that nobody answers");
  const Answering other = found->second;
  answering_.erase(found);
  const double round_ns = costs_->hand_over_ns(executor, other.place, writes.place) +
                          costs_->hand_over_ns(other.place, executor, polls.place);
  operation.fixed += picoseconds(round_ns * static_cast<double>(arguments.rounds));
  operation.never_ends = hangs(executor, other.place) || hangs(other.place, executor);
  if (executor.kind == Place::Kind::gpu) operation.processors = costs_->processors(executor.index);
  operation.on_end = [this, arguments, answer = other.arguments, ours = writes.range, theirs = polls.range] {
    memory_->set(*ours.block, ours.begin, arguments.first + arguments.rounds);
    memory_->set(*theirs.block, theirs.begin, arguments.first + arguments.rounds);
    *arguments.rounds_done = *answer.rounds_done = arguments.rounds;
  };
}

void Kernels::occupy(Operation& operation, const OccupyArguments& arguments, Place executor,
                     unsigned blocks) {
  must_be_real(arguments.word);
  must_be_real(arguments.running);
  operation.latch = {arguments.word, arguments.target, -1};
  operation.processors = costs_->processors(executor.index);
  operation.all_processors = true;
  operation.on_start = [running = arguments.running, blocks] {
    std::atomic_ref<unsigned int>(*running).fetch_add(blocks);
  };
}

void Kernels::idle(Operation& operation, const IdleArguments& arguments, Place executor) const {
  operation.fixed += picoseconds(static_cast<double>(arguments.nanoseconds));
  if (executor.kind == Place::Kind::gpu) operation.processors = costs_->processors(executor.index);
}

void Kernels::compute(Operation& operation, const ComputeArguments& arguments, const Shape& shape,
                      Place executor) {
  const Reach reached = reach(operation, executor, arguments.words, arguments.count * kWordBytes);
  const bool on_gpu = executor.kind == Place::Kind::gpu;
  const Word items = on_gpu ? Word{shape.blocks} * shape.threads : shape.blocks;
  constexpr double kInstructionsPerStep = 2;
  const double steps = kInstructionsPerStep * kComputeChains * arguments.steps;
  operation.fixed += picoseconds(
      costs_->arithmetic_ns(executor, steps, static_cast<double>(items), static_cast<double>(shape.blocks)));
  if (on_gpu) operation.processors = costs_->processors(executor.index);
  const bool lost = lies(executor, reached.place);
  Range written = reached.range;
  written.end = written.begin + std::min(arguments.count, items);
  operation.on_end = [this, written, key = arguments.key, lost] {
    if (!lost) memory_->fill(written, key, 0, 1);
  };
}

void Kernels::fill(Operation& operation, std::string_view kernel, const PatternArguments& arguments,
                   const Shape& shape, Place executor) {
  const bool checks = kernel == "check";
  if (checks) must_be_real(arguments.result);
  const Reach reached = reach(operation, executor, arguments.words, arguments.count * kWordBytes);
  const auto touched = arguments.stride > 1
                           ? static_cast<double>(arguments.count / arguments.stride + 1) * kLineBytes
                           : static_cast<double>(arguments.count * kWordBytes);
  costs_->add(operation, {interface_of(kernel, executor), executor, checks ? reached.place : executor,
                          checks ? executor : reached.place, touched, 1, threads_of(kernel, shape, executor),
                          0, reached.part});
  const bool lost = lies(executor, reached.place);
  operation.on_end = [this, range = reached.range, arguments, checks, lost, writes = kernel == "fill"] {
    if (checks) {
      CheckResult found = arguments.mask != ~Word{0}
                              ? memory_->check_bits(range, arguments.key, arguments.first_index,
                                                    arguments.stride, arguments.mask, arguments.rest)
                              : memory_->check(range, arguments.key, arguments.first_index, arguments.stride);
      if (lost) found = {arguments.count, 0, pattern_word(arguments.key, arguments.first_index), 0};
      *arguments.result = found;
    } else if (lost) {
      return;
    } else if (writes) {
      memory_->fill(range, arguments.key, arguments.first_index, arguments.stride);
    } else {
      memory_->poison(range, arguments.key, arguments.stride);
    }
  };
}

void Kernels::move(const Range& to, const Range& from, Place executor) {
  const Place there = place_of(*to.block, to.begin * kWordBytes);
  const Place here = place_of(*from.block, from.begin * kWordBytes);
  devices_->count_moved(here, there, to.bytes());
  deliver(to, from, executor, [&] { memory_->copy(to, from); });
}

void Kernels::deliver(const Range& to, const Range& from, Place executor,
                      const std::function<void()>& write) {
  const Place there = place_of(*to.block, to.begin * kWordBytes);
  const Place here = place_of(*from.block, from.begin * kWordBytes);
  const std::string a = name_of(here), b = name_of(there);
  if (faults_->find(Fault::Kind::skip, a, b) != nullptr || lies(executor, there)) return;
  if (const Fault* fault = faults_->find(Fault::Kind::lapse, a, b))
    if (deliveries_++ == fault->number) return;
  if (lies(executor, here))
    memory_->poison(to, 0, 1);
  else
    write();
  if (const Fault* fault = faults_->find(Fault::Kind::corrupt, a, b)) {
    if (to.bytes() == 0) return;
    const Word index = to.begin + fault->number % std::max<Word>(1, to.end - to.begin);
    memory_->set(*to.block, index, memory_->at(*to.block, index) ^ 1);
  }
}

void Kernels::copy(Operation& operation, std::string_view kernel, const CopyArguments& arguments,
                   const Shape& shape, Place executor) {
  const bool cores = executor.kind == Place::Kind::cpu;
  const Word operations = cores ? arguments.operations : 1;
  const Word source_slots = std::max<Word>(1, arguments.source_slots);
  const Word destination_slots = std::max<Word>(1, arguments.destination_slots);
  // Every slot has to be inside of the block, not only the one whose turn it is.
  const auto slots_of = [this, &arguments](const void* base, Word count, Word stride) {
    const Range all = memory_->range(base, (count - 1) * stride + arguments.bytes);
    const Word end = all.begin + arguments.bytes / kWordBytes;
    const auto rest = static_cast<unsigned>(arguments.bytes % kWordBytes);
    return Slots{{all.block, all.begin, end, rest}, count, stride / kWordBytes};
  };
  const Slots sources = slots_of(arguments.source, source_slots, arguments.source_stride);
  const Slots destinations = slots_of(arguments.destination, destination_slots, arguments.destination_stride);
  const Word first = arguments.first_operation;
  const Reach from = reach(operation, executor, address_of(sources.at(first)), arguments.bytes);
  const Reach to = reach(operation, executor, address_of(destinations.at(first)), arguments.bytes);
  const bool warm = cores && source_slots == 1 && destination_slots == 1;
  // Operations that go through the same slots again change nothing more.
  const Word different = std::min(operations, std::max(source_slots, destination_slots));
  for (Word k = first + 1; k < first + different; ++k)
    for (const Slots* slots : {&sources, &destinations})
      reach(operation, executor, address_of(slots->at(k)), arguments.bytes);
  if (cores)
    operation.fixed += picoseconds(model_->cpu.begin_ns(shape.blocks) * static_cast<double>(operations));
  costs_->add(operation,
              {interface_of(kernel, executor), executor, from.place, to.place,
               static_cast<double>(arguments.bytes) * static_cast<double>(operations), 2,
               threads_of(kernel, shape, executor), warm ? 2.0 * static_cast<double>(arguments.bytes) : 0,
               std::min(from.part, to.part)});
  operation.never_ends = hangs(from.place, to.place);
  operation.on_end = [=, this] {
    for (Word k = first + operations - different; k < first + operations; ++k)
      move(destinations.at(k), sources.at(k), executor);
  };
}

void Kernels::build_chase(Operation& operation, const ChaseArguments& arguments, const Shape& shape,
                          Place executor) {
  const std::uint64_t bytes = arguments.lines * arguments.line_bytes;
  const Reach reached = reach(operation, executor, arguments.base, bytes);
  costs_->add(operation, {interface_of("fill", executor), executor, executor, reached.place,
                          static_cast<double>(arguments.lines) * kLineBytes, 1,
                          threads_of("fill", shape, executor), 0, reached.part});
  operation.on_end = [this, range = reached.range, arguments] {
    const Word words = arguments.line_bytes / kWordBytes;
    if (range.block->real())
      for (Word p = 0; p < arguments.lines; ++p) {
        const Word next = chase_line(p + 1, arguments.lines, arguments.key);
        memory_->set(*range.block, range.begin + chase_line(p, arguments.lines, arguments.key) * words,
                     reinterpret_cast<Word>(arguments.base) + next * arguments.line_bytes);
      }
    range.block->cycle =
        std::make_unique<Cycle>(Cycle{range.begin, arguments.lines, arguments.line_bytes, arguments.key});
  };
}

void Kernels::chase(Operation& operation, const ChaseArguments& arguments, Place executor) {
  must_be_real(arguments.end);
  const std::uint64_t bytes = arguments.lines * arguments.line_bytes;
  const Reach reached = reach(operation, executor, arguments.base, bytes);
  costs_->add_walk(operation, executor, reached.place, static_cast<double>(bytes),
                   static_cast<double>(arguments.steps));
  if (executor.kind == Place::Kind::gpu) operation.processors = costs_->processors(executor.index);
  const bool lost = lies(executor, reached.place);
  operation.never_ends = hangs(reached.place, executor);
  operation.on_end = [this, range = reached.range, arguments, lost] {
    const Cycle* cycle = range.block->cycle.get();
    const bool whole = cycle != nullptr && cycle->begin == range.begin && cycle->lines == arguments.lines &&
                       cycle->line_bytes == arguments.line_bytes && !lost;
    const Word position = whole ? chase_position(arguments.start, cycle->lines, cycle->key) : 0;
    *arguments.end = whole ? chase_line(position + arguments.steps, cycle->lines, cycle->key) : ~Word{0};
  };
}

}  // namespace byteways::sim
