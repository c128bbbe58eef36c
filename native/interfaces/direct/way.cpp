// See way.hpp.
#include "interfaces/direct/way.hpp"

namespace byteways {
namespace {

// LL sends every word twice, and to each rank: up to so many bytes of data in all it is taken. Assumed.
constexpr std::uint64_t kFlaggedMostSent = 512 << 10;

}  // namespace

const char* kernel_of(Way way) {
  switch (way) {
    case Way::flagged:
      return "direct_flagged";
    case Way::pull:
      return "direct_pull";
    case Way::pull_in_place:
      return "direct_pull_in_place";
    case Way::two_shot:
      return "direct_two_shot";
    default:
      return "direct_barrier";
  }
}

std::string words_of(Way way) {
  switch (way) {
    case Way::flagged:
      return "one-shot, protocol LL";
    case Way::pull:
    case Way::pull_in_place:
      return "one-shot, protocol Simple";
    case Way::two_shot:
      return "two-shot, protocol Simple";
    default:
      return "one-shot, copies of the vendor's runtime between two barriers";
  }
}

Way choose_way(const Flow& flow, const std::string& collective, std::uint64_t message_bytes,
               const std::string& obstacle) {
  const std::string algorithm = flow.word("algorithm", "auto"), protocol = flow.word("protocol", "auto");
  const bool copies = flow.word("mechanism", "kernel") == "copy", allreduce = collective == "allreduce";
  const auto refuse = [&flow](const char* option, const std::string& why) {
    throw Unsupported(flow.interface, option, why, flow.executor->name());
  };
  if (algorithm == "two-shot" && !allreduce) refuse("algorithm", "two-shot is an algorithm of allreduce");
  const bool fits = message_bytes <= kFlaggedMostBytes;
  if (!obstacle.empty()) {
    const bool persistent = flow.word("submit") == "persistent" && !fits;
    if (copies || algorithm == "two-shot" || protocol == "simple" || persistent)
      refuse("peers", "it needs access of all GPUs to each other, and " + obstacle);
    return Way::flagged;
  }
  if (copies) {
    if (collective != "allgather" && collective != "alltoall") refuse("mechanism", "copy engines do not add");
    return Way::copies;
  }
  if (protocol == "LL") {
    if (algorithm == "two-shot") refuse("protocol", "two-shot has protocol Simple alone");
    if (!fits) refuse("protocol", "LL takes up to " + std::to_string(kFlaggedMostBytes) + " bytes a message");
    return Way::flagged;
  }
  const std::uint64_t others = static_cast<std::uint64_t>(flow.ranks->size()) - 1;
  const bool small = fits && message_bytes * others <= kFlaggedMostSent;
  if (protocol == "auto" && algorithm != "two-shot" && small) return Way::flagged;
  if (!allreduce) return Way::pull;
  if (algorithm != "one-shot") return Way::two_shot;
  return flow.word("in_place") == "yes" ? Way::pull_in_place : Way::pull;
}

}  // namespace byteways
