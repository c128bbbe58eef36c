// Kernels of the halo exchange: the five-point stencil, and the packing of strided faces.
#include "interfaces/device/prelude.cuh"
#include "interfaces/halo/arguments.hpp"

namespace byteways {

// A block takes a row at a time, so that only rows need a division.
BYTEWAYS_KERNEL(256) halo_stencil(HaloArguments arguments) {
  const Word pitch = halo_pitch(arguments), rows = arguments.fields * arguments.height;
  for (Word row = block_index(); row < rows; row += grid_blocks()) {
    const Word field = row / arguments.height, y = row - field * arguments.height;
    const Word first = field * halo_field_words(arguments) + (y + arguments.depth) * pitch + arguments.depth;
    for (Word x = thread_index(); x < arguments.width; x += block_threads()) {
      const Word* cell = arguments.from + first + x;
      arguments.to[first + x] = cell[0] + *(cell - 1) + cell[1] + *(cell - pitch) + cell[pitch];
    }
  }
}

__device__ inline Word words_of_message(const HaloArguments& arguments) {
  return arguments.fields * halo_rows(arguments) * halo_row_words(arguments);
}

BYTEWAYS_KERNEL(256) halo_pack(HaloArguments arguments) {
  const Word strip = halo_strip(arguments, false), count = words_of_message(arguments);
  for (Word i = grid_thread(); i < count; i += grid_threads())
    arguments.to[i] = arguments.from[halo_index(arguments, strip, i)];
  if (arguments.fence != 0) fence_system();
}

BYTEWAYS_KERNEL(256) halo_unpack(HaloArguments arguments) {
  const Word strip = halo_strip(arguments, true), count = words_of_message(arguments);
  for (Word i = grid_thread(); i < count; i += grid_threads())
    arguments.to[halo_index(arguments, strip, i)] = arguments.from[i];
}

BYTEWAYS_KERNEL(256) halo_boundary(HaloArguments arguments) {
  const Word strip = halo_strip(arguments, true), count = words_of_message(arguments);
  for (Word i = grid_thread(); i < count; i += grid_threads()) {
    const Word beyond = halo_index(arguments, strip, i);
    const Word row = i / halo_row_words(arguments), column = i - row * halo_row_words(arguments);
    const HaloMirror mirror =
        halo_mirror(arguments, arguments.side <= kRight ? column : row % halo_rows(arguments));
    arguments.to[beyond] =
        arguments.from[mirror.low ? beyond + mirror.step : beyond - mirror.step] * mirror.factor;
  }
}

}  // namespace byteways
