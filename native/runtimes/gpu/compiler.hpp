// Vendor-neutral interface of run-time compilers: device source file to loadable image.
#pragma once
#include <string>

#include "core/availability.hpp"

namespace byteways::gpu {

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  virtual Availability available() const = 0;
  // Returns compiler, version and options, which are part of the cache key: "nvrtc-13.0-std=c++17".
  virtual std::string version() const = 0;
  // Returns the loadable image of one embedded file ("interfaces/kernel_copy/kernel.cu") for one architecture
  // ("sm_90"). Thread-safe. Throws Unsupported if the compiler does not know the architecture, Error with its
  // log if compilation fails.
  virtual std::string compile(const std::string& file, const std::string& architecture) = 0;
};

}  // namespace byteways::gpu
