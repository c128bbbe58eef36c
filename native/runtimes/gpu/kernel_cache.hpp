// Disk cache of compiled kernels, so that only the first worker after an upgrade waits for the compiler.
#pragma once
#include <string>

#include "runtimes/gpu/compiler.hpp"

namespace byteways::gpu {

class KernelCache {
 public:
  // An empty folder name disables the cache. The folder is created at the first write.
  explicit KernelCache(std::string folder) : folder_(std::move(folder)) {}

  // Returns the image from the cache if it is complete, else from the compiler, and caches it. If the cache
  // cannot be read or written, only time is lost.
  std::string image(KernelCompiler& compiler, const std::string& file, const std::string& architecture) const;

 private:
  std::string name_of(const KernelCompiler& compiler, const std::string& file,
                      const std::string& architecture) const;
  std::string folder_;
};

}  // namespace byteways::gpu
