// The device kernels: in which file each is, and how large its argument block is.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "interfaces/arguments.hpp"

namespace byteways::gpu {

struct CatalogueEntry {
  std::string_view kernel;
  const char* file;
  std::size_t argument_bytes;
};

inline constexpr CatalogueEntry kCatalogue[] = {
    {"gate", "interfaces/service/gate.cu", sizeof(GateArguments)},
    {"fill", "interfaces/service/pattern.cu", sizeof(PatternArguments)},
    {"poison", "interfaces/service/pattern.cu", sizeof(PatternArguments)},
    {"check", "interfaces/service/pattern.cu", sizeof(PatternArguments)},
    {"copy", "interfaces/kernel_copy/kernel.cu", sizeof(CopyArguments)},
    {"copy_bulk", "interfaces/kernel_copy/bulk.cu", sizeof(CopyArguments)},
    {"chase_build", "interfaces/pointer_chase/kernel.cu", sizeof(ChaseArguments)},
    {"chase", "interfaces/pointer_chase/kernel.cu", sizeof(ChaseArguments)},
    {"occupy", "interfaces/service/occupy.cu", sizeof(OccupyArguments)},
    {"stream_copy", "interfaces/stream/kernel.cu", sizeof(StreamArguments)},
    {"stream_scale", "interfaces/stream/kernel.cu", sizeof(StreamArguments)},
    {"stream_add", "interfaces/stream/kernel.cu", sizeof(StreamArguments)},
    {"stream_triad", "interfaces/stream/kernel.cu", sizeof(StreamArguments)},
    {"stream_fill", "interfaces/stream/pattern.cu", sizeof(StreamPatternArguments)},
    {"stream_check", "interfaces/stream/pattern.cu", sizeof(StreamPatternArguments)},
    {"copy_rows", "interfaces/copy_2d/kernel.cu", sizeof(RowsArguments)},
    {"check_rows", "interfaces/copy_2d/kernel.cu", sizeof(RowsCheckArguments)},
    {"nothing", "interfaces/api_overhead/kernel.cu", sizeof(NothingArguments)},
    {"ping_pong", "interfaces/ping_pong/kernel.cu", sizeof(PingPongArguments)},
    {"idle", "interfaces/service/idle.cu", sizeof(IdleArguments)},
    {"compute", "interfaces/compute/kernel.cu", sizeof(ComputeArguments)},
};
inline constexpr std::size_t kKernels = sizeof kCatalogue / sizeof kCatalogue[0];

// Index into kCatalogue. Throws Unsupported.
inline std::size_t catalogue_index(std::string_view kernel) {
  for (std::size_t index = 0; index < kKernels; ++index)
    if (kCatalogue[index].kernel == kernel) return index;
  throw Unsupported("kernel", "unknown", "there is no GPU kernel named '" + std::string(kernel) + "'");
}

}  // namespace byteways::gpu
