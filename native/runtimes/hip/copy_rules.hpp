// Which engine hipMemcpyAsync uses, by the rules of ROCm's sources (clr: rocblit.cpp, rocsettings.cpp; ROCR:
// flag.h) of ROCm 6 and 7. Measurements observe the engine where possible (timing/engine.hpp); the rules give
// the expectation, and are used where observation is impossible.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "runtimes/capabilities.hpp"

namespace byteways::hip {

class CopyRules {
 public:
  // `version` as returned by hipRuntimeGetVersion. `environment` returns a variable's value or nullptr; it is
  // called once, because the libraries also read their settings once, at the first call of the process.
  explicit CopyRules(int version, const std::function<const char*(const char*)>& environment);

  // Empty for versions whose sources were not read, and for copies without a GPU.
  CopyRule rule(const CopyEnds& ends, std::uint64_t bytes) const;
  // For a copy that selects an engine (ROCR: GpuDevice::DmaCopyOnEngine), of any size.
  CopyRule chosen(const CopyEnds& ends) const;

 private:
  int version_;
  bool engines_, peer_engines_;      // HSA_ENABLE_SDMA, HSA_ENABLE_PEER_SDMA
  std::uint64_t peer_kernel_bytes_;  // ROC_P2P_SDMA_SIZE
  std::uint64_t host_kernel_bytes_;  // GPU_FORCE_BLIT_COPY_SIZE
  bool host_kernel_bytes_known_;
};

}  // namespace byteways::hip
