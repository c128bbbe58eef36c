// See timeline.hpp: the threads that share the machine as ranks, whose turn it is, and what wakes those that
// wait. Whoever runs with the least time lets things happen up to there; when all wait, any of them does.
#include <unistd.h>

#include <algorithm>

#include "simulator/engine/thread_state.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/machine/common.hpp"

namespace byteways::sim {
namespace {

// A thread that ends without leaving must not hold the others back.
struct OwnState : ThreadState {
  ~OwnState() {
    if (rank == kNoActor) return;
    Timeline& time = Timeline::of_process();
    Lock lock(time.mutex());
    time.leave(lock);
  }
};
thread_local OwnState own_state;
// Looked at in every call; the library is loaded once, and a pointer fits what the loader keeps free for it.
__attribute__((tls_model("initial-exec"))) constinit thread_local ThreadState* acted_for = nullptr;

}  // namespace

ThreadState& this_thread() { return acted_for != nullptr ? *acted_for : own_state; }
ThreadState* act_for(ThreadState* state) { return std::exchange(acted_for, state); }

int process_of_caller() {
  constexpr int kOtherProcess = -2;
  return this_thread().other_process ? kOtherProcess : Timeline::actor();
}

int Timeline::actor() { return this_thread().rank; }

Timeline::Actor* Timeline::self() {
  const auto found = actors_.find(actor());
  return found == actors_.end() ? nullptr : &found->second;
}

void Timeline::list_actors() {
  in_order_.clear();
  for (auto& [rank, actor] : actors_) in_order_.push_back(&actor);
}

Timeline::Actor* Timeline::least() {
  Actor* least = nullptr;
  for (Actor* const actor : in_order_)
    if (actor->runs() && (least == nullptr || actor->clock < least->clock)) least = actor;
  return least;
}

// When all wait, the first that does lets the next thing happen.
Timeline::Actor* Timeline::next_to_go() {
  if (Actor* const runs = least()) return runs->state == Actor::State::running ? runs : nullptr;
  const auto found = std::find_if(in_order_.begin(), in_order_.end(),
                                  [](const Actor* each) { return each->state == Actor::State::waiting; });
  return found == in_order_.end() ? nullptr : *found;
}

void Timeline::pass_on() {
  Actor* const next = next_to_go();
  if (next == nullptr) return;
  (next->fibre != nullptr ? to_carry_ : next->turned).notify_one();
}

void Timeline::wake_everyone() {
  for (auto& [rank, actor] : actors_) actor.turned.notify_all();
  to_carry_.notify_all();
}

void Timeline::rest(Lock& lock, Actor& actor) {
  Fibre* const fibre = Fibre::current();
  if (fibre == nullptr) {
    actor.turned.wait(lock);
    ++thread_turns_;
    return;
  }
  actor.fibre = fibre;
  ThreadState* const state = act_for(nullptr);
  fibre->rest();  // the mutex stays locked: it is the next fibre's, or the carrier's
  act_for(state);
}

void Timeline::carry(Lock& lock, const std::function<void()>& body) {
  Actor* const me = self();
  if (me == nullptr || Fibre::current() != nullptr) {
    lock.unlock();
    body();
    return lock.lock();
  }
  ThreadState* const state = &this_thread();
  Fibre fibre([&] {
    act_for(state);
    mutex_.unlock();
    body();
    mutex_.lock();
    act_for(nullptr);
    --carried_;
    carried_out_.notify_all();
  });
  me->fibre = &fibre;
  ++carried_;
  if (!std::exchange(carrier_is_there_, true)) std::thread([this] { carry_fibres(); }).detach();
  pass_on();
  carried_out_.wait(lock, [&] { return fibre.ended(); });
  if (Actor* const still = self()) still->fibre = nullptr;
}

void Timeline::carry_fibres() {
  Lock lock(mutex_);
  while (carried_ > 0) {
    Actor* const next = next_to_go();
    if (next != nullptr && next->fibre != nullptr && !next->fibre->ended()) {
      next->fibre->resume();
    } else {
      pass_on();
      to_carry_.wait(lock);
    }
  }
  carrier_is_there_ = false;
}

void Timeline::join(Lock& lock, int rank, int size) {
  if (size < 1 || rank < 0 || rank >= size) throw Failure(Code::invalid, "there is no such rank");
  if (actor() != kNoActor) throw Failure(Code::invalid, "this thread has joined already");
  if (size_ == 0) {
    size_ = size;
    ++team_;
    at_fault_ = {};
    for (int each = 0; each < size; ++each) actors_[each].clock = host_;
    list_actors();
  }
  if (size != size_) throw Failure(Code::invalid, "ranks of another size have joined");
  Actor& me = actors_.at(rank);
  if (me.state != Actor::State::expected && me.state != Actor::State::left)
    throw Failure(Code::invalid, "rank " + std::to_string(rank) + " has joined already, or is dead");
  if (me.state == Actor::State::left) me.clock = std::max(me.clock, engine_->now());
  me.state = Actor::State::running;
  this_thread().rank = rank;
  wake_everyone();
  (void)lock;
}

void Timeline::leave(Lock& lock) {
  const int rank = std::exchange(this_thread().rank, kNoActor);
  if (rank == kNoActor) return;
  const auto found = actors_.find(rank);
  if (found != actors_.end() && found->second.state != Actor::State::dead)
    return close(lock, rank, Actor::State::left);
  wake_everyone();
}

void Timeline::die(Lock& lock) {
  const int rank = std::exchange(this_thread().rank, kNoActor);
  if (rank != kNoActor) close(lock, rank, Actor::State::dead);
}

void Timeline::close(Lock& lock, int rank, Actor::State how) {
  if (gone_ && rank >= 0) gone_(rank);
  Actor& actor = actors_.at(rank);
  host_ = std::max(host_, actor.clock);
  actor.state = how;
  if (rank < 0) actors_.erase(rank);
  const bool empty = std::all_of(actors_.begin(), actors_.end(), [](const auto& each) {
    return each.second.state == Actor::State::left || each.second.state == Actor::State::dead;
  });
  if (empty) {
    actors_.clear();
    size_ = 0;
    ++team_;
  }
  list_actors();
  wake_everyone();
  pass_on();
  (void)lock;
}

bool Timeline::any_done() const {
  for (const Actor* const actor : in_order_)
    if (actor->state == Actor::State::waiting && actor->wait->done()) return true;
  return false;
}

void Timeline::wake(Picoseconds at) {
  for (Actor* const actor : in_order_) {
    if (actor->state != Actor::State::waiting || !actor->wait->done()) continue;
    actor->state = Actor::State::running;
    actor->clock = std::max(actor->clock, at);
  }
}

void Timeline::await_turn(Lock& lock, Actor& actor) {
  for (;;) {
    while (!is_turn_of(actor)) {
      pass_on();  // its clock may have passed that of another
      rest(lock, actor);
    }
    const Picoseconds due = timers_.next();
    if (engine_->run(std::min(due, actor.clock), [this] { return any_done(); }))
      wake(engine_->now());
    else if (due <= actor.clock)
      go_off(lock);
    else
      return;
  }
}

void Timeline::wait_among_actors(Lock& lock, Actor& actor, const Wait& wait) {
  await_turn(lock, actor);
  engine_->poll(actor.clock, Timeline::actor());
  if (engine_->run(actor.clock, wait.done)) return;
  actor.wait = &wait;
  actor.state = Actor::State::waiting;
  while (actor.state == Actor::State::waiting) {
    if (least() == nullptr) {
      drive(lock, actor);
    } else {
      pass_on();
      rest(lock, actor);
    }
  }
  actor.wait = nullptr;
  if (const auto failure = std::exchange(actor.failure, std::nullopt))
    throw Failure(Code::internal, *failure);
  await_turn(lock, actor);
}

void Timeline::drive(Lock& lock, Actor& actor) {
  const Picoseconds due = timers_.next(), before = actor.clock;
  if (engine_->run(due, [this] { return any_done(); })) return wake(engine_->now());
  if (due != kNever) {
    // What they wait for comes later still. The action may call on this thread, and is not at its expense.
    for (auto& [rank, each] : actors_) each.clock = std::max(each.clock, due);
    actor.state = Actor::State::running;
    go_off(lock);
    actor.clock = std::max(before, due);
    actor.state = Actor::State::waiting;
  } else if (acts_elsewhere()) {
    ended_.wait(lock);
  } else if (!engine_->has_stuck()) {
    fail_all();
  } else {
    lock.unlock();
    for (;;) pause();  // whoever started this process has to notice
  }
}

std::string Timeline::who_waits() const {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (const auto& [rank, actor] : actors_) {
    const std::string name = rank < 0 ? "a thread that is no rank" : "rank " + std::to_string(rank);
    if (actor.state == Actor::State::waiting)
      add(name + " waits for " + actor.wait->what());
    else
      add(name + (actor.state == Actor::State::dead ? " is dead" : " has left"));
  }
  for (const auto& tells : stuck_tells_)
    if (const std::string part = tells(); !part.empty()) add(part);
  return text;
}

// The first that others wait for and that does not come any more.
int Timeline::rank_at_fault() const {
  for (const auto& [rank, actor] : actors_)
    if (rank >= 0 && (actor.state != Actor::State::waiting || actor.wait->hopeless)) return rank;
  return -1;
}

void Timeline::fail_all() {
  const std::string cause = broken_tells_ ? broken_tells_() : std::string();
  at_fault_ = cause.empty() ? AtFault{rank_at_fault(), -1, false} : broken_fault_();
  const std::string text =
      (cause.empty() ? "deadlock in the simulated program: " : cause + ", and so ") + who_waits();
  for (auto& [rank, actor] : actors_) {
    if (actor.state != Actor::State::waiting) continue;
    actor.failure = text;
    actor.state = Actor::State::running;
  }
  wake_everyone();
}

void Timeline::wait_for_restart(Lock& lock, const std::function<bool()>& ready) {
  const Actor* const me = self();
  const auto stands_still = [me](const auto& each) {
    const Actor& actor = each.second;
    if (&actor == me || each.first < 0) return true;
    if (actor.state == Actor::State::waiting) return actor.wait->in_mpi;
    return actor.state != Actor::State::running;
  };
  const auto done = [&] { return std::all_of(actors_.begin(), actors_.end(), stands_still) && ready(); };
  if (actors_.empty() || done()) return;
  wait_until(lock, {done, [] { return "all others to wait in MPI, to restart the machine"; }});
}

}  // namespace byteways::sim
