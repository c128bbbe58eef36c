// What all parts of the simulated machine share: failures, kinds of memory, and what callers choose.
#pragma once
#include <cstdint>
#include <exception>
#include <string>

#include "memory/kinds.hpp"
#include "simulator/machine/model.hpp"

namespace byteways::sim {

inline Place gpu_place(int gpu) { return {Place::Kind::gpu, gpu}; }

// What goes wrong, in words that every vendor has a code for.
enum class Code {
  invalid,  // a null or foreign handle, a size of 0, an unknown kernel
  out_of_memory,
  no_device,
  no_peer_access,   // asked for access that cannot be had
  already_enabled,  // peer access
  illegal_address,  // an operation touched what it may not: sticky, the device is gone for this process
  device_lost,      // sticky as well
  not_supported,
  internal,  // no machine loaded, a deadlock in the simulated program
};

class Failure : public std::exception {
 public:
  Failure(Code code, std::string text) : code_(code), text_(std::move(text)) {}
  Code code() const { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Code code_;
  std::string text_;
};

using Kind = byteways::Memory;

// Opaque to the entry points; they hand the pointer out as the vendor's handle.
struct Stream;
struct Event;
struct Graph;

struct Shape {
  unsigned blocks = 1, threads = 1, shared_bytes = 0;
};

// How the runtime of this process was told to copy (environment of the process, options of a call).
struct CopyPolicy {
  bool engines = true;                      // false: HSA_ENABLE_SDMA=0
  bool peer_engines = true;                 // false: HSA_ENABLE_PEER_SDMA=0
  std::uint64_t blit_peer_up_to_bytes = 0;  // ROC_P2P_SDMA_SIZE; local copies are always done by a kernel
  std::uint64_t blit_host_up_to_bytes = 0;  // GPU_FORCE_BLIT_COPY_SIZE
  bool blit_opened = true;                  // short copies of memory that another process owns, too
  int engine = -1;                          // a chosen engine, -1: any
  bool follows = false;                     // another piece of the same batched call
  bool adjoins = false;                     // … whose end is where this one begins, on both sides
};

// What the environment of this process changes about the machine; read by the entry points, once.
struct Settings {
  int hardware_queues = 0;   // GPU_MAX_HW_QUEUES; 0: as the model has it
  bool retry_faults = true;  // false: HSA_XNACK is not 1 on a machine that has it. Managed pages then stay
                             // where they are, and kernels do not reach pageable memory; else both are as
                             // the model has them
};

struct Health {
  std::int64_t clock_mhz = 0, memory_clock_mhz = 0;
  bool throttled = false;
  std::uint64_t sent_bytes = 0, received_bytes = 0;  // payload over GPU-to-GPU links
};

}  // namespace byteways::sim
