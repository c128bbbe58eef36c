// AMD's HSA runtime, below HIP, for the one function that HIP lacks: a copy on a selected SDMA engine. HIP
// has already loaded and initialised the library; it is opened by the name that HIP links, so that the
// dynamic linker returns the same one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/gpu/function_table.hpp"
#include "runtimes/library.hpp"

namespace byteways::hip {

// Names and numbers as in hsa.h and hsa_ext_amd.h.
struct HsaTable {
  struct Agent {
    std::uint64_t handle;
  };
  struct Signal {
    std::uint64_t handle;
  };
  using AgentVisitor = int (*)(Agent, void*);

  static constexpr int kInvalidArgument = 0x1001, kInvalidAgent = 0x1004, kOutOfResources = 0x1008,
                       kNotInitialized = 0x100B;                          // HSA_STATUS_ERROR_*
  static constexpr int kSystemVersionMajor = 0, kSystemVersionMinor = 1;  // HSA_SYSTEM_INFO_*, uint16_t
  static constexpr int kAgentDevice = 17;                                 // HSA_AGENT_INFO_DEVICE
  static constexpr int kCpu = 0, kGpu = 1;                                // HSA_DEVICE_TYPE_*
  static constexpr int kAgentBdf = 0xA006, kAgentDomain = 0xA00F;         // HSA_AMD_AGENT_INFO_*, uint32_t
  static constexpr int kLessThan = 2;                                     // HSA_SIGNAL_CONDITION_LT
  static constexpr int kWaitActive = 1;                                   // HSA_WAIT_STATE_ACTIVE

#define BYTEWAYS_TABLE "runtimes/hip/hsa.def"
#include "runtimes/gpu/function_table.inc"
};

// One end of a copy: a GPU by its PCI address, host memory without one.
using HsaPlace = std::string;

class Hsa {
 public:
  // Opens the library and queries its version only. `simulator`: file to load instead of any library; empty
  // on a real machine.
  Hsa(const std::vector<std::string>& directories, const std::string& simulator);
  ~Hsa();
  Hsa(const Hsa&) = delete;
  Hsa& operator=(const Hsa&) = delete;

  const LibraryReport& report() const { return report_; }
  // Bit k: engine k may copy from `source` to `destination`. The library omits busy engines. Throws
  // Unsupported, with the reason, if no engine can be selected.
  std::uint32_t engines(const HsaPlace& source, const HsaPlace& destination);
  // Returns when the copy is complete. Both ends must be memory that the copying GPU can access.
  void copy(void* destination, const HsaPlace& to, const void* source, const HsaPlace& from,
            std::uint64_t bytes, int engine);

 private:
  struct Agents {
    std::vector<HsaTable::Agent> cpus;
    std::multimap<std::string, HsaTable::Agent> gpus;  // by PCI address
  };
  const Agents& agents();  // initialises the runtime on the first call
  HsaTable::Agent agent_at(const HsaPlace& place);
  std::string address_of(HsaTable::Agent agent) const;
  template <class Value>
  Value info(HsaTable::Agent agent, int what) const;
  void check(const char* call, int status) const;

  HsaTable table_;
  LibraryReport report_;
  std::optional<Agents> agents_;
  std::optional<HsaTable::Signal> done_;  // 1 while a copy runs; created for the first copy
};

}  // namespace byteways::hip
