// See world.hpp. This file is the front: it takes the mutex, charges the call and puts the parts together.
#include "simulator/world.hpp"

#include <mutex>
#include <stdexcept>

#include "simulator/costs.hpp"
#include "simulator/devices.hpp"
#include "simulator/engine.hpp"
#include "simulator/faults.hpp"
#include "simulator/having.hpp"
#include "simulator/holdings.hpp"
#include "simulator/kernels.hpp"
#include "simulator/memory.hpp"
#include "simulator/streams.hpp"
#include "simulator/timeline.hpp"

namespace byteways::sim {
namespace {

Place gpu_place(int gpu) { return {Place::Kind::gpu, gpu}; }

class SimulatedWorld final : public World {
 public:
  explicit SimulatedWorld(std::string_view sheet)
      : sheet_(sheet),
        model_(Model::from_sheet(sheet)),
        faults_(model_),
        time_(engine_),
        costs_(model_, faults_, engine_),
        holdings_(model_, faults_, costs_),
        having_(model_),
        devices_(model_, faults_, costs_, holdings_),
        streams_(model_, faults_, engine_, time_, devices_),
        kernels_(model_, faults_, memory_, costs_, devices_) {}

  const std::string& sheet() const { return sheet_; }
  const Model& model() const override { return model_; }

  void configure(const Settings& settings) override {
    const std::lock_guard lock(mutex_);
    if (settings.hardware_queues > 0) streams_.set_hardware_queues(settings.hardware_queues);
    if (!settings.retry_faults) kernels_.migrates = devices_.pageable_access = false;
  }

  // --- time

  std::int64_t now_ns() override {
    Lock lock = enter(model_.calls.clock_ns);
    time_.catch_up();
    return time_.now() / 1000;
  }

  std::uint64_t start_timer(std::int64_t delay_ns, std::function<void()> action) override {
    const std::lock_guard lock(mutex_);
    return time_.start_timer(delay_ns, std::move(action));
  }

  void cancel_timer(std::uint64_t ticket) override {
    Lock lock(mutex_);
    time_.cancel_timer(lock, ticket);
  }

  // --- memory

  void* allocate(Place owner, Kind kind, std::uint64_t bytes) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    if (bytes == 0) throw Failure(Code::invalid, "a block of 0 bytes was asked for");
    devices_.check(owner);
    if (kind == Kind::pool) {
      const std::uint64_t fresh = holdings_.take_from_pool(owner.index, bytes);
      if (fresh > 0) time_.enter(lock, having_.allocate_ns(kind, fresh));
    } else {
      holdings_.take(owner, bytes);
      time_.enter(lock, having_.allocate_ns(kind, bytes));
    }
    Block& block = memory_.allocate(owner, kind, bytes);
    block.touched = !is_managed(kind);
    return block.data;
  }

  void release(void* data) override {
    Lock lock(mutex_);
    devices_.check(known(data).owner);
    wait_for_all(lock);
    const Block& block = known(data);
    if (block.physical != 0) throw Failure(Code::invalid, "something is still mapped there");
    const Place owner = block.owner;
    const Kind kind = block.kind;
    const std::uint64_t bytes = block.bytes;
    const bool touched = block.touched;
    memory_.release(data);
    std::uint64_t given = bytes;
    if (kind == Kind::pool)
      given = holdings_.give_to_pool(owner.index, bytes);
    else if (kind != Kind::vmm)
      holdings_.give_back(owner, bytes);
    if (kind != Kind::vmm && given > 0) time_.enter(lock, having_.free_ns(kind, given, touched));
  }

  void set_kind(void* data, Kind kind) override {
    Lock lock(mutex_);
    Block& block = known(data);
    if (kind == Kind::registered && block.kind != Kind::registered) {
      time_.enter(lock, having_.lock_ns(block.bytes, block.kind, block.touched));
      block.touched = true;
    } else if (block.kind == Kind::registered) {
      time_.enter(lock, having_.unlock_ns(block.bytes));
    }
    known(data).kind = kind;
  }
  Kind kind_of(const void* data) override {
    const std::lock_guard lock(mutex_);
    return known(data).kind;
  }
  Place owner_of(const void* data) override {
    const std::lock_guard lock(mutex_);
    Block& block = known(data);
    return place_of(block, static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - block.data));
  }

