// See world.hpp.
#include "simulator/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <stdexcept>

#include "simulator/costs.hpp"
#include "simulator/engine.hpp"
#include "simulator/faults.hpp"
#include "simulator/hardware_queues.hpp"
#include "simulator/kernels.hpp"
#include "simulator/memory.hpp"
#include "simulator/noise.hpp"
#include "simulator/timers.hpp"

namespace byteways::sim {

struct Stream {
  Place place;
  Engine::Queue* queue = nullptr;
  std::uint64_t submitted = 0, completed = 0;
};

struct Event {
  Place place;
  std::shared_ptr<Mark> mark;  // of the latest record, null before
};

namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kHugePageBytes = 2 << 20;

bool is_plain(Kind kind) { return kind == Kind::pageable || kind == Kind::hugepage; }
bool is_device(Kind kind) {
  return kind == Kind::device || kind == Kind::device_fine || kind == Kind::device_uncached;
}
bool is_managed(Kind kind) { return kind == Kind::managed || kind == Kind::managed_coarse; }

class SimulatedWorld final : public World {
 public:
  explicit SimulatedWorld(std::string_view sheet)
      : sheet_(sheet),
        model_(Model::from_sheet(sheet)),
        faults_(model_),
        costs_(model_, faults_, engine_),
        kernels_(
            model_, faults_, memory_, costs_,
            [this](Place who, const Block& block) { return barrier(who, block); },
            [this](Place from, Place to, std::uint64_t bytes) { count(from, to, bytes); }),
        pageable_access_(model_.pageable_access),
        noise_(model_.noise, model_.seed),
        hardware_queues_(engine_, model_.gpu.count, model_.gpu.hardware_queues),
        defaults_(static_cast<std::size_t>(model_.gpu.count)),
        health_(defaults_.size()),
        operations_on_(defaults_.size()) {}

  const std::string& sheet() const { return sheet_; }
  const Model& model() const override { return model_; }

  void configure(const Settings& settings) override {
    const std::lock_guard lock(mutex_);
    if (settings.hardware_queues > 0) hardware_queues_.set_most(settings.hardware_queues);
    if (!settings.retry_faults) kernels_.migrates = pageable_access_ = false;
  }

