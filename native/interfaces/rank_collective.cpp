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
  if (flow.size_bytes % kWord != 0 && flow.size_bytes != kWord / 2)
    throw Unsupported(flow.interface, "size", name + " is of integers of 8 bytes, or of one of 4");
  block_bytes_ = flow.size_bytes / size;
  traits_.bytes_per_operation = rule_.received == Received::nothing ? 0 : flow.size_bytes;
  in_place_ = flow.word("in_place") == "yes";
  const bool repeats = rule_.received == Received::sum || rule_.received == Received::sum_of_block ||
                       rule_.received == Received::all_blocks;
  if (in_place_ && (!repeats || rule_.only_root_receives))
    throw Unsupported(flow.interface, "in_place", name + " in place is not measured");
  traits_.changes_input = in_place_ && rule_.received != Received::all_blocks;
  note_evidence("the library's " + name + " among " + std::to_string(size) + " ranks" +
                (in_place_ ? ", in place" : ""));
}

RankSlots CollectiveMover::inputs() const {
  if (!in_place_) return source_slots();
  RankSlots slots = destination_slots();
  slots.first += input_in_place().offset_bytes;
  return slots;
}

RankSlots CollectiveMover::outputs() const {
  RankSlots slots = destination_slots();
  if (in_place_ && rule_.received == Received::sum_of_block) slots.first += own_block();
  return slots;
}

// As nccl-tests: the input of an allgather is this rank's block of the output, and the output of a
// reduce-scatter is this rank's block of the input.
RankMover::Part CollectiveMover::input_in_place() const {
  if (!in_place_) return {};
  if (rule_.received == Received::all_blocks) return {own_block(), block_bytes_};
  return {0, flow_.size_bytes};
}

// An allreduce multiplies the sum by the number of ranks each time; a reduce-scatter adds the other ranks'
// data, which stay as they were, to this rank's block.
RankMover::Weights CollectiveMover::weights(std::uint64_t times) const {
  if (rule_.received == Received::sum_of_block) return {times, 1 - times};
  if (times == 0) return {0, 1};
  std::uint64_t factor = 1, power = static_cast<std::uint64_t>(ranks().size());
  for (std::uint64_t left = times - 1; left != 0; left >>= 1, power *= power)
    if ((left & 1) != 0) factor *= power;
  return {factor, 0};
}

std::vector<RankMover::Arrival> CollectiveMover::arrivals() const {
  if (rule_.only_root_receives && rank() != kRootRank) return {};
  const std::uint64_t mine = own_block();
  std::vector<Arrival> found;
  switch (rule_.received) {
    case Received::nothing:
      break;
    case Received::sum:
      found.push_back({0, flow_.size_bytes, 0, 0, true});
      break;
    case Received::sum_of_block:
      found.push_back({in_place_ ? mine : 0, block_bytes_, 0, mine, true});
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
