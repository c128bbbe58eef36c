// Which engine hipMemcpyAsync picks, by the rules of ROCm's sources (clr: rocblit.cpp, rocsettings.cpp; ROCR:
// flag.h), read for ROCm 6 and 7. What is measured is observed where it can be (timing/engine.hpp); the rules
// say what to expect, and stand in where it cannot.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "runtimes/capabilities.hpp"

namespace byteways::hip {

class CopyRules {
 public:
  // `version` as hipRuntimeGetVersion answers. `environment` answers a variable's value or nullptr; it is
  // asked once, because the libraries too read their settings once, at the first call of the process.
  explicit CopyRules(int version, const std::function<const char*(const char*)>& environment);

  // Empty for versions whose sources were not read, and for copies that no GPU is an end of.
  CopyRule rule(const CopyEnds& ends, std::uint64_t bytes) const;
  // For a copy that asks for an engine (ROCR: GpuDevice::DmaCopyOnEngine), whatever its size.
  CopyRule chosen(const CopyEnds& ends) const;

 private:
  int version_;
  bool engines_, peer_engines_;      // HSA_ENABLE_SDMA, HSA_ENABLE_PEER_SDMA
  std::uint64_t peer_kernel_bytes_;  // ROC_P2P_SDMA_SIZE
  std::uint64_t host_kernel_bytes_;  // GPU_FORCE_BLIT_COPY_SIZE
  bool host_kernel_bytes_known_;
};

}  // namespace byteways::hip
