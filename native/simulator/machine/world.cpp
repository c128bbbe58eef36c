// See world.hpp: time, health, and the one machine of the process.
#include "simulator/machine/world.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace byteways::sim {

void World::configure(const Settings& settings) {
  const std::lock_guard lock(mutex_);
  configure_first(settings);
}

void World::configure_first(const Settings& settings) {
  settings_ = settings;
  if (settings.hardware_queues > 0) streams_.set_hardware_queues(settings.hardware_queues);
  if (!settings.retry_faults) kernels_.migrates = devices_.pageable_access = false;
}

std::int64_t World::now_ns() {
  Lock lock = enter(model_.calls.clock_ns);
  time_.catch_up();
  return time_.now() / 1000;
}

std::int64_t World::seen_ns() {
  const std::lock_guard lock(mutex_);
  return time_.now() / 1000;
}

void World::pass(std::int64_t nanoseconds) {
  const Lock lock = enter(static_cast<double>(std::max<std::int64_t>(0, nanoseconds)));
  time_.catch_up();
}

std::uint64_t World::start_timer(std::int64_t delay_ns, std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  return time_.start_timer(delay_ns, std::move(action));
}

void World::cancel_timer(std::uint64_t ticket) {
  Lock lock(mutex_);
  time_.cancel_timer(lock, ticket);
}

Health World::health(int gpu) {
  const std::lock_guard lock(mutex_);
  devices_.check(gpu_place(gpu));
  return devices_.health(gpu);
}

void World::reset_gpu(int gpu) {
  std::vector<void*> blocks;
  {
    Lock lock(mutex_);
    devices_.check(gpu_place(gpu));
    wait_for_all(lock);
    streams_.reset(gpu);
    blocks = memory_.blocks_of(gpu_place(gpu));
  }
  for (void* data : blocks) release(data);
}

std::uint64_t World::resets(int gpu) {
  const std::lock_guard lock(mutex_);
  return streams_.resets(gpu);
}

Lock World::enter(double cost_ns) {
  Lock lock(mutex_);
  time_.enter(lock, cost_ns);
  return lock;
}

Block& World::known(const void* data) const {
  Block* block = memory_.find(data);
  if (block == nullptr) throw Failure(Code::invalid, "no block of memory is there");
  return *block;
}

Range World::range_of_call(const void* data, std::uint64_t bytes) const {
  try {
    return memory_.range(data, bytes);
  } catch (const Failure& failure) {
    if (failure.code() == Code::illegal_address) throw Failure(Code::invalid, failure.what());
    throw;
  }
}

Place World::near(Place executor) const {
  if (executor.kind == Place::Kind::cpu) return executor;
  const auto gpu = static_cast<std::size_t>(executor.index);
  return {Place::Kind::cpu, gpu < model_.gpu.domains.size() ? model_.gpu.domains[gpu] : 0};
}

Range World::range_of_copy(const void* data, std::uint64_t bytes, Place executor) {
  if (!memory_.all_real() || memory_.find(data) != nullptr) return range_of_call(data, bytes);
  Block& block = memory_.borrow(data, bytes, near(executor));
  return {&block, 0, bytes / kWordBytes, static_cast<unsigned>(bytes % kWordBytes)};
}

void World::wait_for_all(Lock& lock) {
  const int actor = Timeline::actor();
  if (engine_.idle(actor)) return;
  time_.wait_until(lock,
                   {[this, actor] { return engine_.idle(actor); }, [] { return "all that it enqueued"; }});
}

namespace {

std::mutex load_mutex;
// Never destroyed: vendors' libraries are called until the process exits.
World* loaded = nullptr;

}  // namespace

void World::load(std::string_view sheet) {
  const Lock held(Timeline::of_process().mutex());
  const std::lock_guard lock(load_mutex);
  if (loaded != nullptr) {
    if (loaded->sheet() == sheet) return;
    throw Failure(Code::internal, "this process plays another machine already: " + loaded->model().name);
  }
  try {
    loaded = new World(sheet);
    loaded->take_time();
  } catch (const std::invalid_argument& error) {
    throw Failure(Code::invalid, error.what());
  }
}

void World::restart(std::uint64_t key) {
  World& old = get();
  Lock held(Timeline::of_process().mutex());
  Timeline::of_process().wait_for_restart(held, [&old] { return old.in_use() || old.idle(); });
  const std::lock_guard lock(load_mutex);
  if (old.in_use())
    throw Failure(Code::invalid,
                  "the machine is still in use: a program has memory, streams or events there");
  auto fresh = std::make_unique<World>(old.sheet(), key);
  fresh->configure_first(old.settings());
  if (old.memory_.all_real()) fresh->memory_.make_all_real();
  fresh->observer_ = old.observer_;
  fresh->take_time();
  delete std::exchange(loaded, fresh.release());
}

// A program that knows nothing of the simulator, and loads it as its driver, names the machine by a variable.
void World::load_named() {
  const char* name = std::getenv("BYTEWAYS_SIM_SHEET");
  if (name == nullptr || *name == '\0')
    throw Failure(Code::internal,
                  "no machine is loaded: bwsim_load() comes first, or BYTEWAYS_SIM_SHEET names its sheet");
  std::ifstream file(name);
  const std::string sheet(std::istreambuf_iterator<char>(file), {});
  if (sheet.empty()) throw Failure(Code::internal, std::string("BYTEWAYS_SIM_SHEET cannot be read: ") + name);
  load(sheet);
  const char* memory = std::getenv("BYTEWAYS_SIM_MEMORY");
  if (memory != nullptr && std::string_view(memory) == "real") loaded->memory_.make_all_real();
}

World& World::get() {
  for (;;) {
    {
      const std::lock_guard lock(load_mutex);
      if (loaded != nullptr) return *loaded;
    }
    load_named();
  }
}

}  // namespace byteways::sim
