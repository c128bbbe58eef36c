// The host's virtual time and what makes it pass: calls that take their time, waiting, and timers. The engine
// follows; it is never ahead of the host between two calls.
//
// Threads that join are actors, each with a clock of its own. A call of an actor proceeds only when no other
// that runs has less time (of equals the lower rank goes first), so that what happens does not depend on how
// the operating system schedules threads. Without actors there is one clock, the process's.
//
// An actor that passes the turn on wakes the one whose turn it is, and no other. To wake a thread costs more
// than most calls, and so a thread can have a part of its program carried: the parts of all actors then are
// fibres of one more thread, the carrier.
//
// A process has one timeline, and it outlives the machine: actors that wait in MPI do not notice a restart.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "simulator/engine/engine.hpp"
#include "simulator/engine/fibre.hpp"
#include "simulator/engine/timers.hpp"

namespace byteways::sim {

using Lock = std::unique_lock<std::mutex>;  // of the one mutex that guards the machine

// What a thread waits for.
struct Wait {
  std::function<bool()> done;
  std::function<std::string()> what;  // of a message: `rank 0 waits for …`
  bool in_mpi = false;                // the machine may be restarted meanwhile
  bool hopeless = false;              // for nothing that could ever happen
};

// What a deadlock is the fault of: a rank that does not come, or a GPU that has failed, -1: none; or NCCL or
// RCCL, which refused a call of some rank.
struct AtFault {
  int rank = -1, gpu = -1;
  bool library = false;
};

class Timeline {
 public:
  static Timeline& of_process();
  std::mutex& mutex() { return mutex_; }
  // Another machine is played from now on: all clocks are 0, and no timer is left.
  void play(Engine& engine);

  // This thread is actor `rank` of `size` until it leaves or ends. The others do not run before all have
  // joined. Throws Failure (invalid) for a rank that is there, and for another size.
  void join(Lock& lock, int rank, int size);
  void leave(Lock& lock);
  // Runs `body` as this thread's and returns when it has ended: of an actor as a fibre of the carrier. It
  // must throw nothing and hold no lock that another actor takes while it calls the machine. Python cannot
  // run there.
  void carry(Lock& lock, const std::function<void()>& body);
  // What is to be done when an actor leaves or dies, under the mutex; kept for ever.
  void when_gone(std::function<void(int)> action) { gone_ = std::move(action); }
  // What else a deadlock's message says of who waits for whom, and, before that, of its cause: in words,
  // empty for nothing. Kept for ever.
  void when_stuck(std::function<std::string()> tells) { stuck_tells_.push_back(std::move(tells)); }
  void when_broken(std::function<std::string()> tells, std::function<AtFault()> fault) {
    broken_tells_ = std::move(tells);
    broken_fault_ = std::move(fault);
  }
  // Of the last deadlock of these actors.
  const AtFault& at_fault() const { return at_fault_; }
  // An actor that others need not wait for any more.
  void die(Lock& lock);
  // Rank of this thread, kNoActor for one that has not joined, and how many there are with it.
  static int actor();
  int actors() const { return size_; }
  // Another number for each set of actors, from the first that joins until the last has left.
  std::uint64_t team() const { return team_; }

  std::uint64_t thread_turns() const { return thread_turns_; }

  Picoseconds now() const;
  // Every call's first act: what the host wrote into gates' words before it is seen, the call takes its time,
  // and timers go off that are due by then.
  void enter(Lock& lock, double cost_ns);
  // Lets happen what happens by now.
  void catch_up();
  // Lets things happen until `wait` is done; time jumps to the next timer when nothing else is left. When
  // nothing is left at all, throws Failure (internal) that says which actor waits for what, or never returns
  // if an operation hangs: as a real driver would.
  void wait_until(Lock& lock, const Wait& wait);
  // Waits until all other actors wait in MPI, have left or have not joined, and `ready` says so, too.
  void wait_for_restart(Lock& lock, const std::function<bool()>& ready);

  std::uint64_t start_timer(std::int64_t delay_ns, std::function<void()> action);
  // Afterwards the action neither runs nor will run, unless it is the action that calls.
  void cancel_timer(Lock& lock, std::uint64_t ticket);

 private:
  struct Actor {
    enum class State { expected, running, waiting, left, dead } state = State::expected;
    Picoseconds clock = 0;
    const Wait* wait = nullptr;          // while it waits
    std::optional<std::string> failure;  // that ended its wait
    Fibre* fibre = nullptr;              // that it is, null: it is a thread
    std::condition_variable turned;      // of the thread: its turn may have come
    bool runs() const { return state == State::expected || state == State::running; }
  };

  Actor* self();  // null for a thread that is no actor
  void list_actors();
  Actor* least();  // of those that run or are still to join, null when there is none
  bool is_turn_of(const Actor& actor) { return least() == &actor; }
  Actor* next_to_go();  // null: nobody can, before another has joined
  void pass_on();       // wakes it
  void wake_everyone();
  void rest(Lock& lock, Actor& actor);  // until something may have changed for it
  void carry_fibres();                  // what the carrier does, while there are any
  void await_turn(Lock& lock, Actor& actor);
  void wait_alone(Lock& lock, const Wait& wait);
  void wait_among_actors(Lock& lock, Actor& actor, const Wait& wait);
  bool any_done() const;
  void wake(Picoseconds at);             // the actors whose waits are done
  void drive(Lock& lock, Actor& actor);  // all actors wait: lets the next thing happen
  void fail_all();                       // nothing is left to happen
  std::string who_waits() const;
  int rank_at_fault() const;
  void close(Lock& lock, int rank, Actor::State how);
  void go_off(Lock& lock);      // the next timer
  bool acts_elsewhere() const;  // an action is under way on another thread

  std::mutex mutex_;
  Engine* engine_ = nullptr;
  Picoseconds host_ = 0;  // of threads that are no actors
  int size_ = 0;
  std::uint64_t team_ = 0;
  std::function<void(int)> gone_;
  std::vector<std::function<std::string()>> stuck_tells_;
  std::function<std::string()> broken_tells_;
  std::function<AtFault()> broken_fault_;
  AtFault at_fault_;
  std::map<int, Actor> actors_;     // by rank; below 0: threads that wait and are no actors
  std::vector<Actor*> in_order_;    // of ranks: the same, to look at all of them
  std::uint64_t thread_turns_ = 0;  // waits of threads for their turns that have ended
  int carried_ = 0;                 // fibres that have not ended
  bool carrier_is_there_ = false;
  std::condition_variable to_carry_;     // of the carrier: it may be a fibre's turn
  std::condition_variable carried_out_;  // a fibre has ended
  Timers timers_;
  // Actions run without the mutex, for they may take one that is held by somebody who waits for this one:
  // which are under way, and on which thread.
  std::map<std::uint64_t, std::thread::id> running_;
  std::condition_variable ended_;
};

}  // namespace byteways::sim
