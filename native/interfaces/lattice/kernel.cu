// Data of the application patterns: words on a grid in closed form, and the check of every one of them.
#include "interfaces/device/finding.cuh"
#include "interfaces/lattice/arguments.hpp"

namespace byteways {

BYTEWAYS_KERNEL(512) lattice_fill(LatticeArguments arguments) {
  for (Word i = grid_thread() * arguments.stride; i < arguments.count; i += grid_threads() * arguments.stride)
    arguments.words[i] = lattice_word(arguments, i);
  fence_system();
}

__device__ inline Word expected_at(const LatticeArguments& arguments, Word i) {
  return lattice_word(arguments, i);
}

BYTEWAYS_KERNEL(512) lattice_check(LatticeArguments arguments) {
  Finding finding;
  for (Word i = grid_thread() * arguments.stride; i < arguments.count; i += grid_threads() * arguments.stride)
    finding.compare(i, arguments.words[i], expected_at(arguments, i));
  report(arguments, finding);
}

}  // namespace byteways
