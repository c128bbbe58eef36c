// The simulated machine's queues: streams, events, enqueued work and graphs. See world.hpp.
#include "simulator/engine/thread_state.hpp"
#include "simulator/machine/world.hpp"

namespace byteways::sim {
namespace {

bool ends_at(const void* begin, std::uint64_t bytes, const void* end) {
  return static_cast<const std::byte*>(begin) + bytes == end;
}

// Threads that a multiprocessor holds (CUDA C++ programming guide, technical specifications; CDNA).
constexpr double kResidentThreads = 2048;

// Whether an engine or the runtime's own kernel copies: the rules of ROCm's clr.
bool by_engine(Place from, Place to, std::uint64_t bytes, bool opened, const CopyPolicy& policy) {
  if (!policy.engines || from == to) return false;
  if (policy.engine >= 0) return true;
  const bool host = from.kind == Place::Kind::cpu || to.kind == Place::Kind::cpu;
  if (host) return bytes > policy.blit_host_up_to_bytes;
  const bool blits = !opened || policy.blit_opened;
  return policy.peer_engines && (!blits || bytes > policy.blit_peer_up_to_bytes);
}

}  // namespace

void World::synchronize_device(int gpu) {
  Lock lock = enter(model_.calls.synchronize_ns);
  devices_.check(gpu_place(gpu));
  wait_for_all(lock);
  settle_pool(lock, gpu);
}

Stream* World::create_stream(Place place) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  return streams_.make(place);
}

Stream* World::default_stream(int gpu) {
  const std::lock_guard lock(mutex_);
  return streams_.default_of(gpu);
}

Stream* World::stream_of_thread(int gpu) {
  const std::lock_guard lock(mutex_);
  return streams_.of_thread(gpu);
}

void World::destroy(Stream* stream) {
  Lock lock = enter(model_.calls.enqueue_ns);
  time_.wait_until(
      lock, {[stream] { return stream->idle(); }, [&] { return "a stream of " + name_of(stream->place); }});
  streams_.destroy(stream);
}

Event* World::create_event(Place place) {
  const std::lock_guard lock(mutex_);
  return streams_.make_event(place);
}

void World::destroy(Event* event) {
  const std::lock_guard lock(mutex_);
  streams_.destroy(event);
}

void World::record(Event* event, Stream* stream) {
  Lock lock = enter(model_.calls.enqueue_ns);
  auto operation = std::make_unique<Operation>();
  operation->mark = event->mark = std::make_shared<Mark>();
  operation->fixed = picoseconds(stream->place.kind == Place::Kind::gpu ? model_.calls.event_ns : 0);
  streams_.submit(lock, *stream, std::move(operation), false);
}

void World::wait(Stream* stream, Event* event) {
  Lock lock = enter(model_.calls.enqueue_ns);
  devices_.check(stream->place);
  if (event->mark == nullptr) return;
  auto operation = std::make_unique<Operation>();
  operation->after = event->mark;
  streams_.submit(lock, *stream, std::move(operation), false);
}

void World::copy(void* destination, const void* source, std::uint64_t bytes, Stream* stream,
                 const CopyPolicy& policy) {
  Lock lock = enter(model_.calls.enqueue_ns);
  if (engine_.idle()) memory_.drop_borrowed();
  Graphs::perform(lock, stream, [=, this](Lock& held, Stream* on) {
    const Place executor = on->place;
    const Range to = range_of_copy(destination, bytes, executor);
    const Range from = range_of_copy(source, bytes, executor);
    submit_copy(held, to, from, static_cast<double>(bytes), on, policy,
                [=, this] { kernels_.move(to, from, executor); });
  });
}

void World::copy_batch(const std::vector<Piece>& pieces, Stream* stream, const CopyPolicy& policy) {
  Lock lock = enter(model_.calls.enqueue_ns);
  const Place executor = stream->place;
  const Piece* before = nullptr;
  for (const Piece& piece : pieces) {
    const Range to = range_of_copy(piece.destination, piece.bytes, executor);
    const Range from = range_of_copy(piece.source, piece.bytes, executor);
    CopyPolicy following = policy;
    following.follows = before != nullptr;
    following.adjoins = before != nullptr && ends_at(before->destination, before->bytes, piece.destination) &&
                        ends_at(before->source, before->bytes, piece.source);
    before = &piece;
    submit_copy(lock, to, from, static_cast<double>(piece.bytes), stream, following,
                [=, this] { kernels_.move(to, from, executor); });
  }
}

void World::begin_recording(Stream* stream) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  Graphs::begin(*stream);
}

Graph* World::end_recording(Stream* stream) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  return graphs_.end(*stream);
}

Graph* World::copy_of(Graph* graph) {
  const Lock lock = enter(model_.calls.enqueue_ns);
  return graphs_.copy_of(graph);
}

void World::launch(Graph* graph, Stream* stream) {
  Lock lock = enter(model_.calls.enqueue_ns);
  devices_.check(stream->place);
  graphs_.play(lock, graph, stream);
}

void World::destroy(Graph* graph) {
  const std::lock_guard lock(mutex_);
  time_.catch_up();
  graphs_.destroy(graph);
}