  // --- time
  // ----------------------------------------------------------------------------------------------------
  std::int64_t now_ns() override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.clock_ns);
    engine_.run(host_, nullptr);
    return host_ / 1000;
  }

  std::uint64_t start_timer(std::int64_t delay_ns, std::function<void()> action) override {
    const std::lock_guard lock(mutex_);
    return timers_.start(host_ + picoseconds(static_cast<double>(delay_ns)), std::move(action));
  }

  void cancel_timer(std::uint64_t ticket) override {
    const std::lock_guard lock(mutex_);
    timers_.cancel(ticket);
  }

  // --- memory
  // --------------------------------------------------------------------------------------------------
  void* allocate(Place owner, Kind kind, std::uint64_t bytes) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    if (bytes == 0) throw Failure(Code::invalid, "a block of 0 bytes was asked for");
    if (owner.kind == Place::Kind::gpu) check_device(owner.index);
    const Place memory = costs_.memory_of(owner);
    const Fault* fault = faults_.find(Fault::Kind::no_memory, name_of(owner));
    if (bytes > free_in(memory) || (fault != nullptr && used_[index_of(memory)] + bytes > fault->number))
      throw Failure(Code::out_of_memory, name_of(owner) + " has no " + std::to_string(bytes) + " bytes left");
    Block& block = memory_.allocate(owner, kind, bytes);
    used_[index_of(memory)] += bytes;
    return block.data;
  }

  void release(void* data) override {
    const std::lock_guard lock(mutex_);
    Block& block = known(data);
    used_[index_of(costs_.memory_of(block.owner))] -= block.bytes;
    memory_.release(data);
  }

  void set_kind(void* data, Kind kind) override {
    const std::lock_guard lock(mutex_);
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
    const std::uint64_t page = block.kind == Kind::hugepage ? kHugePageBytes : kPageBytes;
    const auto first = static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - block.data);
    std::map<int, std::uint64_t> pages;
    for (const auto& [place, held] : bytes_by_place(block, first, first + bytes))
      if (place.kind == Place::Kind::cpu) pages[place.index] = (held + page - 1) / page;
    return pages;
  }

  std::uint64_t free_bytes(Place place) override {
    const std::lock_guard lock(mutex_);
    return free_in(costs_.memory_of(place));
  }

  bool can_access_peer(int gpu, int peer) override {
    const std::lock_guard lock(mutex_);
    check_device(gpu);
    return gpu != peer && linked(gpu, peer);
  }

  void enable_peer(int gpu, int peer) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    check_device(gpu);
    if (gpu == peer || !linked(gpu, peer))
      throw Failure(Code::no_peer_access,
                    "no link leads from gpu" + std::to_string(gpu) + " to gpu" + std::to_string(peer));
    if (!peers_.insert({gpu, peer}).second) throw Failure(Code::already_enabled, "it is enabled already");
  }

  // --- queues
  // --------------------------------------------------------------------------------------------------
  Stream* create_stream(Place place) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    return make_stream(place);
  }

  Stream* default_stream(int gpu) override {
    const std::lock_guard lock(mutex_);
    Stream*& stream = defaults_.at(static_cast<std::size_t>(gpu));
    if (stream == nullptr) stream = make_stream({Place::Kind::gpu, gpu});
    return stream;
  }

  void destroy(Stream* stream) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    wait_until(lock, [stream] { return stream->completed == stream->submitted; });
    if (stream->place.kind == Place::Kind::gpu)
      hardware_queues_.give_back(stream->place.index, stream->queue);
    std::erase_if(streams_, [stream](const auto& each) { return each.get() == stream; });
  }

  Event* create_event(Place place) override {
    const std::lock_guard lock(mutex_);
    return events_.emplace_back(std::make_unique<Event>(Event{place, nullptr})).get();
  }

  void destroy(Event* event) override {
    const std::lock_guard lock(mutex_);
    // The one made last is the one destroyed first, more often than not.
    const auto found =
        std::find_if(events_.rbegin(), events_.rend(), [&](const auto& e) { return e.get() == event; });
    if (found == events_.rend()) throw Failure(Code::invalid, "no such event");
    std::swap(*found, events_.back());
    events_.pop_back();
  }

  void record(Event* event, Stream* stream) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    auto operation = std::make_unique<Operation>();
    operation->mark = event->mark = std::make_shared<Mark>();
    operation->fixed = picoseconds(stream->place.kind == Place::Kind::gpu ? model_.calls.event_ns : 0);
    submit(lock, stream, std::move(operation), false);
  }

  void wait(Stream* stream, Event* event) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    if (event->mark == nullptr) return;
    auto operation = std::make_unique<Operation>();
    operation->after = event->mark;
    submit(lock, stream, std::move(operation), false);
  }

  void copy(void* destination, const void* source, std::uint64_t bytes, Stream* stream,
            const CopyPolicy& policy) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    const Place executor = stream->place;
    const Range to = memory_.range(destination, bytes), from = memory_.range(source, bytes);
    const Place there = place_of(*to.block, to.begin * kWordBytes),
                here = place_of(*from.block, from.begin * kWordBytes);
    auto operation = std::make_unique<Operation>();
    const bool both_host = here.kind == Place::Kind::cpu && there.kind == Place::Kind::cpu;
    const bool staged = both_host || is_plain(from.block->kind) || is_plain(to.block->kind);
    if (staged) {
      const bool to_gpu = here.kind == Place::Kind::cpu;
      costs_.add_staged(*operation, executor, to_gpu, to_gpu ? here : there, static_cast<double>(bytes));
    } else {
      const bool engine = by_engine(costs_.memory_of(here), costs_.memory_of(there), bytes, policy);
      Transfer transfer{engine ? "engine" : "blit", executor, here, there, static_cast<double>(bytes)};
      transfer.engine = policy.engine;
      costs_.add(*operation, transfer);
    }
    operation->never_ends = kernels_.hangs(here, there);
    operation->on_end = [=, this] { kernels_.move(destination, source, bytes, executor); };
    submit(lock, stream, std::move(operation), true);
    if (staged) wait_until(lock, [stream] { return stream->completed == stream->submitted; });
  }

  void prefetch(void* data, std::uint64_t bytes, Place to, Stream* stream) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    const Range range = memory_.range(data, bytes);
    if (!is_managed(range.block->kind)) throw Failure(Code::invalid, "only managed memory can be prefetched");
    auto operation = std::make_unique<Operation>();
    operation->fixed = picoseconds(kernels_.bring(range, to, true));
    submit(lock, stream, std::move(operation), true);
  }

  void launch(std::string_view kernel, const Shape& shape, const void* arguments, std::size_t bytes,
              Stream* stream) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.enqueue_ns);
    submit(lock, stream, kernels_.launch(kernel, shape, arguments, bytes, stream->place), true);
  }

  bool finished(Event* event) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.query_ns);
    if (event->place.kind == Place::Kind::gpu) check_device(event->place.index);
    engine_.run(host_, nullptr);
    return event->mark == nullptr || event->mark->done();
  }

  void synchronize(Event* event) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.synchronize_ns);
    if (event->place.kind == Place::Kind::gpu) check_device(event->place.index);
    const std::shared_ptr<Mark> mark = event->mark;
    if (mark != nullptr) wait_until(lock, [&mark] { return mark->done(); });
  }

  void synchronize(Stream* stream) override {
    std::unique_lock lock(mutex_);
    enter(lock, model_.calls.synchronize_ns);
    if (stream->place.kind == Place::Kind::gpu) check_device(stream->place.index);
    wait_until(lock, [stream] { return stream->completed == stream->submitted; });
  }

  double elapsed_ns(Event* begin, Event* end) override {
    const std::lock_guard lock(mutex_);
    if (begin->mark == nullptr || end->mark == nullptr || !begin->mark->done() || !end->mark->done())
      throw Failure(Code::invalid, "an event has not happened");
    return static_cast<double>(end->mark->time - begin->mark->time) / 1000;
  }

  Health health(int gpu) override {
    const std::lock_guard lock(mutex_);
    Health health = health_.at(static_cast<std::size_t>(gpu));
    health.throttled = faults_.find(Fault::Kind::throttle, "gpu" + std::to_string(gpu)) != nullptr;
    return health;
  }

 private:
  // Every entry: what the host wrote into gates' words before it is seen, the call takes its time, and timers
  // that it makes due act.
  void enter(std::unique_lock<std::mutex>& lock, double cost_ns) {
    engine_.poll(host_);
    host_ += picoseconds(cost_ns);
    for (Picoseconds due = timers_.next(); due <= host_; due = timers_.next()) {
      act(lock);
      engine_.poll(due);
    }
  }

  // What the next timer is for, without the lock: it may take one that is held by somebody who waits for
  // this one.
  void act(std::unique_lock<std::mutex>& lock) {
    const std::function<void()> action = timers_.take();
    lock.unlock();
    action();
    lock.lock();
  }

  // Lets things happen until `done`; time jumps to the next timer when nothing else is left.
  template <class Done>
  void wait_until(std::unique_lock<std::mutex>& lock, const Done& done) {
    for (;;) {
      engine_.poll(host_);
      const Picoseconds due = timers_.next();
      if (engine_.run(due, done)) {
        host_ = std::max(host_, engine_.now());
        return;
      }
      if (due == kNever) {
        if (!engine_.has_stuck())
          throw Failure(Code::internal,
                        "deadlock in the simulated program: it waits for what nothing brings about");
        lock.unlock();
        for (;;) pause();  // as a real driver would: whoever started this process has to notice
      }
      host_ = std::max(host_, due);
      act(lock);
    }
  }

  void submit(std::unique_lock<std::mutex>& lock, Stream* stream, std::unique_ptr<Operation> operation,
              bool noisy) {
    const bool on_gpu = stream->place.kind == Place::Kind::gpu;
    if (on_gpu) {
      ++operations_on_[static_cast<std::size_t>(stream->place.index)];
      check_device(stream->place.index);
    }
    if (noisy) {
      const double factor = noise_.next();
      operation->fixed = static_cast<Picoseconds>(static_cast<double>(operation->fixed) * factor);
      operation->bytes *= factor;
    }
    const std::uint64_t depth = std::max(1u, model_.gpu.queue_depth);
    if (on_gpu && stream->submitted - stream->completed >= depth)
      wait_until(lock, [=] { return stream->submitted - stream->completed < depth; });
    operation->ready = host_ + picoseconds(on_gpu ? model_.calls.launch_ns : 0);
    operation->completed = &stream->completed;
    ++stream->submitted;
    engine_.enqueue(*stream->queue, std::move(operation));
  }

  Stream* make_stream(Place place) {
    auto stream = std::make_unique<Stream>();
    stream->place = place;
    if (place.kind == Place::Kind::cpu) {
      stream->queue = engine_.add_queue();
    } else {
      check_device(place.index);
      const bool serial = faults_.find(Fault::Kind::serialise, name_of(place)) != nullptr;
      stream->queue = hardware_queues_.take(place.index, serial);
    }
    return streams_.emplace_back(std::move(stream)).get();
  }

  // What an engine does, and what the runtime's own kernels do: the rules of ROCm's clr.
  bool by_engine(Place from, Place to, std::uint64_t bytes, const CopyPolicy& policy) const {
    if (!policy.engines || from == to) return false;
    if (policy.engine >= 0) return true;
    const bool host = from.kind == Place::Kind::cpu || to.kind == Place::Kind::cpu;
    if (host) return bytes > policy.blit_host_up_to_bytes;
    return policy.peer_engines && bytes > policy.blit_peer_up_to_bytes;
  }

  // Why `who` cannot touch the block; empty when it can.
  std::string barrier(Place who, const Block& block) {
    if (who.kind == Place::Kind::cpu)
      return is_device(block.kind) && !model_.host_access ? "a CPU core has no address for a GPU's memory"
                                                          : "";
    if (is_plain(block.kind) && !pageable_access_)
      return "kernels of this machine do not reach plain host memory";
    if (is_device(block.kind) && block.owner.index != who.index &&
        !peers_.contains({who.index, block.owner.index}))
      return name_of(who) + " has no access to the memory of " + name_of(block.owner);
    return {};
  }

  void count(Place from, Place to, std::uint64_t bytes) {
    if (from == to || from.kind != Place::Kind::gpu || to.kind != Place::Kind::gpu) return;
    health_.at(static_cast<std::size_t>(from.index)).sent_bytes += bytes;
    health_.at(static_cast<std::size_t>(to.index)).received_bytes += bytes;
  }

  bool linked(int gpu, int peer) {
    const Way& way = costs_.ways().between({Place::Kind::gpu, gpu}, {Place::Kind::gpu, peer});
    return way.found && !way.through_cpu;
  }

  void check_device(int gpu) const {
    const Fault* fault = faults_.find(Fault::Kind::lost, "gpu" + std::to_string(gpu));
    if (fault != nullptr && operations_on_.at(static_cast<std::size_t>(gpu)) > fault->number)
      throw Failure(Code::device_lost, "gpu" + std::to_string(gpu) + " does not answer any more");
  }

  Block& known(const void* data) {
    Block* block = memory_.find(data);
    if (block == nullptr) throw Failure(Code::invalid, "no block of memory is there");
    return *block;
  }

  static std::pair<int, int> index_of(Place place) { return {static_cast<int>(place.kind), place.index}; }
  std::uint64_t free_in(Place memory) {
    const std::uint64_t all =
        memory.kind == Place::Kind::gpu ? model_.gpu.memory_bytes : model_.cpu.memory_bytes;
    return all - std::min(all, used_[index_of(memory)]);
  }

  const std::string sheet_;
  const Model model_;
  const Faults faults_;
  std::mutex mutex_;
  Picoseconds host_ = 0;
  Engine engine_;
  Memory memory_;
  Costs costs_;
  Kernels kernels_;
  bool pageable_access_;
  Noise noise_;
  Timers timers_;
  HardwareQueues hardware_queues_;
  std::map<std::pair<int, int>, std::uint64_t> used_;  // bytes, by memory
  std::set<std::pair<int, int>> peers_;                // who may reach whose memory
  std::vector<Stream*> defaults_;
  std::vector<Health> health_;
  std::vector<std::uint64_t> operations_on_;  // [gpu]
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
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
