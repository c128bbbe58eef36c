// The GPU transport layer of Cray MPICH: with MPICH_GPU_SUPPORT_ENABLED=1, MPI_Init ends a process that has
// not loaded it before libmpi. Programs are linked with it; a process that opens libmpi by dlopen is not.
#pragma once
#include <string>
#include <vector>

#include "runtimes/library.hpp"

namespace byteways {

// Whether the user wants messages of GPU memory from Cray MPICH.
bool wants_gpu_transport();

// Loads the layer for the GPUs of this machine, if it is installed; does nothing if it is loaded. Searches
// what the modules of Cray name, and around `mpi_folders`.
void load_gpu_transport(const std::vector<std::string>& mpi_folders, LibraryReport& report);

// Why MPI_Init of the library that calls itself `version` would end this process; empty: it would not.
std::string gpu_transport_obstacle(const std::string& version);

}  // namespace byteways
