// See collectives.hpp.
#include "interfaces/mpi/collectives.hpp"

#include <map>

#include "interfaces/mpi/rank_mover.hpp"

namespace byteways {
namespace {

constexpr std::int64_t kWord = sizeof(std::uint64_t);
constexpr int kRoot = 0;

// One call: `words` of the whole size, `block` of one rank's part of it.
struct Call {
  const Communicator& ranks;
  const void* source;
  void* destination;
  std::int64_t words, block;
};

// What of the size a rank receives, by whom it was sent.
enum class Result { nothing, sum, sum_of_block, all_blocks, block_of_each, root_data, block_of_root };

struct Collective {
  void (*call)(const Call&);
  Result result;
  bool only_root_receives = false;
  bool in_blocks = false;
};

const std::map<std::string, Collective, std::less<>>& collectives() {
  static const std::map<std::string, Collective, std::less<>> known = {
      {"allreduce",
       {[](const Call& c) { c.ranks.allreduce(c.source, c.destination, c.words, kUnsigned64); },
        Result::sum}},
      {"reduce",
       {[](const Call& c) { c.ranks.reduce(c.source, c.destination, c.words, kUnsigned64, kRoot); },
        Result::sum, true}},
      {"reduce-scatter",
       {[](const Call& c) { c.ranks.reduce_scatter(c.source, c.destination, c.block, kUnsigned64); },
        Result::sum_of_block, false, true}},
      {"allgather",
       {[](const Call& c) { c.ranks.allgather(c.source, c.destination, c.block * kWord, kByte); },
        Result::all_blocks, false, true}},
      {"gather",
       {[](const Call& c) { c.ranks.gather(c.source, c.destination, c.block * kWord, kByte, kRoot); },
        Result::all_blocks, true, true}},
      {"alltoall",
       {[](const Call& c) { c.ranks.alltoall(c.source, c.destination, c.block * kWord, kByte); },
        Result::block_of_each, false, true}},
      {"scatter",
       {[](const Call& c) { c.ranks.scatter(c.source, c.destination, c.block * kWord, kByte, kRoot); },
        Result::block_of_root, false, true}},
      // The root sends from the buffer that all others receive into: its source.
      {"broadcast",
       {[](const Call& c) {
          void* data = c.ranks.rank() == kRoot ? const_cast<void*>(c.source) : c.destination;
          c.ranks.broadcast(data, c.words * kWord, kByte, kRoot);
        },
        Result::root_data}},
      {"barrier", {[](const Call& c) { c.ranks.barrier(); }, Result::nothing}},
  };
  return known;
}

class CollectiveMover final : public RankMover {
 public:
  CollectiveMover(Session& session, const Flow& flow, const std::string& name, const Collective& collective)
      : RankMover(session, flow), collective_(&collective) {
    if (flow.source == nullptr || flow.destination == nullptr)
      throw Unsupported(flow.interface, "buffers", "each rank sends and receives");
    const auto size = static_cast<std::uint64_t>(ranks().size());
    if (collective.in_blocks && flow.size_bytes % (size * kWord) != 0)
      throw Unsupported(flow.interface, "size",
                        name + " among " + std::to_string(size) + " ranks needs a multiple of " +
                            std::to_string(size * kWord) + " bytes");
    block_bytes_ = flow.size_bytes / size;
    traits_.bytes_per_operation = collective.result == Result::nothing ? 0 : flow.size_bytes;
    note_evidence("the library's " + name + " among " + std::to_string(size) + " ranks");
  }

  void enqueue(Stream&, std::uint64_t first_operation, std::uint64_t count) override {
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      collective_->call({ranks(), source_slot(k), destination_slot(k),
                         static_cast<std::int64_t>(flow_.size_bytes) / kWord,
                         static_cast<std::int64_t>(block_bytes_) / kWord});
  }

 private:
  std::vector<Arrival> arrivals() const override {
    if (collective_->only_root_receives && rank() != kRoot) return {};
    const std::uint64_t mine = static_cast<std::uint64_t>(rank()) * block_bytes_;
    std::vector<Arrival> found;
    switch (collective_->result) {
      case Result::nothing:
        break;
      case Result::sum:
        found.push_back({0, flow_.size_bytes, 0, 0, true});
        break;
      case Result::sum_of_block:
        found.push_back({0, block_bytes_, 0, mine, true});
        break;
      case Result::root_data:
        if (rank() != kRoot) found.push_back({0, flow_.size_bytes, kRoot, 0, false});
        break;
      case Result::block_of_root:
        found.push_back({0, block_bytes_, kRoot, mine, false});
        break;
      case Result::all_blocks:
      case Result::block_of_each:
        for (int from = 0; from < ranks().size(); ++from) {
          const std::uint64_t offset = static_cast<std::uint64_t>(from) * block_bytes_;
          const bool gathered = collective_->result == Result::all_blocks;
          found.push_back({offset, block_bytes_, from, gathered ? 0 : mine, false});
        }
        break;
    }
    return found;
  }

  const Collective* collective_;
  std::uint64_t block_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Mover> make_collective(Session& session, const Flow& flow, const std::string& operation) {
  const auto found = collectives().find(operation);
  if (found == collectives().end())
    throw Unsupported(flow.interface, "operation", "'" + operation + "' is no operation between ranks");
  return std::make_unique<CollectiveMover>(session, flow, operation, found->second);
}

}  // namespace byteways
