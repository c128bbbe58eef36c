// What turns a device source file into what the driver loads, whoever made the compiler.
#pragma once
#include <string>

#include "core/availability.hpp"

namespace byteways::gpu {

class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  virtual Availability available() const = 0;
  // What compiles and with which options: part of the cache key, "nvrtc-13.0-std=c++17".
  virtual std::string version() const = 0;
  // The loadable image of one embedded file ("copy.cu") for one architecture ("sm_90"). Thread-safe.
  // Throws Unsupported when the compiler does not know the architecture, Error with its log when the source
  // is refused.
  virtual std::string compile(const std::string& file, const std::string& architecture) = 0;
};

}  // namespace byteways::gpu
