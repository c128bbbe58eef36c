// How runtimes are found and opened.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtimes/host.hpp"
#include "runtimes/library.hpp"

namespace byteways {

struct SessionOptions {
  std::vector<std::string> library_directories;  // searched after the dynamic linker's own
  std::string kernel_cache;                      // folder for compiled kernels, empty: no cache
  bool gpus = true;                              // false: host only
  std::string simulator;                         // file of the simulator, empty on a real machine
  std::string machine;                           // sheet of the machine it plays (simulator/model.hpp)
};

// Factories, one per runtime. They append to `reports` what they looked for and found; nullptr when the
// runtime is unusable here (the report says why).
std::unique_ptr<Host> open_host(std::vector<LibraryReport>& reports);
// The host of options.machine. Throws Error when the simulator is not there or refuses the sheet.
std::unique_ptr<Host> open_simulated_host(const SessionOptions& options, std::vector<LibraryReport>& reports);
// The same machine for a process that opens no session, but asks NVML. A process plays one machine only.
void load_machine(const std::string& simulator, const std::string& sheet);
// Begins it anew: what happens next depends on the sheet and `key` alone. Throws Error while a session has
// memory, streams or events there.
void restart_machine(const std::string& simulator, const std::string& sheet, std::uint64_t key);
// `first_gpu`: the session's number of the runtime's first GPU.
std::unique_ptr<Runtime> open_cuda(Host& host, const SessionOptions& options, int first_gpu,
                                   std::vector<LibraryReport>& reports);
std::unique_ptr<Runtime> open_hip(Host& host, const SessionOptions& options, int first_gpu,
                                  std::vector<LibraryReport>& reports);

}  // namespace byteways
