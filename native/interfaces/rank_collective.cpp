// See rank_collective.hpp.
#include "interfaces/rank_collective.hpp"

#include <map>

namespace byteways {
namespace {

CollectiveRule rule_of(const Flow& flow, const std::string& name) {
  static const std::map<std::string, CollectiveRule, std::less<>> rules = {
      {"allreduce", {Received::sum}},
      {"reduce", {Received::sum, true}},
      {"reduce-scatter", {Received::sum_of_block, false, true}},
      {"allgather", {Received::all_blocks, false, true}},
      {"gather", {Received::all_blocks, true, true}},
      {"alltoall", {Received::block_of_each, false, true}},
      {"scatter", {Received::block_of_root, false, true}},
      {"broadcast", {Received::root_data}},
      {"barrier", {Received::nothing}},
  };
  const auto found = rules.find(name);
  if (found == rules.end())
    throw Unsupported(flow.interface, "operation", "'" + name + "' is no operation between ranks");
  return found->second;
}

}  // namespace

CollectiveMover::CollectiveMover(Session& session, const Flow& flow, const std::string& name)
    : RankMover(session, flow), rule_(rule_of(flow, name)) {
  if (flow.source == nullptr || flow.destination == nullptr)
    throw Unsupported(flow.interface, "buffers", "each rank sends and receives");
  const auto size = static_cast<std::uint64_t>(ranks().size());
  if (rule_.in_blocks && flow.size_bytes % (size * kWord) != 0)
    throw Unsupported(flow.interface, "size",
                      name + " among " + std::to_string(size) + " ranks needs a multiple of " +
                          std::to_string(size * kWord) + " bytes");
  block_bytes_ = flow.size_bytes / size;
  traits_.bytes_per_operation = rule_.received == Received::nothing ? 0 : flow.size_bytes;
  note_evidence("the library's " + name + " among " + std::to_string(size) + " ranks");
}

std::vector<RankMover::Arrival> CollectiveMover::arrivals() const {
  if (rule_.only_root_receives && rank() != kRootRank) return {};
  const std::uint64_t mine = static_cast<std::uint64_t>(rank()) * block_bytes_;
  std::vector<Arrival> found;
  switch (rule_.received) {
    case Received::nothing:
      break;
    case Received::sum:
      found.push_back({0, flow_.size_bytes, 0, 0, true});
      break;
    case Received::sum_of_block:
      found.push_back({0, block_bytes_, 0, mine, true});
      break;
    case Received::root_data:
      if (rank() != kRootRank) found.push_back({0, flow_.size_bytes, kRootRank, 0, false});
      break;
    case Received::block_of_root:
      found.push_back({0, block_bytes_, kRootRank, mine, false});
      break;
    case Received::all_blocks:
    case Received::block_of_each:
      for (int from = 0; from < ranks().size(); ++from) {
        const std::uint64_t offset = static_cast<std::uint64_t>(from) * block_bytes_;
        const bool gathered = rule_.received == Received::all_blocks;
        found.push_back({offset, block_bytes_, from, gathered ? 0 : mine, false});
      }
      break;
  }
  return found;
}

}  // namespace byteways
