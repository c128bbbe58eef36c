// The expected result of every item of the arithmetic kernel.
#pragma once

namespace byteways {

// Returns compute_mix() of the results of all chains, for even (0) or odd (1) items.
unsigned long long compute_ends(float seed, unsigned int steps, unsigned int odd);

}  // namespace byteways
