// See engine.hpp.
#include "simulator/engine/engine.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

namespace byteways::sim {
namespace {

constexpr double kPerSecond = 1e12;  // picoseconds
// A longer flow never ends: 2^62 picoseconds are 53 days, and their sums still fit.
constexpr double kLongest = 0x1p62;
// Fraction of a kernel's usable threads that must be free for it to start.
constexpr double kLeastRoom = 0.5;

// Threads of a kernel beyond the available room wait for its own blocks to end.
double filled(double room, double threads) { return std::min(room, threads); }

}  // namespace

int Engine::add_resource(double bytes_per_s) {
  capacities_.push_back(bytes_per_s);
  return static_cast<int>(capacities_.size()) - 1;
}

void Engine::set_capacity(int resource, double bytes_per_s) {
  capacities_.at(static_cast<std::size_t>(resource)) = bytes_per_s;
  rates_stale_ = true;
  settled_ = false;
}

int Engine::add_pool(int tokens) {
  tokens_.push_back(tokens);
  return static_cast<int>(tokens_.size()) - 1;
}

int Engine::add_processors(double threads) {
  processors_.push_back({threads, 0, 0, false});
  return static_cast<int>(processors_.size()) - 1;
}

Engine::Queue* Engine::add_queue() {
  queues_.push_back(std::make_unique<Queue>());
  return queues_.back().get();
}

bool Engine::idle(int actor) const {
  if (actor == kNoActor) return active_.empty();
  const auto found = pending_.find(actor);
  return found == pending_.end() || found->second == 0;
}

void Engine::enqueue(Queue& queue, std::unique_ptr<Operation> operation) {
  settled_ = false;
  if (operation->actor != kNoActor) ++pending_[operation->actor];
  if (queue.operations.empty()) active_.push_back(&queue);
  if (operation->latch.word != nullptr) latched_.push_back(operation.get());
  queue.operations.push_back(std::move(operation));
}

void Engine::poll(Picoseconds host, int actor) {
  std::erase_if(latched_, [this, host, actor](Operation* operation) {
    Latch& latch = operation->latch;
    if (latch.actor != actor && latch.actor != kNoActor) return false;
    if (std::atomic_ref<unsigned int>(*const_cast<unsigned int*>(latch.word)).load() < latch.target)
      return false;
    latch.opened = host;
    settled_ = false;
    return true;
  });
}

Picoseconds Engine::start_of(const Queue& queue) const {
  return std::max(queue.free_at, queue.operations.front()->ready);
}

bool Engine::can_start(const Operation& operation) const {
  if (operation.after && !operation.after->done()) return false;
  for (int pool : operation.pools)
    if (tokens_[static_cast<std::size_t>(pool)] == 0) return false;
  if (operation.processors < 0) return true;
  const Processors& processors = processors_[static_cast<std::size_t>(operation.processors)];
  if (processors.taken || (operation.all_processors && processors.running > 0)) return false;
  // Blocks start in any available room. With less than half of the room it needs, a kernel would mostly wait
  // for the previous one, so it waits as a whole.
  return processors.used + kLeastRoom * filled(processors.threads, operation.threads) <= processors.threads;
}

void Engine::start(Queue& queue) {
  Operation& operation = *queue.operations.front();
  for (int pool : operation.pools) --tokens_[static_cast<std::size_t>(pool)];
  if (operation.processors >= 0) {
    Processors& processors = processors_[static_cast<std::size_t>(operation.processors)];
    ++processors.running;
    processors.taken = operation.all_processors;
    processors.used += filled(processors.threads, operation.threads);
  }
  queue.rests_until = 0;
  begin_stage(operation);
  if (operation.on_start) {
    ++effects_;
    operation.on_start();
  }
  if (operation.never_ends) {
    operation.state_ = Operation::State::stuck;
    operation.until_ = kNever;
    ++stuck_;
  }
}

void Engine::finish(Queue& queue) {
  const std::unique_ptr<Operation> operation = std::move(queue.operations.front());
  queue.operations.pop_front();
  queue.free_at = now_;
  ++effects_;
  if (queue.operations.empty()) active_.erase(std::find(active_.begin(), active_.end(), &queue));
  for (int pool : operation->pools) ++tokens_[static_cast<std::size_t>(pool)];
  if (operation->processors >= 0) {
    Processors& processors = processors_[static_cast<std::size_t>(operation->processors)];
    --processors.running;
    processors.taken = false;
    processors.used -= filled(processors.threads, operation->threads);
  }
  if (operation->actor != kNoActor) --pending_[operation->actor];
  if (operation->mark) operation->mark->time = now_;
  if (operation->completed != nullptr) ++*operation->completed;
  if (operation->on_end) operation->on_end();
}

// Bytes that share nothing with others have the rate of their cap, as if nobody else were there: most copies
// of short messages, which stay in caches. They need no look at the rates when they begin, nor when they end.
void Engine::begin_stage(Operation& operation) {
  const Stage& stage = operation.stage();
  if (stage.awaits && operation.state_ != Operation::State::waiting) {
    operation.state_ = Operation::State::waiting;
    operation.until_ = stage.patience == kNever ? kNever : now_ + stage.patience;
    return;
  }
  operation.state_ = Operation::State::fixed;
  operation.until_ = now_ + stage.fixed;
  const bool alone = stage.bytes > 0 && stage.flow.demands.empty() && stage.flow.cap > 0 &&
                     stage.flow.waits_at < 0 && operation.latch.word == nullptr;
  const double takes = alone ? stage.bytes / stage.flow.cap * kPerSecond : kLongest;
  operation.alone_ = takes < kLongest;
  if (operation.alone_) operation.until_ += std::llround(takes);
}

bool Engine::advance(Queue& queue) {
  if (queue.rests_until > now_) return false;
  queue.rests_until = 0;
  Operation& operation = *queue.operations.front();
  const Stage& stage = operation.stage();
  if (operation.state_ == Operation::State::waiting) {
    if (!stage.awaits->done() && operation.until_ > now_) return false;
    begin_stage(operation);
    return true;
  }
  if (operation.state_ == Operation::State::fixed) {
    if (operation.until_ > now_) return false;
    if (operation.latch.word != nullptr && (operation.latch.opened < 0 || operation.latch.opened > now_))
      return false;
    if (stage.bytes > 0 && !operation.alone_) {
      operation.state_ = Operation::State::flowing;
      operation.until_ = kNever;
      operation.left_ = stage.bytes;
      flowing_.push_back(&operation);
      rates_stale_ = true;
      return true;
    }
  } else if (operation.state_ == Operation::State::flowing) {
    if (operation.until_ > now_) return false;
    flowing_.erase(std::find(flowing_.begin(), flowing_.end(), &operation));
    rates_stale_ = true;
  } else {
    return false;
  }
  if (operation.is_last_stage()) {
    finish(queue);
  } else {
    if (stage.on_end) {
      ++effects_;
      stage.on_end();
    }
    ++operation.stage_;
    operation.state_ = Operation::State::queued;
    begin_stage(operation);
  }
  return true;
}

// Ends and starts whatever is due, the longest-waiting first; some operations take no time.
void Engine::settle() {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < active_.size();) {
      Queue* const queue = active_[k];
      if (advance(*queue)) {
        changed = true;
        if (k < active_.size() && active_[k] != queue) continue;  // the next queue has taken its place
      }
      ++k;
    }
    waiting_.clear();
    for (Queue* queue : active_) {
      if (queue->rests_until > now_ || queue->operations.front()->state_ != Operation::State::queued)
        continue;
      const Picoseconds since = start_of(*queue);
      if (since <= now_) waiting_.emplace_back(since, queue);
    }
    if (waiting_.size() > 1)
      std::stable_sort(waiting_.begin(), waiting_.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [since, queue] : waiting_)
      if (can_start(*queue->operations.front())) {
        start(*queue);
        changed = true;
      }
  }
  if (rates_stale_) find_rates();
}

