// See copy_rules.hpp.
#include "runtimes/hip/copy_rules.hpp"

#include <cstdlib>
#include <string_view>

#include "runtimes/hip/hiprtc.hpp"

namespace byteways::hip {
namespace {

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kPeerKernelKib = 1024;  // default of ROC_P2P_SDMA_SIZE
constexpr int kOldestRead = 60'000'000;         // HIP 6.0
// GPU_FORCE_BLIT_COPY_SIZE defaults to 0 in the sources of 2024 (HIP 6.3) and to 16 in those of 2026
// (HIP 7.2). When it changed is unknown, so versions in between have no rule for small copies.
constexpr int kNewestWithoutSmall = 60'400'000, kOldestWithSmall = 70'200'000;
constexpr std::uint64_t kHostKernelKib = 16;

std::uint64_t kib_or(const char* text, std::uint64_t otherwise) {
  return kKib * (text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10));
}

bool is_off(const char* text) { return text != nullptr && std::string_view(text) == "0"; }

}  // namespace

CopyRules::CopyRules(int version, const std::function<const char*(const char*)>& environment)
    : version_(version),
      engines_(!is_off(environment("HSA_ENABLE_SDMA"))),
      peer_engines_(!is_off(environment("HSA_ENABLE_PEER_SDMA"))),
      peer_kernel_bytes_(kib_or(environment("ROC_P2P_SDMA_SIZE"), kPeerKernelKib)) {
  const char* chosen = environment("GPU_FORCE_BLIT_COPY_SIZE");
  host_kernel_bytes_ = kib_or(chosen, version >= kNewestWithoutSmall ? kHostKernelKib : 0);
  host_kernel_bytes_known_ =
      (chosen != nullptr && *chosen != '\0') || version < kNewestWithoutSmall || version >= kOldestWithSmall;
}

CopyRule CopyRules::rule(const CopyEnds& ends, std::uint64_t bytes) const {
  if (version_ < kOldestRead) return {};
  const std::string who = "HIP " + version_text(version_) + ": ";
  const auto kib = [](std::uint64_t limit) { return std::to_string(limit / kKib) + " KiB"; };
  // rocblit.cpp, hsaCopyStagedOrPinned; the threshold for large copies has changed
  // (GPU_PINNED_MIN_XFER_SIZE).
  if (ends.plain)
    return {"staged", who +
                          "copies of plain host memory go in pieces, through locked buffers or, large ones, "
                          "by locking the pages for the while"};
  const bool from_gpu = ends.source_device >= 0, to_gpu = ends.destination_device >= 0;
  if (!from_gpu && !to_gpu) return {};
  if (ends.source_device == ends.destination_device) {
    if (ends.opened) return {};  // not by these kernels, and what HSA does with it was not read
    return {"kernel", who + "copies within one GPU are done by kernels"};
  }
  if (!engines_) return {"kernel", who + "HSA_ENABLE_SDMA=0 leaves every copy to kernels"};
  if (from_gpu && to_gpu) {
    if (!peer_engines_)
      return {"kernel", who + "HSA_ENABLE_PEER_SDMA=0 leaves copies between GPUs to kernels"};
    // rocblit.cpp, KernelBlitManager::copyBuffer: such memory never takes the path of kernels, whose size
    // limits then do not matter.
    if (ends.opened)
      return {"copy-engine",
              who + "copies of memory that another process owns go to SDMA engines, of any size"};
    if (bytes <= peer_kernel_bytes_)
      return {"kernel",
              who + "copies between GPUs of up to " + kib(peer_kernel_bytes_) + " are done by kernels"};
    if (bytes > host_kernel_bytes_)
      return {"copy-engine",
              who + "copies between GPUs above " + kib(peer_kernel_bytes_) + " go to SDMA engines"};
  }
  if (bytes <= host_kernel_bytes_) {
    if (!host_kernel_bytes_known_) return {};
    return {"kernel", who + "copies of up to " + kib(host_kernel_bytes_) + " are done by kernels"};
  }
  return {"copy-engine", who + "copies between host and GPU go to SDMA engines"};
}

CopyRule CopyRules::chosen(const CopyEnds& ends) const {
  if (!engines_) return {"kernel", "HSA_ENABLE_SDMA=0 leaves every copy to kernels, without a word"};
  if (ends.source_device >= 0 && ends.destination_device >= 0 && !peer_engines_)
    return {"kernel", "HSA_ENABLE_PEER_SDMA=0 leaves copies between GPUs to kernels, without a word"};
  return {"copy-engine", "HSA gives a copy to the engine that it asks for"};
}

}  // namespace byteways::hip
