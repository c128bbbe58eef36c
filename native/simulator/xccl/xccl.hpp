// The simulated NCCL or RCCL: ranks with one GPU each, whose calls enqueue on streams of the machine.
//
// A call puts two operations into the rank's stream: one tells that its GPU has come to the call, the other
// ends when the call's data have arrived. Between them, when all ranks that take part have come, flows move
// the bytes over the machine's links, from GPU to GPU in the way that algorithms.hpp finds. Parameters
// are [xccl] of the model.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulator/machine/streams.hpp"
#include "simulator/mpi/bytes.hpp"
#include "simulator/xccl/algorithms.hpp"

namespace byteways::sim::xccl {

// What a rank passes to a collective. `bytes` is of one rank's block where blocks are exchanged.
struct Arguments {
  const void* source = nullptr;
  void* destination = nullptr;
  std::uint64_t bytes = 0;
  int root = 0;
};

// The parts of the machine that calls use.
struct Machine {
  const Model& model;
  Engine& engine;
  Streams& streams;
  Kernels& kernels;
};

// A call, or the calls of a group on one stream: it waits until `open` exchanges have ended.
struct Batch {
  int open = 0;
  std::shared_ptr<Mark> ended = std::make_shared<Mark>();
};

// Data that move when all of `expected` ranks have come: the flows, then the effect.
struct Exchange {
  int expected = 0, arrived = 0, moving = 0;
  bool by_engine = false;  // a copy engine moves its data, and not the kernels of the ranks
  Way way;
  std::function<void()> effect;
  std::vector<std::shared_ptr<Batch>> waiting;
};

class Comm : public std::enable_shared_from_this<Comm> {
 public:
  explicit Comm(int size) : ranks_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(ranks_.size()); }
  // Throws Failure (invalid) when the rank is there already, or the GPU has another rank.
  void join(int rank, int gpu);
  bool complete() const { return joined_ == size(); }
  int gpu(int rank) const { return ranks_.at(static_cast<std::size_t>(rank)).gpu; }

  // The exchange of a rank's next collective, with its arguments; of all ranks it is the same one. Throws
  // Failure (invalid) when another rank called something else there.
  std::shared_ptr<Exchange> collective(Machine& machine, int rank, Kind kind, const Arguments& arguments);
  // The exchange of the next message from one rank to another; each end calls it once.
  std::shared_ptr<Exchange> message(Machine& machine, int from, int to, bool sends, void* data,
                                    std::uint64_t bytes);
  // Number of a window of which this is the rank's part: all ranks register one after the other in the same
  // order.
  std::size_t register_window(int rank, void* data);
  bool window_complete(std::size_t number) const;
  // One-sided: the exchange of a put into another rank's part of a window, which signals that rank at its
  // end, and that of the next wait for so many signals.
  std::shared_ptr<Exchange> put(Machine& machine, int from, int to, void* data, std::size_t window,
                                std::uint64_t offset, std::uint64_t bytes);
  std::shared_ptr<Exchange> signals(Machine& machine, int from, int to, int count);
  // Called when a rank's GPU has come to the exchange. Where a link fails, its data never arrive, as with the
  // libraries: whoever waits for them learns of the link when nothing else is left to happen.
  void arrive(Machine& machine, const std::shared_ptr<Exchange>& exchange);
  // What `gpu` waits for in this communicator, and the end of all that.
  void note(int gpu, const std::shared_ptr<Batch>& batch);
  void abort(Machine& machine, int rank);
  // Which GPUs wait for which others to make a call, for the message of a deadlock; empty: none.
  std::string who_waits() const;

 private:
  struct Waiting {
    int gpu;
    std::weak_ptr<Batch> batch;
  };
  struct Rank {
    int gpu = -1;
    std::uint64_t collectives = 0;
    std::size_t windows = 0;
  };
  struct Collective {
    Kind kind;
    std::vector<Arguments> of_rank;
    std::shared_ptr<Exchange> exchange = std::make_shared<Exchange>();
    std::vector<bool> called;  // by rank
  };
  struct Message {
    void *from = nullptr, *to = nullptr;
    std::uint64_t bytes = 0;
    std::shared_ptr<Exchange> exchange = std::make_shared<Exchange>();
  };
  struct Channel {  // of messages from one rank to another
    std::uint64_t sent = 0, received = 0;
    std::map<std::uint64_t, std::shared_ptr<Message>> open;
    std::uint64_t signalled = 0, awaited = 0;  // by puts that have ended, and by waits that were called
    std::vector<std::pair<std::uint64_t, std::shared_ptr<Exchange>>> waits;  // until so many have signalled
  };
  void serve_waits(Machine& machine, Channel& channel);
  void plan(Machine& machine, const std::shared_ptr<Collective>& collective);
  Ranks known_ranks(Machine& machine);
  // Starts one flow of an exchange.
  void send(Machine& machine, const Exchange& exchange, std::size_t edge, std::function<void()> end);
  void enqueue(Machine& machine, std::pair<int, int> edge, std::unique_ptr<Operation> operation,
               std::function<void()> end);
  Engine::Queue& queue(Machine& machine, std::pair<int, int> edge);

  std::vector<Rank> ranks_;
  std::vector<Waiting> waiting_;
  int joined_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Collective>> collectives_;
  std::map<std::pair<int, int>, Channel> channels_;
  std::vector<std::vector<void*>> windows_;  // [window][rank]
  std::vector<int> gpus_;
  std::vector<std::vector<int>> rings_;
  std::map<std::pair<int, int>, Engine::Queue*> queues_;
};

// Communicators by the number in their unique id. A process has one library.
class Library {
 public:
  static Library& of_process();

  std::uint64_t new_id() { return ++ids_; }
  // Why a call failed on its own rank: the others wait for it. Empty: none has, or a machine was loaded
  // since.
  const std::string& refusal() const { return refusal_; }
  void refuse(std::string why) { refusal_ = std::move(why); }
  std::string who_waits() const;  // of all communicators
  // Blocks until all ranks have joined; within a group end_group() does. Returns the communicator.
  std::shared_ptr<Comm> join(Lock& lock, std::uint64_t id, int size, int rank, int gpu);

  // A call on a stream. Its exchange is made when the call is submitted, and again each time a recording of
  // the stream is played.
  struct Call {
    std::shared_ptr<Comm> comm;
    Stream* stream;
    std::function<std::shared_ptr<Exchange>()> exchange;
  };
  // A call of this thread: alone, or within its group, whose calls may be of several ranks.
  void begin_group();
  void end_group(Lock& lock, Machine& machine);
  void call(Lock& lock, Machine& machine, const Call& call);

 private:
  struct Group {
    int depth = 0;
    std::vector<Call> calls;
    std::vector<std::shared_ptr<Comm>> joined;
  };

  std::uint64_t ids_ = 0;
  std::string refusal_;
  std::map<std::uint64_t, std::weak_ptr<Comm>> comms_;
  std::map<int, Group> groups_;  // by actor
};

}  // namespace byteways::sim::xccl
