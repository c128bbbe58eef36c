// The MPI library of this machine and the shim that fits its ABI. Nothing is linked: the library is looked up
// when it is wanted, and MPI_Init is somebody else's call (mpi.hpp).
#pragma once
#include <string>
#include <vector>

#include "runtimes/library.hpp"
#include "runtimes/mpi/table.hpp"

namespace byteways {

struct MpiOptions {
  std::string shims;                     // folder of byteways_mpi_<abi>.so
  std::vector<std::string> directories;  // where libraries of MPI may lie, beside the linker's own folders
  std::string simulator;                 // its library on a simulated machine
  int thread_level = 0;                  // BytewaysThreads
  std::string launcher{};                // of the ranks to be started: its file, empty: unknown
};

// What the environment and the ancestors of this process tell of the launcher that started it.
struct MpiLauncher {
  int size = 0;         // ranks that it started, 0: no launcher is known to have started this process
  std::string family;   // "Open MPI", "MPICH" (and what shares its launcher protocol), empty: unknown
  std::string program;  // its file, empty: unknown
};
MpiLauncher find_mpi_launcher();

// Name of the ABI ("standard", "mpich", "openmpi") of a library that calls itself `version`, from the file
// `path`; empty: unknown.
std::string mpi_abi(const std::string& version, const std::string& path);

// Finds and opens library and shim; nullptr with the reason in `report` when that fails. `report.version`
// gets the first line of what the library says of itself, `abi` the name of the shim.
const BytewaysMpi* open_mpi_table(const MpiOptions& options, LibraryReport& report, std::string& abi);

}  // namespace byteways