  std::map<int, std::uint64_t> placement(const void* data, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    const Block& block = known(data);
    if (!block.touched) return {};
    const auto first = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - block.data);
    std::map<int, std::uint64_t> pages;
    for (const auto& [place, held] : bytes_by_place(block, first, first + bytes))
      if (place.kind == Place::Kind::cpu) pages[place.index] = (held + kPageBytes - 1) / kPageBytes;
    return pages;
  }

  std::optional<Place> last_prefetch(const void* data, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    const Range range = range_of_call(data, bytes);
    if (!is_managed(range.block->kind)) throw Failure(Code::invalid, "only managed memory is prefetched");
    return sim::last_prefetch(*range.block, range.begin * kWordBytes, range.end_byte());
  }

  void hold(const void* data, bool hold) override {
    const std::lock_guard lock(mutex_);
    Block& block = known(data);
    if (!is_managed(block.kind)) throw Failure(Code::invalid, "only managed memory takes advice");
    block.held = hold;
  }

  std::uint64_t free_bytes(Place place) override {
    const std::lock_guard lock(mutex_);
    devices_.check(place);
    return holdings_.free_at(place);
  }

  void leave_to_first_touch(void* data) override {
    const std::lock_guard lock(mutex_);
    known(data).touched = false;
  }

  void touch(void* data, std::uint64_t bytes, Place by) override {
    Lock lock(mutex_);
    Block& block = known(data);
    if (block.touched) return;
    block.touched = true;
    if (!is_device(block.kind)) block.pages = {{0, by}};
    time_.enter(lock, having_.touch_ns(block.kind, bytes));
  }

  bool can_access_peer(int gpu, int peer) override {
    const std::lock_guard lock(mutex_);
    devices_.check(gpu_place(gpu));
    return devices_.linked(gpu, peer);
  }

  void enable_peer(int gpu, int peer) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    devices_.check(gpu_place(gpu));
    devices_.enable_peer(gpu, peer);
    time_.enter(lock, having_.open_ns(holdings_.used_at(gpu_place(peer))));
  }
  void disable_peer(int gpu, int peer) override {
    const Lock lock = enter(model_.calls.enqueue_ns);
    devices_.disable_peer(gpu, peer);
  }

  // --- memory that is opened to each GPU apart

  void open_pool(int owner, int gpu, bool open) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    require_link(owner, gpu);
    holdings_.open_pool(owner, gpu, open);
    if (open) time_.enter(lock, having_.open_ns(holdings_.used_at(gpu_place(owner))));
  }
  void set_pool_threshold(int owner, std::uint64_t bytes) override {
    const std::lock_guard lock(mutex_);
    holdings_.set_pool_threshold(owner, bytes);
  }
  void trim_pool(int owner, std::uint64_t keep) override {
    const std::lock_guard lock(mutex_);
    holdings_.trim_pool(owner, keep);
  }

  std::uint64_t create_physical(int gpu, std::uint64_t bytes) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    devices_.check(gpu_place(gpu));
    time_.enter(lock, having_.allocate_ns(Kind::vmm, bytes));
    return holdings_.create_physical(gpu_place(gpu), bytes);
  }
  void release_physical(std::uint64_t number) override {
    const std::lock_guard lock(mutex_);
    holdings_.drop_physical(number);
  }
  void* reserve(std::uint64_t bytes) override {
    const Lock lock = enter(model_.calls.enqueue_ns);
    return memory_.allocate(gpu_place(0), Kind::vmm, bytes).data;
  }
  void map(void* data, std::uint64_t bytes, std::uint64_t number) override {
    const Lock lock = enter(model_.calls.enqueue_ns);
    Block& block = known(data);
    if (block.kind != Kind::vmm || block.data != data || block.bytes != bytes || block.physical != 0)
      throw Failure(Code::invalid, "memory is mapped to the whole of addresses that were reserved for it");
    const Holdings::Physical& physical = holdings_.use_physical(number);
    block.physical = number;
    block.owner = physical.owner;
    block.pages = {{0, physical.owner}};
  }
  void unmap(void* data) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    wait_for_all(lock);
    Block& block = known(data);
    time_.enter(lock, having_.free_ns(Kind::vmm, block.bytes, true));
    holdings_.drop_physical(block.physical);
    block.physical = 0;
    block.open_to.clear();
  }
  void open_mapping(void* data, int gpu, bool open) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    Block& block = known(data);
    if (block.physical == 0) throw Failure(Code::invalid, "nothing is mapped there");
    if (open) time_.enter(lock, having_.open_ns(block.bytes));
    require_link(block.owner.index, gpu);
    if (open)
      block.open_to.insert(gpu);
    else
      block.open_to.erase(gpu);
  }
  void synchronize_device(int gpu) override {
    Lock lock = enter(model_.calls.synchronize_ns);
    devices_.check(gpu_place(gpu));
    wait_for_all(lock);
  }

  // --- queues

  Stream* create_stream(Place place) override {
    const Lock lock = enter(model_.calls.enqueue_ns);
    return streams_.make(place);
  }

  Stream* default_stream(int gpu) override {
    const std::lock_guard lock(mutex_);
    return streams_.default_of(gpu);
  }

  void destroy(Stream* stream) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    time_.wait_until(lock, [stream] { return stream->idle(); });
    streams_.destroy(stream);
  }

  Event* create_event(Place place) override {
    const std::lock_guard lock(mutex_);
    return streams_.make_event(place);
  }

  void destroy(Event* event) override {
    const std::lock_guard lock(mutex_);
    streams_.destroy(event);
  }

  void record(Event* event, Stream* stream) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    auto operation = std::make_unique<Operation>();
    operation->mark = event->mark = std::make_shared<Mark>();
    operation->fixed = picoseconds(stream->place.kind == Place::Kind::gpu ? model_.calls.event_ns : 0);
    streams_.submit(lock, *stream, std::move(operation), false);
  }

  void wait(Stream* stream, Event* event) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    devices_.check(stream->place);
    if (event->mark == nullptr) return;
    auto operation = std::make_unique<Operation>();
    operation->after = event->mark;
    streams_.submit(lock, *stream, std::move(operation), false);
  }

  void copy(void* destination, const void* source, std::uint64_t bytes, Stream* stream,
            const CopyPolicy& policy) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    perform(lock, stream, [=, this](Lock& held, Stream* on) {
      const Range to = range_of_call(destination, bytes), from = range_of_call(source, bytes);
      const Place executor = on->place;
      submit_copy(held, to, from, static_cast<double>(bytes), on, policy,
                  [=, this] { kernels_.move(to, from, executor); });
    });
  }

  void copy_batch(const std::vector<Piece>& pieces, Stream* stream, const CopyPolicy& policy) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    const Place executor = stream->place;
    for (const Piece& piece : pieces) {
      const Range to = range_of_call(piece.destination, piece.bytes);
      const Range from = range_of_call(piece.source, piece.bytes);
      submit_copy(lock, to, from, static_cast<double>(piece.bytes), stream, policy,
                  [=, this] { kernels_.move(to, from, executor); });
    }
  }

  void begin_recording(Stream* stream) override {
    const Lock lock = enter(model_.calls.enqueue_ns);
    if (stream->recording != nullptr) throw Failure(Code::invalid, "the stream is being recorded already");
    stream->recording = std::make_unique<Graph>();
  }

  Graph* end_recording(Stream* stream) override {
    const Lock lock = enter(model_.calls.enqueue_ns);
    if (stream->recording == nullptr) throw Failure(Code::invalid, "the stream is not being recorded");
    return keep(std::move(stream->recording));
  }

  Graph* copy_of(Graph* graph) override {
    const Lock lock = enter(model_.calls.enqueue_ns);
    return keep(std::make_unique<Graph>(known(graph)));
  }

  void launch(Graph* graph, Stream* stream) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    devices_.check(stream->place);
    for (const auto& call : known(graph).calls) call(lock, stream);
  }

  void destroy(Graph* graph) override {
    const std::lock_guard lock(mutex_);
    if (graphs_.erase(graph) == 0) throw Failure(Code::invalid, "no such graph");
  }

  void copy_rows(void* destination, std::uint64_t destination_pitch, const void* source,
                 std::uint64_t source_pitch, std::uint64_t width_bytes, std::uint64_t rows, Stream* stream,
                 const CopyPolicy& policy) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    if (width_bytes == 0 || rows == 0 || destination_pitch < width_bytes || source_pitch < width_bytes ||
        (width_bytes | source_pitch | destination_pitch) % kWordBytes != 0)
      throw Failure(Code::invalid, "rows that overlap, are empty, or are not made of whole words");
    const Range to = range_of_call(destination, rows * destination_pitch);
    const Range from = range_of_call(source, rows * source_pitch);
    const RowsShape shape{rows, width_bytes / kWordBytes, destination_pitch / kWordBytes,
                          source_pitch / kWordBytes};
    const Place executor = stream->place;
    submit_copy(lock, to, from, bytes_of_rows(shape), stream, policy, [=, this] {
      devices_.count_moved(place_of(*from.block, from.begin * kWordBytes),
                           place_of(*to.block, to.begin * kWordBytes), rows * width_bytes);
      kernels_.move_rows(to, from, shape, executor);
    });
  }

  void prefetch(void* data, std::uint64_t bytes, Place to, Stream* stream) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    const Range range = range_of_call(data, bytes);
    if (!is_managed(range.block->kind)) throw Failure(Code::invalid, "only managed memory can be prefetched");
    const Place from = place_of(*range.block, range.begin * kWordBytes);
    auto operation = std::make_unique<Operation>();
    if (faults_.find(Fault::Kind::skip, name_of(from), name_of(to)) != nullptr) {
      operation->fixed = picoseconds(model_.managed.prefetch_ns);
    } else {
      operation->fixed = picoseconds(kernels_.bring(range, to, true));
      note_prefetch(*range.block, range.begin * kWordBytes, range.end_byte(), to);
    }
    operation->never_ends = kernels_.hangs(from, to);
    streams_.submit(lock, *stream, std::move(operation), true);
  }

  void launch(std::string_view kernel, const Shape& shape, const void* arguments, std::size_t bytes,
              Stream* stream) override {
    Lock lock = enter(model_.calls.enqueue_ns);
    devices_.check(stream->place);
    const auto* first = static_cast<const std::byte*>(arguments);
    if (stream->recording == nullptr) return launch_now(lock, kernel, shape, first, bytes, stream);
    const std::vector<std::byte> kept(first, first + bytes);
    perform(lock, stream, [=, name = std::string(kernel), this](Lock& held, Stream* on) {
      launch_now(held, name, shape, kept.data(), bytes, on);
    });
  }

  bool finished(Event* event) override {
    const Lock lock = enter(model_.calls.query_ns);
    devices_.check(event->place);
    time_.catch_up();
    return event->mark == nullptr || event->mark->done();
  }

  void synchronize(Event* event) override {
    Lock lock = enter(model_.calls.synchronize_ns);
    devices_.check(event->place);
    const std::shared_ptr<Mark> mark = event->mark;
    if (mark != nullptr) time_.wait_until(lock, [&mark] { return mark->done(); });
  }

  void synchronize(Stream* stream) override {
    Lock lock = enter(model_.calls.synchronize_ns);
    devices_.check(stream->place);
    time_.wait_until(lock, [stream] { return stream->idle(); });
  }

  double elapsed_ns(Event* begin, Event* end) override {
    const std::lock_guard lock(mutex_);
    devices_.check(begin->place);
    if (begin->mark == nullptr || end->mark == nullptr || !begin->mark->done() || !end->mark->done())
      throw Failure(Code::invalid, "an event has not happened");
    return static_cast<double>(end->mark->time - begin->mark->time) / 1000;
  }

  Health health(int gpu) override {
    const std::lock_guard lock(mutex_);
    devices_.check(gpu_place(gpu));
    return devices_.health(gpu);
  }

 private:
  Lock enter(double cost_ns) {
    Lock lock(mutex_);
    time_.enter(lock, cost_ns);
    return lock;
  }

  // Makes a call, or notes it where the stream is being recorded.
  static void perform(Lock& lock, Stream* stream, std::function<void(Lock&, Stream*)> call) {
    if (stream->recording != nullptr)
      stream->recording->calls.push_back(std::move(call));
    else
      call(lock, stream);
  }

  void launch_now(Lock& lock, std::string_view kernel, const Shape& shape, const std::byte* arguments,
                  std::size_t bytes, Stream* stream) {
    try {
      streams_.submit(lock, *stream, kernels_.launch(kernel, shape, arguments, bytes, stream->place), true);
    } catch (const Failure& failure) {
      if (failure.code() == Code::illegal_address) devices_.fail(stream->place, failure);
      throw;
    }
  }

  Graph* keep(std::unique_ptr<Graph> graph) {
    Graph* const made = graph.get();
    graphs_[made] = std::move(graph);
    return made;
  }

  const Graph& known(Graph* graph) const {
    const auto found = graphs_.find(graph);
    if (found == graphs_.end()) throw Failure(Code::invalid, "no such graph");
    return *found->second;
  }

  // A copy call of `bytes` from place to place; `effect` is what it leaves in memory.
  void submit_copy(Lock& lock, const Range& to, const Range& from, double bytes, Stream* stream,
                   const CopyPolicy& policy, std::function<void()> effect) {
    const Place executor = stream->place;
    const Place there = place_of(*to.block, to.begin * kWordBytes);
    const Place here = place_of(*from.block, from.begin * kWordBytes);
    auto operation = std::make_unique<Operation>();
    const bool both_host = here.kind == Place::Kind::cpu && there.kind == Place::Kind::cpu;
    const bool staged = both_host || is_plain(from.block->kind) || is_plain(to.block->kind);
    if (staged) {
      const bool to_gpu = here.kind == Place::Kind::cpu;
      costs_.add_staged(*operation, executor, to_gpu, to_gpu ? here : there, bytes);
    } else {
      const bool engine = by_engine(here, there, static_cast<std::uint64_t>(bytes), policy);
      Transfer transfer{engine ? "engine" : "blit", executor, here, there, bytes};
      transfer.engine = policy.engine;
      costs_.add(*operation, transfer);
    }
    operation->never_ends = kernels_.hangs(here, there);
    operation->on_end = std::move(effect);
    streams_.submit(lock, *stream, std::move(operation), true);
    if (staged) time_.wait_until(lock, [stream] { return stream->idle(); });
  }

  // What an engine does, and what the runtime's own kernels do: the rules of ROCm's clr.
  static bool by_engine(Place from, Place to, std::uint64_t bytes, const CopyPolicy& policy) {
    if (!policy.engines || from == to) return false;
    if (policy.engine >= 0) return true;
    const bool host = from.kind == Place::Kind::cpu || to.kind == Place::Kind::cpu;
    if (host) return bytes > policy.blit_host_up_to_bytes;
    return policy.peer_engines && bytes > policy.blit_peer_up_to_bytes;
  }

  Block& known(const void* data) const {
    Block* block = memory_.find(data);
    if (block == nullptr) throw Failure(Code::invalid, "no block of memory is there");
    return *block;
  }

  // A call is refused for an address with which a kernel would have broken its GPU.
  Range range_of_call(const void* data, std::uint64_t bytes) const {
    try {
      return memory_.range(data, bytes);
    } catch (const Failure& failure) {
      if (failure.code() == Code::illegal_address) throw Failure(Code::invalid, failure.what());
      throw;
    }
  }

  // As freeing memory does with vendors, and so that no operation ends on memory that is gone.
  void wait_for_all(Lock& lock) {
    if (!engine_.idle()) time_.wait_until(lock, [this] { return engine_.idle(); });
  }

  void require_link(int owner, int gpu) {
    if (owner != gpu && !devices_.linked(gpu, owner))
      throw Failure(Code::no_peer_access,
                    "no link leads from " + name_of(gpu_place(gpu)) + " to " + name_of(gpu_place(owner)));
  }

  const std::string sheet_;
  const Model model_;
  const Faults faults_;
  std::mutex mutex_;
  Engine engine_;
  Timeline time_;
  Memory memory_;
  Costs costs_;
  Holdings holdings_;
  const Having having_;
  Devices devices_;
  Streams streams_;
  Kernels kernels_;
  std::map<const Graph*, std::unique_ptr<Graph>> graphs_;
};

std::mutex load_mutex;
// Never destroyed: vendors' libraries are called until the very end of a process.
SimulatedWorld* loaded = nullptr;

}  // namespace

void World::load(std::string_view sheet) {
  const std::lock_guard lock(load_mutex);
  if (loaded != nullptr) {
    if (loaded->sheet() == sheet) return;
    throw Failure(Code::internal, "this process plays another machine already: " + loaded->model().name);
  }
  try {
    loaded = new SimulatedWorld(sheet);
  } catch (const std::invalid_argument& error) {
    throw Failure(Code::invalid, error.what());
  }
}

World& World::get() {
  const std::lock_guard lock(load_mutex);
  if (loaded == nullptr) throw Failure(Code::internal, "no machine is loaded: bwsim_load() comes first");
  return *loaded;
}

}  // namespace byteways::sim
