// See plan.hpp: whose plan it is, and the choice of a method.
#include "copy_library/plan.hpp"

#include <algorithm>

#include "copy_library/thread_state.hpp"

namespace byteways::copy_library {
namespace {

// A method that leaves multiprocessors to the program may take this much longer (copy_plan.py has it, too).
constexpr double kNearlyAsFast = 1.03;

int number_in(const std::vector<int>& process_gpus, int gpu) {
  return gpu == kHost ? kHost : process_gpus[static_cast<std::size_t>(gpu)];
}

}  // namespace

Plan::Plan(Driver& driver, PlanFile file)
    : driver_(&driver),
      prepared_(static_cast<std::size_t>(driver.gpus)),
      watches_(static_cast<std::size_t>(driver.gpus)),
      relays_(driver) {
  bind(file);
}

Plan::~Plan() {
  // The driver does not survive a fork: nothing can be given back.
  if (is_forked()) {
    old_watches_.release();
    return;
  }
  forget_reset_gpus();
  relays_.release();
  for (int gpu = 0; gpu < driver_->gpus; ++gpu) {
    const std::unique_ptr<ContextWatch> watch(watches_[static_cast<std::size_t>(gpu)].load());
    std::unique_ptr<Prepared> prepared(prepared_[static_cast<std::size_t>(gpu)].load());
    if (!watch) continue;
    const Current current(*driver_, gpu);
    if (current.failed() == 0)
      prepared.reset();
    else if (prepared)
      lose(*prepared);
  }
}

Plan::ContextWatch::~ContextWatch() {
  if (memory_ == nullptr || was_reset()) return;
  const Current current(*driver_, gpu_);
  if (current.failed() == 0) driver_->free_device(memory_);
}

int Plan::ContextWatch::begin() {
  identity_ = driver_->context_identity(gpu_);
  if (identity_ != 0) return 0;
  const Current current(*driver_, gpu_);
  int code = current.failed();
  if (code == 0) code = driver_->allocate_device(&memory_, 16);
  if (code != 0) return code;
  identity_ = identity();
  if (identity_ == 0) identity_ = identity();
  return 0;
}

// One answer without a number may be a failure of the driver's.
bool Plan::ContextWatch::was_reset() const {
  if (is_same()) return false;
  std::uint64_t now = identity();
  if (now == 0 && memory_ == nullptr && driver_->is_active(gpu_)) return false;
  if (now == 0) now = identity();
  return now != identity_;
}

// Whether all that the plan has on a GPU is still there.
bool Plan::is_there(int gpu) const {
  const ContextWatch* watch = watches_[static_cast<std::size_t>(gpu)].load(std::memory_order_acquire);
  return watch != nullptr && watch->is_same();
}

void Plan::warn(const std::string& text) {
  if (warning_.find(text) == std::string::npos) warning_ += (warning_.empty() ? "" : "; ") + text;
}

// Numbers the file's GPUs as this process does, and keeps the paths whose GPUs it sees.
void Plan::bind(PlanFile& file) {
  const std::string wanted = file.vendor + " " + file.version + " " + file.release;
  const std::string found = std::string(driver_->vendor) + " " + driver_->version + " " + driver_->release;
  if (wanted != found) {
    other_machine_ = true;
    warn("the plan was measured with driver " + wanted + ", and this process has " + found);
  }
  std::vector<int> gpus;
  for (const PlanGpu& gpu : file.gpus) {
    gpus.push_back(kUnknown);
    for (int here = 0; here < driver_->gpus; ++here) {
      if (driver_->uuid(here) != gpu.uuid) continue;
      if (driver_->pci_address(here) == gpu.pci_address)
        gpus.back() = here;
      else
        warn(gpu.uuid + " was measured at PCI address " + gpu.pci_address + " and is at " +
             driver_->pci_address(here));
    }
  }
  const auto is_here = [](int gpu) { return gpu != kUnknown; };
  if (std::none_of(gpus.begin(), gpus.end(), is_here)) {
    other_machine_ = true;
    warn("this process sees none of the plan's GPUs: " + (gpus.empty() ? "" : file.gpus[0].uuid) +
         (gpus.size() > 1 ? " and others" : ""));
  }
  for (Path& path : file.paths) {
    path.from = number_in(gpus, path.from);
    path.to = number_in(gpus, path.to);
    path.by = number_in(gpus, path.by);
    for (Grid& grid : path.grids)
      for (int& gpu : grid.via) gpu = number_in(gpus, gpu);
    std::erase_if(path.grids,
                  [&](const Grid& grid) { return !std::all_of(grid.via.begin(), grid.via.end(), is_here); });
    if (is_here(path.from) && is_here(path.to) && is_here(path.by)) paths_.push_back(std::move(path));
  }
  if (is_switched_off()) warn("BYTEWAYS_COPY=off");
}

const Path* Plan::path_of(int from, int to, int by) const {
  for (const Path& path : paths_)
    if (path.from == from && path.to == to && path.by == by) return &path;
  return nullptr;
}

// Whether kernels of GPU `by` have access to all memory of one side.
bool Plan::reaches(const Prepared& prepared, const Side& side, int by) const {
  if (side.place == kHost || side.place == by) return true;
  const std::uint64_t reached = prepared.reached.load(std::memory_order_acquire);
  return side.open_to_peers && side.place < kMostPeers && (reached >> side.place & 1) != 0 &&
         is_there(side.place);
}

// What keeps a method that is faster from being used for this copy; BW_FALLBACK_NONE: nothing.
int Plan::obstacle(const Grid& grid, const Request& request, const Prepared& prepared) {
  if (grid.method != BW_METHOD_RELAY && !prepared.works[static_cast<std::size_t>(grid.method)])
    return BW_FALLBACK_FAILED;
  switch (grid.method) {
    case BW_METHOD_BATCH:
      if (request.capturing) return BW_FALLBACK_CAPTURING;
      return driver_->has_batch(request.stream) ? BW_FALLBACK_NONE : BW_FALLBACK_FAILED;
    case BW_METHOD_RELAY: {
      if (request.capturing) return BW_FALLBACK_CAPTURING;
      const std::uint64_t allowed = allowed_.load(std::memory_order_acquire);
      for (const int gpu : grid.via)
        if (gpu >= kMostPeers || (allowed >> gpu & 1) == 0 || !is_there(gpu)) return BW_FALLBACK_NOT_ALLOWED;
      return relays_.are_idle(grid, request.stream, request.by) ? BW_FALLBACK_NONE : BW_FALLBACK_BUSY;
    }
    case BW_METHOD_KERNEL:
    case BW_METHOD_BULK:
      // To memory without access a kernel would end the context.
      if (!reaches(prepared, request.seen.read, request.by) ||
          !reaches(prepared, request.seen.written, request.by))
        return BW_FALLBACK_MEMORY;
      if (((request.seen.read.bits | request.seen.written.bits) & 15) != 0) return BW_FALLBACK_NOT_ALIGNED;
      if (!request.capturing) return BW_FALLBACK_NONE;
      return prepared.kernels->has_room_for_graph(request.blocks, request.seen) ? BW_FALLBACK_NONE
                                                                                : BW_FALLBACK_CAPTURING;
    default:
      return BW_FALLBACK_FAILED;
  }
}

int Plan::find_gpu(Request& request) const {
  if (is_switched_off()) return BW_FALLBACK_SWITCHED_OFF;
  if (other_machine_) return BW_FALLBACK_OTHER_MACHINE;
  const StreamPlace place = driver_->place_of(request.stream);
  if (place.other_context) return BW_FALLBACK_OTHER_CONTEXT;
  if (!place.usable ||
      prepared_[static_cast<std::size_t>(place.gpu)].load(std::memory_order_acquire) == nullptr ||
      !is_there(place.gpu))
    return BW_FALLBACK_NOT_PREPARED;
  request.by = place.gpu;
  return BW_FALLBACK_NONE;
}

Choice Plan::choose(Request& request) {
  const auto driver_call = [](int fallback) {
    return Choice{BW_METHOD_DEFAULT, fallback, 0, 0, nullptr, nullptr};
  };
  const Survey& seen = request.seen;
  if (seen.read.place == kUnknown || seen.written.place == kUnknown) return driver_call(BW_FALLBACK_MEMORY);
  const Path* path = path_of(seen.read.place, seen.written.place, request.by);
  if (path == nullptr || path->grids.empty()) return driver_call(BW_FALLBACK_NOT_MEASURED);

  const auto count = static_cast<double>(request.blocks.count);
  const Amount amount(static_cast<double>(seen.total_bytes) / count, count);
  const std::optional<Estimate> usual = estimate(path->grids[0], amount);
  if (!usual) return driver_call(BW_FALLBACK_NOT_MEASURED);
  const Prepared* prepared = prepared_[static_cast<std::size_t>(request.by)].load(std::memory_order_acquire);
  Choice best{BW_METHOD_DEFAULT, BW_FALLBACK_NO_LEAD, usual->ns, usual->ns, nullptr, nullptr};
  Choice sparing = best;  // the fastest of those that occupy fewer multiprocessors
  double best_refused_ns = usual->ns;
  std::optional<bool> capturing;
  for (const Grid& grid : path->grids) {
    const std::optional<Estimate> found = estimate(grid, amount);
    if (!found || !found->leads || found->ns >= (found->spares ? sparing.ns : best.ns)) continue;
    // A lead beyond the largest copy is assumed only where no larger one was measured by any method.
    if (found->beyond && found->row->bytes < usual->row->bytes) continue;
    if (!seen.uniform) {  // a mean size that leads is not enough where large blocks are slower
      const auto largest = estimate(grid, Amount(static_cast<double>(seen.largest), count));
      if (!largest || !largest->leads) continue;
    }
    if (!capturing) capturing = driver_->is_capturing(request.stream);
    request.capturing = *capturing;
    const int refused = obstacle(grid, request, *prepared);
    const Choice candidate{grid.method, BW_FALLBACK_NONE, found->ns, usual->ns, &grid, found->row};
    if (refused == BW_FALLBACK_NONE) {
      if (found->ns < best.ns) best = candidate;
      if (found->spares) sparing = candidate;
    } else if (best.method == BW_METHOD_DEFAULT && found->ns < best_refused_ns) {
      best.fallback = refused;
      best_refused_ns = found->ns;
    }
  }
  return sparing.grid != nullptr && sparing.ns <= kNearlyAsFast * best.ns ? sparing : best;
}

bool Plan::enqueue(const Request& request, Choice& choice, int* code) {
  const Prepared* prepared = prepared_[static_cast<std::size_t>(request.by)].load(std::memory_order_acquire);
  if (enqueue_on(request, *prepared, choice, code)) return true;
  choice.method = BW_METHOD_DEFAULT;
  return false;
}

bool Plan::enqueue_on(const Request& request, const Prepared& prepared, Choice& choice, int* code) {
  choice.fallback = BW_FALLBACK_FAILED;
  if (choice.method == BW_METHOD_BATCH) {
    if (!driver_->has_batch(request.stream)) return false;
    *code = copy_batch(request);
    if (*code != 0) return false;  // a batch is enqueued as a whole or not at all
  } else if (choice.method == BW_METHOD_RELAY) {
    const NonEmpty& blocks = request.blocks;
    if (blocks.count != 1) return false;  // parse_plan() lets no plan have others
    const Relays::Copy copy{blocks.to[0],  blocks.from[0], blocks.bytes(0), request.stream, request.by,
                            prepared.fork, choice.grid,    choice.row,      choice.ns};
    const Relays::Outcome outcome = relays_.enqueue(copy, code);
    if (outcome == Relays::Outcome::busy) choice.fallback = BW_FALLBACK_BUSY;
    if (outcome != Relays::Outcome::done) return false;
  } else if (choice.method == BW_METHOD_KERNEL || choice.method == BW_METHOD_BULK) {
    const Kernels::Outcome outcome = prepared.kernels->enqueue(
        {request.blocks, request.seen, request.stream, request.capturing}, *choice.grid, code);
    if (outcome == Kernels::Outcome::busy) choice.fallback = BW_FALLBACK_BUSY;
    if (outcome != Kernels::Outcome::done) return false;
  } else {
    return false;
  }
  choice.fallback = BW_FALLBACK_NONE;
  return true;
}

int Plan::copy_batch(const Request& request) const {
  // The driver's arguments are arrays that it might write.
  struct Lists {
    std::vector<void*> to;
    std::vector<const void*> from;
    std::vector<std::size_t> sizes;
  };
  auto& [to, from, sizes] = of_this_thread<Lists>();
  const NonEmpty& blocks = request.blocks;
  to.assign(blocks.to, blocks.to + blocks.count);
  from.assign(blocks.from, blocks.from + blocks.count);
  sizes.resize(blocks.count);
  for (std::size_t k = 0; k < blocks.count; ++k) sizes[k] = blocks.bytes(k);
  return driver_->copy_batch(to.data(), from.data(), sizes.data(), sizes.size(), request.stream);
}

void Plan::count(const Choice& choice, std::uint64_t bytes) {
  const auto method = static_cast<std::size_t>(choice.method);
  counts_.calls[method].fetch_add(1, std::memory_order_relaxed);
  counts_.bytes[method].fetch_add(bytes, std::memory_order_relaxed);
  if (choice.method == BW_METHOD_DEFAULT)
    counts_.fallbacks[static_cast<std::size_t>(choice.fallback)].fetch_add(1, std::memory_order_relaxed);
}

void Plan::fill(bw_statistics& statistics) const {
  for (std::size_t k = 0; k < BW_METHODS; ++k) {
    statistics.calls[k] = counts_.calls[k].load(std::memory_order_relaxed);
    statistics.bytes[k] = counts_.bytes[k].load(std::memory_order_relaxed);
  }
  for (std::size_t k = 0; k < BW_FALLBACKS; ++k)
    statistics.fallbacks[k] = counts_.fallbacks[k].load(std::memory_order_relaxed);
  statistics.staging_bytes = relays_.staging_bytes();
}

}  // namespace byteways::copy_library
