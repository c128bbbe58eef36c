// See kernels.hpp.
#include "simulator/machine/kernels.hpp"

#include <algorithm>
#include <utility>

#include "simulator/machine/streams.hpp"

namespace byteways::sim {
namespace {

// A function-local static, because registrations run in any order.
std::map<std::string_view, SimulatedKernel>& registered() {
  static std::map<std::string_view, SimulatedKernel> all;
  return all;
}

}  // namespace

const SimulatedKernel* find_simulated_kernel(std::string_view name) {
  const auto found = registered().find(name);
  return found == registered().end() ? nullptr : &found->second;
}

void register_simulated_kernel(std::string_view name, const SimulatedKernel& kernel) {
  registered()[name] = kernel;
}

Kernels::Kernels(const Model& model, const Faults& faults, Memory& memory, Costs& costs, Devices& devices,
                 Engine& engine, Streams& streams)
    : migrates(model.managed.kernels_migrate),
      model_(&model),
      faults_(&faults),
      memory_(&memory),
      costs_(&costs),
      devices_(&devices),
      engine_(&engine),
      streams_(&streams) {}

std::unique_ptr<Operation> Kernels::launch(std::string_view kernel, const Shape& shape, const void* arguments,
                                           std::size_t bytes, Place executor) {
  const SimulatedKernel* found = find_simulated_kernel(kernel);
  if (found == nullptr)
    throw Failure(Code::invalid, "the simulator plays no kernel '" + std::string(kernel) + "'");
  if (bytes != found->argument_bytes) throw Failure(Code::invalid, "an argument block of the wrong size");
  auto operation = std::make_unique<Operation>();
  found->play(*this, *operation, arguments, {shape, executor});
  operation->threads = static_cast<double>(shape.blocks) * shape.threads;
  return operation;
}

void Kernels::start_beside(Place from, Place to, std::unique_ptr<Operation> operation) {
  Engine::Queue*& queue = beside_[{name_of(from), name_of(to)}];
  if (queue == nullptr) queue = engine_->add_queue();
  operation->ready = engine_->now();
  streams_->vary(*operation);
  engine_->enqueue(*queue, std::move(operation));
}

bool Kernels::lies(Place executor, Place owner) const {
  return faults_->find(Fault::Kind::false_peer, name_of(executor), name_of(owner)) != nullptr;
}

bool Kernels::hangs(Place from, Place to) const {
  return faults_->any() && faults_->find(Fault::Kind::hang, name_of(from), name_of(to)) != nullptr;
}

Kernels::Reach Kernels::reach(Operation& operation, Place executor, const void* data, std::uint64_t bytes) {
  Reach reached{memory_->range(data, bytes), {}};
  Block& block = *reached.range.block;
  if (const std::string reason = devices_->barrier(executor, block); !reason.empty())
    throw Failure(Code::illegal_address, reason);
  const bool managed = is_managed(block.kind);
  if (!block.touched) touch(block, executor);
  // A core cannot access a GPU's memory over the bus, so pages it touches always migrate to it.
  const bool moves = executor.kind == Place::Kind::cpu || (migrates && !block.held);
  if (managed && moves) bring(operation, reached.range, executor, false);
  reached.place = place_of(block, reached.range.begin * kWordBytes);
  const bool away = !(costs_->memory_of(reached.place) == costs_->memory_of(executor));
  if (managed && away && model_->managed.remote_efficiency > 0)
    reached.part = model_->managed.remote_efficiency;
  if (!block.toucher) block.toucher = executor;
  if (executor.kind == Place::Kind::cpu && away) reached.part = std::min(reached.part, part_of_core(block));
  return reached;
}

double Kernels::part_of_core(const Block& block) const {
  const bool allocator = is_device(block.kind) || is_plain(block.kind) || block.kind == Kind::registered;
  const bool by_gpu = block.toucher && block.toucher->kind == Place::Kind::gpu;
  const double part = model_->cpu.gpu_touched_part;
  return allocator && by_gpu && part > 0 ? part : 1;
}

Slots Kernels::slots(const void* base, Word count, Word stride_bytes, std::uint64_t bytes) const {
  count = std::max<Word>(1, count);
  const Range all = memory_->range(base, (count - 1) * stride_bytes + bytes);
  const Range first{all.block, all.begin, all.begin + bytes / kWordBytes,
                    static_cast<unsigned>(bytes % kWordBytes)};
  return {first, count, stride_bytes / kWordBytes};
}

Place Kernels::reach_by_copy(Operation& operation, const Range& range, Place executor) {
  const bool moves = executor.kind == Place::Kind::gpu && migrates && !range.block->held;
  if (is_managed(range.block->kind) && moves) bring(operation, range, executor, false);
  return place_of(*range.block, range.begin * kWordBytes);
}

// Pages are first placed near the core that writes them, or near the GPU; managed ones then migrate, if they
// can. A GPU that shares its memory with cores has no other pages for managed memory either.
void Kernels::touch(Block& block, Place executor) {
  block.touched = true;
  if (executor.kind == Place::Kind::gpu) {
    if (is_managed(block.kind) && !model_->host_access) return;
    executor = {Place::Kind::cpu, model_->gpu.domains.at(static_cast<std::size_t>(executor.index))};
  }
  block.pages = {{0, executor}};
}

void Kernels::bring(Operation& operation, const Range& range, Place to, bool prefetch) {
  range.block->touched = true;
  // Pages migrate as a whole.
  const std::uint64_t begin = range.begin * kWordBytes / kPageBytes * kPageBytes;
  const std::uint64_t end = std::min<std::uint64_t>(
      range.block->bytes, (range.end_byte() + kPageBytes - 1) / kPageBytes * kPageBytes);
  const auto parts = bytes_by_place(*range.block, begin, end);
  const auto on_host = [](const auto& part) { return part.first.kind == Place::Kind::cpu; };
  // Cores can access any domain's pages: touching migrates only pages on a GPU.
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

void Kernels::move(const Range& to, const Range& from, Place executor) {
  const Place there = place_of(*to.block, to.begin * kWordBytes);
  const Place here = place_of(*from.block, from.begin * kWordBytes);
  devices_->count_moved(here, there, to.bytes());
  deliver(to, from, executor, [&] { memory_->copy(to, from); });
}

void Kernels::deliver(const Range& to, const Range& from, Place executor,
                      const std::function<void()>& write) {
  deliver(to, place_of(*from.block, from.begin * kWordBytes), executor, write);
}

void Kernels::deliver(const Range& to, Place here, Place executor, const std::function<void()>& write) {
  const Place there = place_of(*to.block, to.begin * kWordBytes);
  const std::string a = name_of(here), b = name_of(there);
  if (faults_->find(Fault::Kind::skip, a, b) != nullptr || lies(executor, there)) return;
  if (const Fault* fault = faults_->find(Fault::Kind::lapse, a, b))
    if (deliveries_++ == fault->number) return;
  if (lies(executor, here))
    memory_->poison(to, 0, 1);
  else
    write();
  if (faults_->find(Fault::Kind::overrun, a, b) != nullptr && to.end < to.block->bytes / kWordBytes)
    memory_->set(*to.block, to.end, ~Word{0});
  if (const Fault* fault = faults_->find(Fault::Kind::corrupt, a, b)) {
    if (to.bytes() == 0) return;
    const Word index = to.begin + fault->number % std::max<Word>(1, to.end - to.begin);
    memory_->set(*to.block, index, memory_->at(*to.block, index) ^ 1);
  }
}

bool Kernels::misreads(Place executor, Place owner) const {
  const std::string a = name_of(owner), b = name_of(executor);
  return lies(executor, owner) || faults_->find(Fault::Kind::skip, a, b) != nullptr ||
         faults_->find(Fault::Kind::corrupt, a, b) != nullptr;
}

void Kernels::move_rows(const Range& to, const Range& from, const RowsShape& shape, Place executor) {
  deliver(to, from, executor, [&] { memory_->copy_rows(to, from, shape); });
}

void Kernels::move_blocks(const Range& to, const Range& from, const BlockMove& move, Place executor) {
  std::uint64_t words = 0;
  for (const BlockPlace& place : *move.places) words += place.words;
  devices_->count_moved(place_of(*from.block, from.begin * kWordBytes),
                        place_of(*to.block, to.begin * kWordBytes), words * kWordBytes);
  deliver(to, from, executor, [&] { memory_->copy_blocks(to, from, move); });
}

double bytes_of_rows(const RowsShape& shape) {
  const Word line = kLineBytes / kWordBytes;
  const bool packed = shape.row_words == shape.pitch_words && shape.row_words == shape.source_pitch_words;
  const Word each = packed ? shape.row_words : (shape.row_words + line - 1) / line * line;
  return static_cast<double>(shape.rows * each * kWordBytes);
}

}  // namespace byteways::sim
