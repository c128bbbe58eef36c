// Inverse of the cycle of a pointer chase. The simulator uses it to compute the end of a chase from any line
// in one step.
#pragma once

#include "simulator/memory/content.hpp"

namespace byteways::sim {

// Returns the position of a line in the cycle: the inverse of chase_line().
Word chase_position(Word line, Word lines, Word key);

}  // namespace byteways::sim
