// The direct collectives on the simulated machine.
//
// The kernels of all ranks that belong together are one meeting. A rank's kernel comes to it when it starts,
// and waits, with patience, for the last rank. Then flows move the bytes, from GPU to GPU, and when all have
// ended so do the kernels. What they leave in memory is there when the last rank comes: nobody looks before
// its kernel ends.
//
// Between two barriers ranks run in any order (arguments.hpp). Here rank 0 loads and stores first, then rank
// 1 and so on, so that a rank that loads what another one stores without a barrier between gets wrong data.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "interfaces/direct/arguments.hpp"
#include "runtimes/mpi/table.hpp"
#include "simulator/machine/kernels.hpp"
#include "simulator/mpi/bytes.hpp"
#include "simulator/mpi/scratch.hpp"

namespace byteways::sim {
namespace {

constexpr Word kVectorBytes = 16;

enum class Play { flagged, pull, pull_in_place, two_shot, barrier };

struct Came {
  Place place;
  DirectArguments arguments;
  double threads = 0;
};

struct Meeting {
  explicit Meeting(unsigned ranks) : of_rank(ranks), here(ranks) {}
  std::vector<std::optional<Came>> of_rank;  // that have launched their kernels
  std::vector<bool> here;                    // whose kernels have started
  unsigned launched = 0, arrived = 0, moving = 0;
  std::shared_ptr<Mark> all_here = std::make_shared<Mark>(), moved = std::make_shared<Mark>();
};

struct Group {
  std::vector<std::uint64_t> launches;  // by rank
  std::map<std::uint64_t, std::shared_ptr<Meeting>> open;
  std::map<unsigned, Word> given_up;  // by rank: its latest mover that did
};
using Groups = std::map<const void*, Group>;  // by the workspace of the first rank

Word slot_of(const DirectArguments& a, Word operation) { return operation % a.slots * a.slot_stride; }

// Where GPUs have no access to each other, workspaces are in host memory.
bool through_host(Kernels& kernels, const DirectArguments& a) {
  const Block* block = kernels.memory().find(a.workspaces[0]);
  return block != nullptr && place_of(*block, 0).kind == Place::Kind::cpu;
}

// What a rank has loaded in an operation, and stores.
struct Loaded {
  std::shared_ptr<const mpi::Scratch> data;
  Word bytes = 0;
  char* to = nullptr;
  Place by;
};

// Operation k, as all ranks carry it out.
class Exchange {
 public:
  Exchange(Kernels& kernels, const Meeting& meeting, Play play, Word k)
      : bytes_(kernels),
        meeting_(&meeting),
        play_(play),
        k_(k),
        by_host_(through_host(kernels, meeting.of_rank[0]->arguments)) {}

  void apply() {
    // Each rank has all words of the others, or is past a barrier, before it stores any.
    const bool all_load_first = play_ == Play::flagged || play_ == Play::pull_in_place;
    for (unsigned rank = 0; rank < ranks(); ++rank) {
      load(rank);
      if (!all_load_first) store();
    }
    store();
  }

 private:
  unsigned ranks() const { return static_cast<unsigned>(meeting_->of_rank.size()); }
  const DirectArguments& of(unsigned rank) const { return meeting_->of_rank[rank]->arguments; }
  Place place(unsigned rank) const { return meeting_->of_rank[rank]->place; }
  // A rank knows the buffers of its own; those of others are as they know them.
  const char* source(unsigned rank) const { return of(rank).sources[rank] + slot_of(of(rank), k_); }
  char* destination(unsigned rank) const { return of(rank).destinations[rank] + slot_of(of(rank), k_); }

  void copy(void* to, const void* from, Word size, Place by) {
    if (by_host_)
      bytes_.write(to, bytes_.read(from, size));
    else
      bytes_.copy(to, from, size, by);
  }

  void load(unsigned rank) {
    const DirectArguments& a = of(rank);
    if (play_ == Play::two_shot) return load_block(rank);
    if (a.adds == 0) return load_messages(rank);
    // An allreduce whose loads all precede the stores has one sum.
    if (play_ != Play::pull && rank > 0 && a.source_stride == 0) {
      loaded_.push_back({loaded_.front().data, a.bytes, destination(rank), place(rank)});
      return;
    }
    loaded_.push_back({sum(rank, rank * a.source_stride, a.bytes), a.bytes, destination(rank), place(rank)});
  }

  void load_messages(unsigned rank) {
    const DirectArguments& a = of(rank);
    for (unsigned from = 0; from < ranks(); ++from) {
      const char* message = source(from) + rank * a.source_stride;
      char* to = destination(rank) + from * a.destination_stride;
      if (to == message) continue;
      auto data = std::make_shared<const mpi::Scratch>(to, a.bytes);
      copy(data->data(), message, a.bytes, place(rank));
      loaded_.push_back({std::move(data), a.bytes, to, place(rank)});
    }
  }

