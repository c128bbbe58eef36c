// The cycle of a pointer chase backwards, which the simulated machine needs to follow it from any line at
// once.
#pragma once

#include "simulator/content.hpp"

namespace byteways::sim {

// Position in the cycle of chase_line(): its inverse.
Word chase_position(Word line, Word lines, Word key);

}  // namespace byteways::sim