void World::copy_rows(void* destination, std::uint64_t destination_pitch, const void* source,
                      std::uint64_t source_pitch, std::uint64_t width_bytes, std::uint64_t rows,
                      Stream* stream, const CopyPolicy& policy) {
  Lock lock = enter(model_.calls.enqueue_ns);
  if (width_bytes == 0 || rows == 0 || destination_pitch < width_bytes || source_pitch < width_bytes ||
      (width_bytes | source_pitch | destination_pitch) % kWordBytes != 0)
    throw Failure(Code::invalid, "rows that overlap, are empty, or are not made of whole words");
  const Place executor = stream->place;
  const Range to = range_of_copy(destination, rows * destination_pitch, executor);
  const Range from = range_of_copy(source, rows * source_pitch, executor);
  const RowsShape shape{rows, width_bytes / kWordBytes, destination_pitch / kWordBytes,
                        source_pitch / kWordBytes};
  submit_copy(lock, to, from, bytes_of_rows(shape), stream, policy, [=, this] {
    devices_.count_moved(place_of(*from.block, from.begin * kWordBytes),
                         place_of(*to.block, to.begin * kWordBytes), rows * width_bytes);
    kernels_.move_rows(to, from, shape, executor);
  });
}

void World::fill(void* data, unsigned char value, std::uint64_t bytes, Stream* stream) {
  Lock lock = enter(model_.calls.enqueue_ns);
  const Place executor = stream->place;
  const Range to = range_of_call(data, bytes);
  require_known_memory(to);
  auto operation = std::make_unique<Operation>();
  const Kernels::Reach reached = kernels_.reach(*operation, executor, to);
  const double threads = static_cast<double>(model_.gpu.multiprocessors) * kResidentThreads;
  costs_.add(*operation, {Mechanism::kernel, executor, executor, reached.place, static_cast<double>(bytes), 1,
                          threads, 0, reached.part});
  operation->never_ends = kernels_.hangs(executor, reached.place);
  operation->on_end = [=, this, place = reached.place] {
    devices_.count_moved(executor, place, bytes);
    kernels_.deliver(to, executor, executor, [&] { memory_.poison(to, 0x0101010101010101ull * value, 1); });
  };
  streams_.submit(lock, *stream, std::move(operation), true);
}

void World::prefetch(void* data, std::uint64_t bytes, Place to, Stream* stream) {
  Lock lock = enter(model_.calls.enqueue_ns);
  const Range range = range_of_call(data, bytes);
  if (!is_managed(range.block->kind)) throw Failure(Code::invalid, "only managed memory can be prefetched");
  const Place from = place_of(*range.block, range.begin * kWordBytes);
  auto operation = std::make_unique<Operation>();
  if (faults_.find(Fault::Kind::skip, name_of(from), name_of(to)) != nullptr) {
    operation->fixed = picoseconds(model_.managed.prefetch_ns);
  } else {
    kernels_.bring(*operation, range, to, true);
    note_prefetch(*range.block, range.begin * kWordBytes, range.end_byte(), to);
  }
  operation->never_ends = kernels_.hangs(from, to);
  streams_.submit(lock, *stream, std::move(operation), true);
}

void World::launch(std::string_view kernel, const Shape& shape, const void* arguments, std::size_t bytes,
                   Stream* stream) {
  Lock lock = enter(model_.calls.enqueue_ns);
  devices_.check(stream->place);
  const auto* first = static_cast<const std::byte*>(arguments);
  if (stream->recording == nullptr) return launch_now(lock, kernel, shape, first, bytes, stream);
  const std::vector<std::byte> kept(first, first + bytes);
  Graphs::perform(lock, stream, [=, name = std::string(kernel), this](Lock& held, Stream* on) {
    launch_now(held, name, shape, kept.data(), bytes, on);
  });
}

bool World::finished(Event* event) {
  const Lock lock = enter(model_.calls.query_ns);
  devices_.check(event->place);
  time_.catch_up();
  return event->mark == nullptr || event->mark->done();
}

bool World::finished(Stream* stream) {
  const Lock lock = enter(model_.calls.query_ns);
  devices_.check(stream->place);
  time_.catch_up();
  return stream->idle();
}

void World::synchronize(Event* event) {
  Lock lock = enter(model_.calls.synchronize_ns);
  devices_.check(event->place);
  const std::shared_ptr<Mark> mark = event->mark;
  if (mark != nullptr)
    time_.wait_until(
        lock, {[&mark] { return mark->done(); }, [&] { return "an event of " + name_of(event->place); }});
}

void World::synchronize(Stream* stream) {
  Lock lock = enter(model_.calls.synchronize_ns);
  devices_.check(stream->place);
  time_.wait_until(
      lock, {[stream] { return stream->idle(); }, [&] { return "a stream of " + name_of(stream->place); }});
  if (stream->place.kind == Place::Kind::gpu) settle_pool(lock, stream->place.index);
}

