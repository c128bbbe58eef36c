// The ways of a direct collective: algorithm, protocol and what moves the bytes; and which one a flow takes.
#pragma once
#include <cstdint>
#include <string>

#include "interfaces/direct/arguments.hpp"
#include "interfaces/flow.hpp"

namespace byteways {

enum class Way { flagged, pull, pull_in_place, two_shot, copies };

// The longest message between two ranks that one launch by protocol LL takes.
inline constexpr std::uint64_t kFlaggedMostBytes =
    std::uint64_t{kFlaggedMostBlocks} * kFlaggedBlockWords * kWord;

// The kernel of a way, and its description: "one-shot, protocol LL".
const char* kernel_of(Way way);
std::string words_of(Way way);

// Follows the options of the flow, and where they leave it open the size. `message_bytes`: from one rank to
// one other; `obstacle`: why ranks exchange through host memory, empty: they do not. Throws Unsupported for
// options that do not combine.
Way choose_way(const Flow& flow, const std::string& collective, std::uint64_t message_bytes,
               const std::string& obstacle);

}  // namespace byteways