void Engine::find_rates() {
  const double passed = static_cast<double>(now_ - rates_since_) / kPerSecond;
  flows_.clear();
  for (Operation* operation : flowing_) {
    Flow& flow = operation->stage().flow;
    operation->left_ = std::max(0.0, operation->left_ - flow.rate * passed);
    flows_.push_back(&flow);
  }
  rates_since_ = now_;
  rates_stale_ = false;
  if (flows_.empty()) return;
  share(capacities_, flows_);
  for (Operation* operation : flowing_) {
    const double rate = operation->stage().flow.rate;
    const double takes = rate > 0 ? operation->left_ / rate * kPerSecond : kLongest;
    operation->until_ = takes < kLongest ? now_ + std::llround(takes) : kNever;
  }
}

Picoseconds Engine::next_instant() {
  Picoseconds next = kNever;
  for (Queue* queue : active_) {
    const Operation& operation = *queue->operations.front();
    Picoseconds at = kNever;
    if (operation.state_ == Operation::State::queued) {
      at = start_of(*queue);
      queue->rests_until = at > now_ ? at : 0;
      if (at <= now_) at = kNever;  // waits for another event
    } else if (operation.state_ == Operation::State::waiting) {
      at = operation.until_;  // or when the mark is set, which is another event
    } else if (operation.state_ == Operation::State::fixed && operation.latch.word != nullptr) {
      if (operation.latch.opened >= 0) at = std::max(operation.until_, operation.latch.opened);
    } else {
      at = queue->rests_until = operation.until_;
    }
    next = std::min(next, at);
  }
  return next;
}

bool Engine::run(Picoseconds limit, const std::function<bool()>& done) {
  for (std::uint64_t seen = ~effects_;;) {
    if (!settled_) {
      settle();
      next_ = next_instant();
      settled_ = true;
    }
    if (done && std::exchange(seen, effects_) != effects_ && done()) return true;
    if (next_ > limit || next_ == kNever) return false;
    now_ = std::max(now_, next_);
    settled_ = false;
  }
}

}  // namespace byteways::sim
