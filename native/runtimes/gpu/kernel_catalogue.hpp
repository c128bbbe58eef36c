// The device kernels: in which file each is, and how large its argument block is.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "kernels/arguments.hpp"

namespace byteways::gpu {

struct CatalogueEntry {
  std::string_view kernel;
  const char* file;
  std::size_t argument_bytes;
};

inline constexpr CatalogueEntry kCatalogue[] = {
    {"gate", "gate.cu", sizeof(GateArguments)},
    {"fill", "pattern.cu", sizeof(PatternArguments)},
    {"poison", "pattern.cu", sizeof(PatternArguments)},
    {"check", "pattern.cu", sizeof(PatternArguments)},
    {"copy", "copy.cu", sizeof(CopyArguments)},
    {"copy_bulk", "copy_bulk.cu", sizeof(CopyArguments)},
    {"chase_build", "chase.cu", sizeof(ChaseArguments)},
    {"chase", "chase.cu", sizeof(ChaseArguments)},
    {"occupy", "occupy.cu", sizeof(OccupyArguments)},
    {"stream_copy", "stream.cu", sizeof(StreamArguments)},
    {"stream_scale", "stream.cu", sizeof(StreamArguments)},
    {"stream_add", "stream.cu", sizeof(StreamArguments)},
    {"stream_triad", "stream.cu", sizeof(StreamArguments)},
    {"stream_fill", "stream_pattern.cu", sizeof(StreamPatternArguments)},
    {"stream_check", "stream_pattern.cu", sizeof(StreamPatternArguments)},
    {"copy_rows", "rows.cu", sizeof(RowsArguments)},
    {"check_rows", "rows.cu", sizeof(RowsCheckArguments)},
    {"nothing", "nothing.cu", sizeof(NothingArguments)},
    {"ping_pong", "ping_pong.cu", sizeof(PingPongArguments)},
    {"idle", "idle.cu", sizeof(IdleArguments)},
    {"compute", "compute.cu", sizeof(ComputeArguments)},
};
inline constexpr std::size_t kKernels = sizeof kCatalogue / sizeof kCatalogue[0];

// Index into kCatalogue. Throws Unsupported.
inline std::size_t catalogue_index(std::string_view kernel) {
  for (std::size_t index = 0; index < kKernels; ++index)
    if (kCatalogue[index].kernel == kernel) return index;
  throw Unsupported("kernel", "unknown", "there is no GPU kernel named '" + std::string(kernel) + "'");
}

}  // namespace byteways::gpu
