// See settings.hpp.
#include "simulator/mpi/settings.hpp"

#include "simulator/machine/environment.hpp"

namespace byteways::sim::mpi {

LibrarySettings LibrarySettings::of_process(const Model& model) {
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
  settings.kernel_reductions |= !model.host_access;
  if (model.vendor == "amd") {
    settings.engines = number_of_variable("HSA_ENABLE_SDMA", 1) != 0;
    settings.peer_engines = settings.engines && number_of_variable("HSA_ENABLE_PEER_SDMA", 1) != 0;
  }
  return settings;
}

}  // namespace byteways::sim::mpi
