// Finds and opens runtimes.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtimes/host.hpp"
#include "runtimes/library.hpp"

namespace byteways {

struct SessionOptions {
  std::vector<std::string> library_directories;  // searched after the dynamic linker's own
  std::string kernel_cache;                      // folder for compiled kernels, empty: no cache
  bool gpus = true;                              // false: host only
  std::string simulator;                         // file of the simulator, empty on a real machine
  std::string machine;  // sheet of the simulated machine (simulator/machine/model.hpp)
};

// Factories, one per runtime. They append the libraries that they searched for to `reports`. Return nullptr
// if the runtime is unusable here (the report says why).
std::unique_ptr<Host> open_host(std::vector<LibraryReport>& reports);
// Opens the host of options.machine. Throws Error if the simulator is missing or rejects the sheet.
std::unique_ptr<Host> open_simulated_host(const SessionOptions& options, std::vector<LibraryReport>& reports);
// Loads the machine in a process that opens no session but uses NVML. A process has one simulated machine
// only.
void load_machine(const std::string& simulator, const std::string& sheet);
// Resets the machine: later results depend only on the sheet and `key`. Throws Error while a session has
// memory, streams or events on it.
void restart_machine(const std::string& simulator, const std::string& sheet, std::uint64_t key);
// The calling thread is rank `rank` of `size` on the machine, with a clock of its own, until it leaves. All
// ranks have to join: those that have wait for the others.
void join_machine(const std::string& simulator, const std::string& sheet, int rank, int size);
void leave_machine(const std::string& simulator, const std::string& sheet);
// What the last deadlock of the ranks is the fault of: number of a rank and of a GPU, -1: none; and whether
// NCCL or RCCL refused a call.
std::tuple<int, int, bool> at_fault(const std::string& simulator, const std::string& sheet);
// From now on the calling thread allocates and exports memory on the machine as another process would, or as
// this one again.
void act_as_other_process(const std::string& simulator, const std::string& sheet, bool other);
// `first_gpu`: the session's number of the runtime's first GPU.
std::unique_ptr<Runtime> open_cuda(Host& host, const SessionOptions& options, int first_gpu,
                                   std::vector<LibraryReport>& reports);
std::unique_ptr<Runtime> open_hip(Host& host, const SessionOptions& options, int first_gpu,
                                  std::vector<LibraryReport>& reports);

}  // namespace byteways
