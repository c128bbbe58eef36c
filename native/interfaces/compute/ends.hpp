// The result that every item of the arithmetic kernel has to come to.
#pragma once

namespace byteways {

// compute_mix() of the ends of all chains of an even or odd item.
unsigned long long compute_ends(float seed, unsigned int steps, unsigned int odd);

}  // namespace byteways
