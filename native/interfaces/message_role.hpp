// What a rank does with messages: unidirectional and bidirectional ones between two ranks, and those of
// several pairs at once, where the first half of the ranks sends, each to one rank of the second half.
#pragma once
#include <string>

#include "interfaces/flow.hpp"

namespace byteways {

struct Role {
  int other = 0;
  bool sends = true, receives = true;
};

// `answers`: every message goes there and back. Throws Unsupported when the ranks make no pairs.
inline Role role_of(const Flow& flow, bool answers) {
  const std::string operation = flow.word("operation");
  const int rank = flow.ranks->rank(), size = flow.ranks->size(), pairs = size / 2;
  const bool several = operation == "multi-pair";
  if (several ? size % 2 != 0 : size != 2)
    throw Unsupported(flow.interface, "ranks",
                      several ? "pairs take an even number of ranks" : "a message has two ends");
  Role role{rank < pairs ? rank + pairs : rank - pairs};
  if (operation == "bidirectional" || answers) return role;
  role.sends = rank < pairs;
  role.receives = !role.sends;
  return role;
}

}  // namespace byteways
