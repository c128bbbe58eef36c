// What variables of the process choose in the simulated MPI. Those of MPI have the names and meanings of Cray
// MPICH's (HPE, intro_mpi(3)); those of ROCm choose how any copy of its runtime is made.
#pragma once
#include <cstdint>
#include <limits>

#include "simulator/machine/model.hpp"

namespace byteways::sim::mpi {

struct LibrarySettings {
  bool ipc = true;  // MPICH_GPU_IPC_ENABLED: buffers of other ranks' GPUs are opened, or else staged
  // MPICH_GPU_IPC_THRESHOLD: only from this size on, and then also of sizes that would be sent eagerly.
  std::uint64_t ipc_from_bytes = 0, direct_from_bytes = std::numeric_limits<std::uint64_t>::max();
  bool registers_once = true;  // MPICH_GPU_IPC_CACHE_MAX_SIZE: 0 opens a buffer anew for each message
  // MPICH_GPU_ALLREDUCE_USE_KERNEL: device memory is summed by kernels, or else by cores, where these reach
  // it.
  bool kernel_reductions = true;
  bool engines = true, peer_engines = true;  // HSA_ENABLE_SDMA, HSA_ENABLE_PEER_SDMA, of AMD's GPUs

  static LibrarySettings of_process(const Model& model);
};

}  // namespace byteways::sim::mpi
