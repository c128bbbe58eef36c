// Compiled kernels on disk, so that only the first worker after an upgrade waits for the compiler.
#pragma once
#include <string>

#include "runtimes/gpu/compiler.hpp"

namespace byteways::gpu {

class KernelCache {
 public:
  // Empty folder: nothing is kept. The folder is made when it is first written to.
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  // The image from the cache when it is whole, else from the compiler (and then kept). A cache that cannot be
  // read or written costs time, not the measurement.
  std::string image(KernelCompiler& compiler, const std::string& file, const std::string& architecture) const;

 private:
  std::string name_of(const KernelCompiler& compiler, const std::string& file,
                      const std::string& architecture) const;
  std::string folder_;
};

}  // namespace byteways::gpu