  // This rank's block of the sum, for the destinations of all.
  void load_block(unsigned rank) {
    const DirectArguments& a = of(rank);
    const Word begin = rank * a.source_stride;
    if (begin >= a.bytes) return;
    const Word size = std::min<Word>(a.bytes - begin, a.source_stride);
    const auto data = sum(rank, begin, size);
    for (unsigned to = 0; to < ranks(); ++to)
      loaded_.push_back({data, size, destination(to) + begin, place(rank)});
  }

  std::shared_ptr<const mpi::Scratch> sum(unsigned rank, Word offset, Word size) {
    const int element = of(rank).element_bytes == 4 ? kUnsigned32 : kUnsigned64;
    auto sum = std::make_shared<const mpi::Scratch>(destination(rank), size);
    copy(sum->data(), source(0) + offset, size, place(rank));
    for (unsigned from = 1; from < ranks(); ++from)
      bytes_.add(sum->data(), source(from) + offset, size, element);
    return sum;
  }

  void store() {
    for (const Loaded& one : loaded_) copy(one.to, one.data->data(), one.bytes, one.by);
    loaded_.clear();
  }

  mpi::Bytes bytes_;
  const Meeting* meeting_;
  Play play_;
  Word k_;
  bool by_host_;
  std::vector<Loaded> loaded_;
};

// Sums in place differ after each operation; else the last ones on every slot are all that is left.
void apply_all(Kernels& kernels, const Meeting& meeting, Play play) {
  const DirectArguments& a = meeting.of_rank[0]->arguments;
  const bool in_place =
      a.adds != 0 && kernels.memory().find(a.sources[0]) == kernels.memory().find(a.destinations[0]);
  const Word end = a.first_operation + a.operations;
  const Word last = in_place ? a.operations : std::min(a.operations, a.slots);
  for (Word k = end - last; k < end; ++k) Exchange(kernels, meeting, play, k).apply();
}

// Bytes that a rank gets from one other in an operation, or stores to it.
double moved_bytes(const DirectArguments& a, Play play) {
  constexpr double kWithFlags = 2;
  if (play == Play::barrier) return 0;
  if (play == Play::flagged) return kWithFlags * static_cast<double>(std::max<Word>(a.bytes, kWordBytes));
  return static_cast<double>(play == Play::two_shot ? 2 * a.source_stride : a.bytes);
}

// One flow for each ordered pair of GPUs. Where a link fails its data never come, and patience ends the wait.
void start_flows(Kernels& kernels, const std::shared_ptr<Meeting>& meeting, Play play) {
  const auto ranks = static_cast<unsigned>(meeting->of_rank.size());
  const auto end = [&kernels, meeting] {
    if (--meeting->moving == 0) meeting->moved->time = kernels.now();
  };
  meeting->moving = ranks * (ranks - 1);
  for (unsigned to = 0; to < ranks; ++to)
    for (unsigned from = 0; from < ranks; ++from) {
      if (from == to) continue;
      const Came &there = *meeting->of_rank[to], &here = *meeting->of_rank[from];
      const auto operations = static_cast<double>(there.arguments.operations);
      const double bytes = moved_bytes(there.arguments, play) * operations;
      if (bytes == 0) {
        end();
        continue;
      }
      const Place host = place_of(*kernels.memory().find(there.arguments.workspaces[to]), 0);
      const bool by_host = host.kind == Place::Kind::cpu;
      // Through the host: a store of the sender, and a load of the receiver.
      std::vector<Transfer> legs = {{Mechanism::kernel, there.place, here.place, there.place, bytes}};
      if (by_host)
        legs = {{Mechanism::kernel, here.place, here.place, host, bytes},
                {Mechanism::kernel, there.place, host, there.place, bytes}};
      meeting->moving += static_cast<unsigned>(legs.size()) - 1;
      for (Transfer& leg : legs) {
        auto flow = std::make_unique<Operation>();
        leg.threads = flow->threads = there.threads / static_cast<double>(ranks - 1);
        try {
          kernels.costs().add(*flow, leg);
        } catch (const Failure&) {  // of a link: Costs knows which
          continue;
        }
        flow->fixed = 0;        // of a launch
        flow->processors = -1;  // the waiting kernel has them
        flow->on_end = end;
        kernels.start_beside(leg.from, leg.to, std::move(flow));
      }
    }
}

// Passes of an operation, each with a barrier between its loads and its stores.
double passes_of(const DirectArguments& a, double threads, Play play) {
  if (play != Play::pull_in_place) return 1;
  const double vectors = static_cast<double>(a.bytes / kVectorBytes);
  const double rest = a.bytes % kVectorBytes != 0 ? 1 : 0;
  return std::ceil(vectors / (threads * kDirectInFlight)) + rest;
}

// Latencies of an operation: of its flags, and of the first load behind a barrier.
double flags_ns(Kernels& kernels, const Meeting& meeting, unsigned rank, Play play) {
  const Place mine = meeting.of_rank[rank]->place;
  double flag = 0, load = 0;
  for (unsigned other = 0; other < meeting.of_rank.size(); ++other) {
    if (other == rank) continue;
    const Place theirs = meeting.of_rank[other]->place;
    const Place owner =
        place_of(*kernels.memory().find(meeting.of_rank[rank]->arguments.workspaces[rank]), 0);
    flag = std::max(flag, kernels.costs().hand_over_ns(theirs, mine, owner));
    if (play == Play::flagged || play == Play::barrier) continue;
    load = std::max(load, kernels.costs().latency_ns(mine, theirs, static_cast<double>(kWordBytes)));
  }
  if (play == Play::flagged || play == Play::barrier) return flag;
  const Came& came = *meeting.of_rank[rank];
  return flag + passes_of(came.arguments, came.threads, play) * (flag + load);
}

void give_up(Kernels& kernels, const DirectArguments& a, Group& group, unsigned missing, Word stage) {
  group.given_up[a.rank] = a.generation;
  kernels.must_be_real(a.failure);
  *a.failure = {a.generation, missing, stage, group.launches[a.rank]};
}

template <Play play>
void direct(Kernels& kernels, Operation& operation, const DirectArguments& a, const KernelLaunch& launch) {
  kernels.must_be_real(a.failure);
  Group& group = kernels.state<Groups>()[a.workspaces[0]];
  group.launches.resize(a.ranks);
  const std::uint64_t number = group.launches[a.rank]++;
  std::shared_ptr<Meeting>& found = group.open[number];
  if (found == nullptr) found = std::make_shared<Meeting>(a.ranks);
  const std::shared_ptr<Meeting> meeting = found;
  for (unsigned other = 0; other < a.ranks; ++other)
    kernels.reach(operation, launch.executor, a.workspaces[other], kWordBytes);  // fails without access
  meeting->of_rank[a.rank] = {launch.executor, a, launch.threads()};
  if (++meeting->launched == a.ranks) group.open.erase(number);

  // What else is in the operation precedes it; it starts, waits for the last rank, then for the data.
  Stage start;
  start.fixed = picoseconds(kernels.costs().launch_ns(launch.executor, launch.shape.blocks));
  const std::size_t waits = operation.before.size() + 1;
  start.on_end = [&kernels, &operation, &group, meeting, a, waits] {
    meeting->here[a.rank] = true;
    const auto failed = group.given_up.find(a.rank);
    if (failed != group.given_up.end() && failed->second == a.generation) {
      operation.before[waits].patience = 0;
      operation.patience = 0;
    }
    if (++meeting->arrived < a.ranks) return;
    bool hangs = false;
    for (const auto& one : meeting->of_rank)
      for (const auto& other : meeting->of_rank) hangs = hangs || kernels.hangs(one->place, other->place);
    if (hangs) return;  // their flags do not come
    if (play != Play::barrier) apply_all(kernels, *meeting, play);
    meeting->all_here->time = kernels.now();
    start_flows(kernels, meeting, play);
  };
  operation.before.push_back(std::move(start));
  Stage wait;
  wait.awaits = meeting->all_here;
  wait.patience = picoseconds(static_cast<double>(a.patience_ns));
  wait.on_end = [&kernels, &operation, &group, meeting, a] {
    if (meeting->all_here->done()) {
      operation.fixed +=
          picoseconds(flags_ns(kernels, *meeting, a.rank, play) * static_cast<double>(a.operations));
      return;
    }
    operation.patience = 0;
    unsigned missing = a.rank == 0 ? 1 : 0;
    for (unsigned other = 0; other < a.ranks; ++other)
      if (!meeting->here[other]) missing = other;
    give_up(kernels, a, group, missing, play == Play::flagged ? kDirectStages : kDirectBegin);
  };
  operation.before.push_back(std::move(wait));
  operation.awaits = meeting->moved;
  operation.patience = picoseconds(static_cast<double>(a.patience_ns));
  operation.on_end = [&kernels, &group, meeting, a] {
    const auto failed = group.given_up.find(a.rank);
    const bool told = failed != group.given_up.end() && failed->second == a.generation;
    if (!meeting->moved->done() && !told)
      give_up(kernels, a, group, a.rank == 0 ? 1 : 0, play == Play::flagged ? kDirectStages : kDirectEnd);
  };
  operation.processors = kernels.costs().processors(launch.executor.index);
}

const RegisterSimulatedKernel<direct<Play::flagged>> kDirectFlagged{"direct_flagged"};
const RegisterSimulatedKernel<direct<Play::pull>> kDirectPull{"direct_pull"};
const RegisterSimulatedKernel<direct<Play::pull_in_place>> kDirectPullInPlace{"direct_pull_in_place"};
const RegisterSimulatedKernel<direct<Play::two_shot>> kDirectTwoShot{"direct_two_shot"};
const RegisterSimulatedKernel<direct<Play::barrier>> kDirectBarrier{"direct_barrier"};

}  // namespace
}  // namespace byteways::sim
