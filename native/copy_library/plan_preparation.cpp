// See plan.hpp: what is allocated and tested before a plan is used.
#include <algorithm>
#include <array>
#include <map>

#include "copy_library/plan.hpp"

namespace byteways::copy_library {
namespace {

// Of the test that each method passes before it is used: blocks, and a gap as large after each.
constexpr std::size_t kTestBlocks = 4, kTestBytes = 16384;

// Pinned or device memory for the test of a method, freed at its end.
class TestMemory {
 public:
  TestMemory(const Driver& driver, bool on_host) : driver_(&driver), on_host_(on_host) {
    constexpr std::size_t kBytes = 2 * kTestBlocks * kTestBytes;
    failed_ = on_host ? driver.allocate_pinned(&data_, kBytes) : driver.allocate_device(&data_, kBytes);
  }
  ~TestMemory() {
    if (failed_ == 0) on_host_ ? driver_->free_pinned(data_) : driver_->free_device(data_);
  }
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;
  int failed() const { return failed_; }
  unsigned char* data() const { return static_cast<unsigned char*>(data_); }

 private:
  const Driver* driver_;
  bool on_host_;
  void* data_ = nullptr;
  int failed_;
};

// A stream for the tests of methods.
class TestStream {
 public:
  explicit TestStream(const Driver& driver) : driver_(&driver), failed_(driver.create_stream(&stream_)) {}
  ~TestStream() {
    if (failed_ == 0) driver_->destroy_stream(stream_);
  }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  int failed() const { return failed_; }
  Stream get() const { return stream_; }

