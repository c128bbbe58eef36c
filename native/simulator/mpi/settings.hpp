// What variables of the process choose in the simulated MPI. Those of MPI have the names and meanings of Cray
// MPICH's (HPE, intro_mpi(3)); those of ROCm choose how any copy of its runtime is made.
#pragma once
#include <cstdint>
#include <limits>

#include "simulator/machine/environment.hpp"
#include "simulator/machine/model.hpp"

namespace byteways::sim::mpi {

struct LibrarySettings {
  bool ipc = true;  // MPICH_GPU_IPC_ENABLED: buffers of other ranks' GPUs are opened, or else staged
  // MPICH_GPU_IPC_THRESHOLD: only from this size on, and then also of sizes that would be sent eagerly.
  std::uint64_t ipc_from_bytes = 0, direct_from_bytes = std::numeric_limits<std::uint64_t>::max();
  bool registers_once = true;  // MPICH_GPU_IPC_CACHE_MAX_SIZE: 0 opens a buffer anew for each message
  // MPICH_GPU_ALLREDUCE_USE_KERNEL: device memory is summed by kernels, or else by cores: where these do not
  // reach it, in host memory, if the library has that.
  bool kernel_reductions = true;
  std::uint64_t kernel_reductions_from_bytes = 0;
  bool engines = true, peer_engines = true;  // HSA_ENABLE_SDMA, HSA_ENABLE_PEER_SDMA, of AMD's GPUs

  static LibrarySettings of_process(const Model& model);
};

inline LibrarySettings LibrarySettings::of_process(const Model& model) {
  LibrarySettings settings;
  if (model.mpi.ipc_from_bytes > 0)
    settings.ipc_from_bytes = settings.direct_from_bytes = model.mpi.ipc_from_bytes;
  settings.ipc = number_of_variable("MPICH_GPU_IPC_ENABLED", 1) != 0;
  constexpr std::uint64_t kUnset = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t threshold = number_of_variable("MPICH_GPU_IPC_THRESHOLD", kUnset);
  if (threshold != kUnset) settings.ipc_from_bytes = settings.direct_from_bytes = threshold;
  settings.registers_once =
      model.mpi.registers_once && number_of_variable("MPICH_GPU_IPC_CACHE_MAX_SIZE", 1) != 0;
  const bool cores_sum = model.host_access && model.mpi.core_reductions;
  settings.kernel_reductions = number_of_variable("MPICH_GPU_ALLREDUCE_USE_KERNEL", cores_sum ? 0 : 1) != 0;
  settings.kernel_reductions_from_bytes = model.mpi.kernel_reductions_from_bytes;
  if (!settings.kernel_reductions && settings.kernel_reductions_from_bytes > 0)
    settings.kernel_reductions_from_bytes = kUnset;
  settings.kernel_reductions |= !model.host_access;
  if (model.vendor == "amd") {
    settings.engines = number_of_variable("HSA_ENABLE_SDMA", 1) != 0;
    settings.peer_engines = settings.engines && number_of_variable("HSA_ENABLE_PEER_SDMA", 1) != 0;
  }
  return settings;
}

}  // namespace byteways::sim::mpi
