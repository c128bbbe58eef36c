// See collectives.hpp.
#include "interfaces/mpi/collectives.hpp"

#include <map>

#include "interfaces/mpi/ranks.hpp"
#include "interfaces/rank_collective.hpp"

namespace byteways {
namespace {

// One call: `bytes` of the whole size, `block_bytes` of one rank's part of it. Sums are of `element`.
struct Call {
  const Communicator& ranks;
  const void* source;
  void* destination;
  std::int64_t bytes, block_bytes, element_bytes;
  BytewaysElement element() const { return element_bytes == kWord ? kUnsigned64 : kUnsigned32; }
};

using Function = void (*)(const Call&);

constexpr const char* kResultOverInput =
    "MPI writes the result of a reduce-scatter over the first block of the input, so repeated operations "
    "would read each other's results";

const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> known = {
      {"allreduce",
       [](const Call& c) {
         c.ranks.allreduce(c.source, c.destination, c.bytes / c.element_bytes, c.element());
       }},
      {"reduce",
       [](const Call& c) {
         c.ranks.reduce(c.source, c.destination, c.bytes / c.element_bytes, c.element(), kRootRank);
       }},
      {"reduce-scatter",
       [](const Call& c) {
         c.ranks.reduce_scatter(c.source, c.destination, c.block_bytes / c.element_bytes, c.element());
       }},
      {"allgather", [](const Call& c) { c.ranks.allgather(c.source, c.destination, c.block_bytes, kByte); }},
      {"gather",
       [](const Call& c) { c.ranks.gather(c.source, c.destination, c.block_bytes, kByte, kRootRank); }},
      {"alltoall", [](const Call& c) { c.ranks.alltoall(c.source, c.destination, c.block_bytes, kByte); }},
      {"scatter",
       [](const Call& c) { c.ranks.scatter(c.source, c.destination, c.block_bytes, kByte, kRootRank); }},
      // The root sends from the buffer that all others receive into: its source.
      {"broadcast",
       [](const Call& c) {
         void* data = c.ranks.rank() == kRootRank ? const_cast<void*>(c.source) : c.destination;
         c.ranks.broadcast(data, c.bytes, kByte, kRootRank);
       }},
      {"barrier", [](const Call& c) { c.ranks.barrier(); }},
  };
  return known;
}

class MpiCollective final : public CollectiveMover {
 public:
  MpiCollective(Session& session, const Flow& flow, const std::string& name)
      : CollectiveMover(session, flow, name), ranks_(require_mpi(flow)), function_(functions().at(name)) {
    if (in_place() && name == "reduce-scatter")
      throw Unsupported(flow.interface, "in_place", kResultOverInput);
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    if (in_place()) count_repetitions(first_operation, count);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      function_({ranks_, in_place() ? nullptr : input(k), output(k),
                 static_cast<std::int64_t>(flow_.size_bytes), static_cast<std::int64_t>(block_bytes()),
                 static_cast<std::int64_t>(element_bytes())});
  }

 private:
  const Communicator& ranks_;
  Function function_;
};

}  // namespace

std::unique_ptr<Mover> make_collective(Session& session, const Flow& flow, const std::string& operation) {
  return std::make_unique<MpiCollective>(session, flow, operation);
}

}  // namespace byteways
