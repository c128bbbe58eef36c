// See collectives.hpp.
#include "interfaces/mpi/collectives.hpp"

#include <map>
#include <utility>

#include "interfaces/mpi/ranks.hpp"
#include "interfaces/rank_collective.hpp"

namespace byteways {
namespace {

// What all calls of a batch have in common: `bytes` of the whole size, `block_bytes` of one rank's part of
// it. Sums are of `elements`, or `block_elements`.
struct Call {
  const Communicator& ranks;
  std::int64_t bytes, block_bytes, elements, block_elements;
  BytewaysElement element;
  bool is_root;
};

class MpiCollective;
using Batch = void (*)(const MpiCollective& mover, std::uint64_t first, std::uint64_t count);

constexpr const char* kResultOverInput =
    "MPI writes the result of a reduce-scatter over the first block of the input, so repeated operations "
    "would read each other's results";

class MpiCollective final : public CollectiveMover {
 public:
  MpiCollective(Session& session, const Flow& flow, const std::string& name);

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    if (in_place()) count_repetitions(first_operation, count);
    batch_(*this, first_operation, count);
  }

  // Calls act(call, source, destination) for each operation, in a loop of its own for each collective: a loop
  // for all would decide anew before every call.
  template <class Act>
  static void repeat(const MpiCollective& mover, std::uint64_t first, std::uint64_t count) {
    const Call call = mover.call_;
    SlotWalk from(mover.inputs(), first), to(mover.outputs(), first);
    const bool in_place = mover.in_place();
    for (std::uint64_t k = 0; k < count; ++k) Act{}(call, in_place ? nullptr : from.next(), to.next());
  }

 private:
  Call call_;
  Batch batch_;
};

template <class Act>
std::pair<const std::string, Batch> named(const char* name, Act) {
  return {name, MpiCollective::repeat<Act>};
}

const std::map<std::string, Batch, std::less<>>& batches() {
  using In = const void*;
  using Out = void*;
  static const std::map<std::string, Batch, std::less<>> known = {
      named("allreduce",
            [](const Call& c, In in, Out out) { c.ranks.allreduce(in, out, c.elements, c.element); }),
      named("reduce",
            [](const Call& c, In in, Out out) { c.ranks.reduce(in, out, c.elements, c.element, kRootRank); }),
      named("reduce-scatter", [](const Call& c, In in,
                                 Out out) { c.ranks.reduce_scatter(in, out, c.block_elements, c.element); }),
      named("allgather",
            [](const Call& c, In in, Out out) { c.ranks.allgather(in, out, c.block_bytes, kByte); }),
      named("gather",
            [](const Call& c, In in, Out out) { c.ranks.gather(in, out, c.block_bytes, kByte, kRootRank); }),
      named("alltoall",
            [](const Call& c, In in, Out out) { c.ranks.alltoall(in, out, c.block_bytes, kByte); }),
      named("scatter",
            [](const Call& c, In in, Out out) { c.ranks.scatter(in, out, c.block_bytes, kByte, kRootRank); }),
      // The root sends from the buffer that all others receive into: its source.
      named("broadcast",
            [](const Call& c, In in, Out out) {
              c.ranks.broadcast(c.is_root ? const_cast<Out>(in) : out, c.bytes, kByte, kRootRank);
            }),
      named("barrier", [](const Call& c, In, Out) { c.ranks.barrier(); }),
  };
  return known;
}

MpiCollective::MpiCollective(Session& session, const Flow& flow, const std::string& name)
    : CollectiveMover(session, flow, name),
      call_{require_mpi(flow),
            static_cast<std::int64_t>(flow.size_bytes),
            static_cast<std::int64_t>(block_bytes()),
            static_cast<std::int64_t>(flow.size_bytes / element_bytes()),
            static_cast<std::int64_t>(block_bytes() / element_bytes()),
            element_bytes() == kWord ? kUnsigned64 : kUnsigned32,
            rank() == kRootRank},
      batch_(batches().at(name)) {
  if (in_place() && name == "reduce-scatter") throw Unsupported(flow.interface, "in_place", kResultOverInput);
}

}  // namespace

std::unique_ptr<Mover> make_collective(Session& session, const Flow& flow, const std::string& operation) {
  return std::make_unique<MpiCollective>(session, flow, operation);
}

}  // namespace byteways