 private:
  const Driver* driver_;
  Stream stream_ = nullptr;
  int failed_;
};

unsigned char pattern(std::size_t at) { return static_cast<unsigned char>(at * 131 + (at >> 8) * 29 + 7); }

}  // namespace

// Keeps the context of a GPU, and watches it from now on.
int Plan::use(int gpu) {
  if (const ContextWatch* watch = watches_[static_cast<std::size_t>(gpu)].load()) {
    if (!watch->was_reset()) return 0;
    forget(gpu);
  }
  if (const int code = driver_->retain(gpu)) return code;
  auto watch = std::make_unique<ContextWatch>(*driver_, gpu);
  if (const int code = watch->begin()) return code;
  watches_[static_cast<std::size_t>(gpu)].store(watch.release(), std::memory_order_release);
  return 0;
}

void Plan::forget_reset_gpus() {
  for (int gpu = 0; gpu < driver_->gpus; ++gpu) {
    const ContextWatch* watch = watches_[static_cast<std::size_t>(gpu)].load();
    if (watch != nullptr && watch->was_reset()) forget(gpu);
  }
}

// What the driver has destroyed already is not given back.
void Plan::lose(Prepared& prepared) {
  if (prepared.kernels) prepared.kernels->forget();
  prepared.fork = nullptr;
}

void Plan::forget(int gpu) {
  const auto place = static_cast<std::size_t>(gpu);
  const std::uint64_t others = gpu < kMostPeers ? ~(std::uint64_t{1} << gpu) : ~std::uint64_t{0};
  allowed_.fetch_and(others);
  relays_.forget(gpu);
  relays_are_missing_ = true;
  for (const std::atomic<Prepared*>& each : prepared_)
    if (Prepared* prepared = each.load()) prepared->reached.fetch_and(others);
  if (Prepared* prepared = prepared_[place].exchange(nullptr)) {
    lose(*prepared);
    prepared->older = std::move(old_prepared_);
    old_prepared_.reset(prepared);
  }
  ContextWatch* watch = watches_[place].exchange(nullptr);
  watch->older = std::move(old_watches_);
  old_watches_.reset(watch);
}

int Plan::prepare(int gpu) {
  const std::lock_guard lock(preparation_);
  std::atomic<Prepared*>& slot = prepared_[static_cast<std::size_t>(gpu)];
  if (other_machine_ || is_switched_off()) return 0;
  forget_reset_gpus();
  if (Prepared* before = slot.load()) {
    open_peers(gpu, *before);
    if (relays_are_missing_) open_relays();
    return 0;
  }
  if (const int code = driver_->retain(gpu)) return code;
  if (const int code = use(gpu)) {
    warn("gpu" + std::to_string(gpu) + " is not prepared: " + driver_->error_text(code));
    return 0;
  }
  const Current current(*driver_, gpu);
  if (current.failed() != 0) return current.failed();
  auto prepared = std::make_unique<Prepared>(*driver_);
  if (const int code = driver_->create_event(&prepared->fork, false)) return code;
  const auto uses_kernels = [&](const Path& path) {
    return path.by == gpu && std::any_of(path.grids.begin(), path.grids.end(), [](const Grid& grid) {
             return grid.method == BW_METHOD_KERNEL || grid.method == BW_METHOD_BULK;
           });
  };
  if (std::any_of(paths_.begin(), paths_.end(), uses_kernels)) {
    std::string reason;
    prepared->kernels = Kernels::open(*driver_, gpu, reason);
    if (!prepared->kernels) warn("no kernels on gpu" + std::to_string(gpu) + ": " + reason);
  }
  if (const int code = prove(gpu, *prepared)) return code;
  open_peers(gpu, *prepared);
  slot.store(prepared.release(), std::memory_order_release);
  open_relays();
  return 0;
}

// Gives kernels of a GPU access to the memory of others that the plan has paths to, and that this process
// uses: a context on any other would take time and memory for nothing.
void Plan::open_peers(int gpu, Prepared& prepared) {
  std::uint64_t reached = 0;
  for (const Path& path : paths_)
    for (const int end : {path.from, path.to}) {
      if (path.by != gpu || end == kHost || end == gpu || end >= kMostPeers || !driver_->is_active(end))
        continue;
      if (use(end) == 0 && driver_->allow_access(gpu, end) == 0) reached |= std::uint64_t{1} << end;
    }
  prepared.reached.store(reached, std::memory_order_release);
}

// Runs each method of this GPU's streams once, so that one which does not work here is not used.
int Plan::prove(int gpu, Prepared& prepared) {
  const TestStream stream(*driver_);
  if (stream.failed() != 0) return stream.failed();
  std::array<bool, BW_METHODS> tried{};
  prepared.works[BW_METHOD_DEFAULT] = true;
  for (const Path& path : paths_) {
    if (path.by != gpu) continue;
    for (const Grid& grid : path.grids) {
      const auto method = static_cast<std::size_t>(grid.method);
      if (grid.method == BW_METHOD_DEFAULT || grid.method == BW_METHOD_RELAY) continue;
      if (tried[method] && !prepared.works[method]) continue;
      if (grid.method == BW_METHOD_KERNEL && !prepared.kernels) continue;
      if (grid.method == BW_METHOD_BULK && !(prepared.kernels && prepared.kernels->has_bulk())) continue;
      tried[method] = true;
      const std::string name = std::string("method ") + bw_method_name(grid.method);
      const std::size_t wanted = std::size_t{grid.chunk_bytes} * std::max(grid.stages, 1u);
      if (grid.method == BW_METHOD_BULK && wanted > prepared.kernels->most_shared_bytes()) {
        prepared.works[method] = false;
        warn(name + " needs more shared memory than gpu" + std::to_string(gpu) + " has, " +
             std::to_string(prepared.kernels->most_shared_bytes()) + " bytes");
        continue;
      }
      prepared.works[method] = true;
      if (proves(path, prepared, grid, stream.get())) continue;
      prepared.works[method] = false;
      warn(name + " failed its test on gpu" + std::to_string(gpu));
    }
  }
  return 0;
}

// Whether the method copies the right bytes and no others. Memory of another GPU is replaced by this one's.
bool Plan::proves(const Path& path, const Prepared& prepared, const Grid& grid, Stream stream) {
  const TestMemory wanted(*driver_, true), seen(*driver_, true);
  const TestMemory source(*driver_, path.from == kHost), target(*driver_, path.to == kHost);
  for (const TestMemory* memory : {&wanted, &seen, &source, &target})
    if (memory->failed() != 0) return false;
  constexpr std::size_t kAll = 2 * kTestBlocks * kTestBytes;
  for (std::size_t at = 0; at < kAll; ++at) {
    wanted.data()[at] = pattern(at);
    seen.data()[at] = static_cast<unsigned char>(~pattern(at));
  }
  int code = driver_->copy(source.data(), wanted.data(), kAll, stream);
  if (code == 0) code = driver_->copy(target.data(), seen.data(), kAll, stream);
  const bool relay = grid.method == BW_METHOD_RELAY;
  const std::size_t count = relay ? 1 : kTestBlocks, bytes = relay ? kTestBlocks * kTestBytes : kTestBytes;
  void* to[kTestBlocks];
  const void* from[kTestBlocks];
  for (std::size_t k = 0; k < count; ++k) {  // the blocks change places
    to[k] = target.data() + 2 * k * bytes;
    from[k] = source.data() + 2 * (count - 1 - k) * bytes;
  }
  const Blocks blocks{to, from, nullptr, bytes, count};
  Request request{stream};
  request.seen = survey(blocks, nullptr);
  request.blocks = NonEmpty(blocks, request.seen);
  request.by = path.by;
  Choice choice{grid.method, BW_FALLBACK_NONE, 1e12, 0, &grid, grid.rows.data()};
  const bool enqueued = code == 0 && enqueue_on(request, prepared, choice, &code);
  if (code == 0) code = driver_->copy(seen.data(), target.data(), kAll, stream);
  const int waited = driver_->synchronize(stream);
  if (!enqueued || code != 0 || waited != 0) return false;
  for (std::size_t at = 0; at < kAll; ++at) {
    const std::size_t block = at / bytes;
    const bool gap = block % 2 != 0 || block / 2 >= count;
    const unsigned char right = gap ? static_cast<unsigned char>(~pattern(at))
                                    : pattern(2 * (count - 1 - block / 2) * bytes + at % bytes);
    if (seen.data()[at] != right) return false;
  }
  return true;
}

int Plan::allow_peers(const std::vector<int>& gpus) {
  const std::lock_guard lock(preparation_);
  forget_reset_gpus();
  peers_ = gpus;
  open_relays();
  return 0;
}

// Replaces the relays by those of the allowed peers, or by none where the host has no memory for their lists.
void Plan::open_relays() {
  allowed_.store(0, std::memory_order_release);
  relays_.release();
  relays_are_missing_ = true;
  try {
    make_relays();
  } catch (...) {
    relays_.release();
    throw;
  }
  relays_are_missing_ = false;
}

// Makes relays of the allowed peers for all prepared GPUs. What is not possible is left out, with a warning.
void Plan::make_relays() {
  struct Size {
    std::size_t staging_bytes = 0;
    unsigned depth = 0;
  };
  std::map<int, Size> wanted;
  std::vector<std::pair<const Path*, const Grid*>> grids;
  for (const Path& path : paths_) {
    if (prepared_[static_cast<std::size_t>(path.by)].load() == nullptr) continue;
    for (const Grid& grid : path.grids) {
      const bool usable =
          grid.method == BW_METHOD_RELAY && std::all_of(grid.via.begin(), grid.via.end(), [&](int gpu) {
            return gpu < kMostPeers && std::find(peers_.begin(), peers_.end(), gpu) != peers_.end() &&
                   may_relay(path, gpu);
          });
      if (!usable) continue;
      if (grid.staging_bytes() > staging_limit_) {
        warn("a relay needs " + std::to_string(grid.staging_bytes()) +
             " bytes of staging memory, above the limit of " + std::to_string(staging_limit_));
        continue;
      }
      for (const int gpu : grid.via) {  // one copy at a time uses the memory of a relay
        wanted[gpu].staging_bytes = std::max(wanted[gpu].staging_bytes, grid.staging_bytes());
        wanted[gpu].depth = std::max(wanted[gpu].depth, grid.depth);
      }
      grids.emplace_back(&path, &grid);
    }
  }
  std::uint64_t allowed = 0;
  for (const auto& [gpu, size] : wanted) {
    const int code = relays_.add(gpu, size.staging_bytes, size.depth);
    if (code == 0) allowed |= std::uint64_t{1} << gpu;
    if (code != 0)
      warn("no staging memory for the relay over gpu" + std::to_string(gpu) + ": " +
           driver_->error_text(code));
  }
  for (const auto& [path, grid] : grids) {
    std::uint64_t bits = 0;
    for (const int gpu : grid->via) bits |= std::uint64_t{1} << gpu;
    if ((allowed & bits) != bits || proves_relay(*path, *grid)) continue;
    allowed &= ~bits;
    warn("the relay from " + name_of(path->from) + " to " + name_of(path->to) + " failed its test");
  }
  allowed_.store(allowed, std::memory_order_release);
}

std::string Plan::name_of(int place) { return place == kHost ? "host" : "gpu" + std::to_string(place); }

// Whether a peer reaches the memory of both ends. Creates its context.
bool Plan::may_relay(const Path& path, int peer) {
  int code = use(peer);
  for (const int end : {path.from, path.to}) {
    if (code != 0 || end == kHost) continue;
    code = use(end);
    if (code == 0) code = driver_->allow_access(peer, end);
  }
  if (code != 0)
    warn("gpu" + std::to_string(peer) + " is no relay from " + name_of(path.from) + " to " +
         name_of(path.to) + ": " + driver_->error_text(code));
  return code == 0;
}

bool Plan::proves_relay(const Path& path, const Grid& grid) {
  const Current current(*driver_, path.by);
  const Prepared* prepared = prepared_[static_cast<std::size_t>(path.by)].load();
  if (current.failed() != 0) return false;
  const TestStream stream(*driver_);
  return stream.failed() == 0 && proves(path, *prepared, grid, stream.get());
}

}  // namespace byteways::copy_library