double World::elapsed_ns(Event* begin, Event* end) {
  const std::lock_guard lock(mutex_);
  devices_.check(begin->place);
  if (begin->mark == nullptr || end->mark == nullptr || !begin->mark->done() || !end->mark->done())
    throw Failure(Code::invalid, "an event has not happened");
  return static_cast<double>(end->mark->time - begin->mark->time) / 1000;
}

void World::launch_now(Lock& lock, std::string_view kernel, const Shape& shape, const std::byte* arguments,
                       std::size_t bytes, Stream* stream) {
  try {
    streams_.submit(lock, *stream, kernels_.launch(kernel, shape, arguments, bytes, stream->place), true);
  } catch (const Failure& failure) {
    if (failure.code() == Code::illegal_address) devices_.fail(stream->place, failure);
    throw;
  }
}

// HIP of ROCm 6.2.1 on MI300A (Schieffer et al., arXiv:2508.11298, Section 4.1.2); elsewhere HIP and CUDA
// stage copies of such memory.
void World::require_known_memory(const Range& range) const {
  if (is_plain(range.block->kind) && model_.host_access && model_.vendor == "amd")
    throw Failure(Code::invalid, "the runtime neither allocated nor registered this memory");
}

void World::submit_copy(Lock& lock, const Range& to, const Range& from, double bytes, Stream* stream,
                        const CopyPolicy& policy, std::function<void()> effect) {
  auto operation = std::make_unique<Operation>();
  const Place source = place_of(*from.block, from.begin * kWordBytes);
  const bool by_source = model_.managed.source_copies && source.kind == Place::Kind::gpu;
  const Place toucher = by_source ? source : stream->place;
  const Place there = kernels_.reach_by_copy(*operation, to, toucher);
  const Place here = kernels_.reach_by_copy(*operation, from, toucher);
  const Place executor = by_source && here == there ? source : stream->place;
  const bool both_host = here.kind == Place::Kind::cpu && there.kind == Place::Kind::cpu;
  const bool plain = is_plain(from.block->kind) || is_plain(to.block->kind);
  for (const Range& end : {from, to}) require_known_memory(end);
  const bool staged = both_host || plain;
  bool blit = false;
  const bool early = staged && here.kind == Place::Kind::cpu &&
                     faults_.find(Fault::Kind::early_return, name_of(here), name_of(there)) != nullptr;
  if (early) {  // the call fills the driver's internal buffer, and an engine empties it later
    costs_.add_staged(*operation, executor, true, here, bytes);
    time_.enter(lock, static_cast<double>(operation->fixed) / 1e3 + bytes / operation->flow.cap * 1e9);
    operation = std::make_unique<Operation>();
    costs_.add(*operation, {Mechanism::engine, executor, here, there, bytes});
  } else if (staged) {
    const bool to_gpu = here.kind == Place::Kind::cpu;
    costs_.add_staged(*operation, executor, to_gpu, to_gpu ? here : there, bytes);
  } else {
    const int process = process_of_caller();
    const bool opened = to.block->opened_by.contains(process) || from.block->opened_by.contains(process);
    const bool engine = by_engine(here, there, static_cast<std::uint64_t>(bytes), opened, policy);
    blit = !engine;
    Transfer transfer{engine ? Mechanism::engine : Mechanism::blit, executor, here, there, bytes};
    transfer.engine = policy.engine;
    costs_.add(*operation, transfer);
    const bool peers = here.kind == Place::Kind::gpu && there.kind == Place::Kind::gpu;
    if (engine && policy.follows && peers && model_.calls.batches_overlap)
      operation->fixed = policy.adjoins ? 0 : picoseconds(model_.calls.batch_peer_ns);
    if (engine && policy.follows && !peers && model_.calls.batch_host_ns > 0)
      operation->fixed = picoseconds(model_.calls.batch_host_ns);
  }
  operation->never_ends = kernels_.hangs(here, there);
  operation->on_end = std::move(effect);
  if (observer_ != nullptr) observe_copy(*operation, to, from, bytes, blit);
  streams_.submit(lock, *stream, std::move(operation), true);
  if (staged && !early)
    time_.wait_until(
        lock, {[stream] { return stream->idle(); }, [&] { return "a stream of " + name_of(stream->place); }});
}

void World::observe_copy(Operation& operation, const Range& to, const Range& from, double bytes,
                         bool by_kernel) {
  const auto address = [](const Range& range) { return range.block->data + range.begin * kWordBytes; };
  const auto place = [](const Range& range) { return place_of(*range.block, range.begin * kWordBytes); };
  Observer::Copy copy{place(from),
                      place(to),
                      address(from),
                      address(to),
                      static_cast<std::uint64_t>(bytes),
                      by_kernel,
                      observer_->call(),
                      0,
                      0};
  const auto start = std::make_shared<Picoseconds>(0);
  operation.on_start = [this, start, before = std::move(operation.on_start)] {
    if (before) before();
    *start = engine_.now();
  };
  operation.on_end = [this, start, copy, before = std::move(operation.on_end)]() mutable {
    if (before) before();
    copy.start_ns = *start / 1000;
    copy.end_ns = engine_.now() / 1000;
    observer_->ended_copy(copy);
  };
}

}  // namespace byteways::sim
