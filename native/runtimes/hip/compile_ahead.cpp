// Compiles the kernels for a GPU into the cache, in a process of its own. See hiprtc.hpp.
#include "runtimes/gpu/kernel_cache.hpp"
#include "runtimes/hip/driver.hpp"
#include "runtimes/hip/hiprtc.hpp"

namespace byteways::hip {

void compile_kernels(const std::string& architecture, const std::string& cache_folder,
                     const std::vector<std::string>& library_directories) {
  LibraryReport report;
  HipTable runtime;
  HipLibrary hip;
  hip.library = open_library(library_directories, {}, report);
  hip.path = report.path;
  runtime.bind(hip.library, report);
  if (runtime.runtime_version && runtime.runtime_version(&hip.version) != 0) hip.version = 0;
  Hiprtc compiler(hip, library_directories, Hiprtc::Place::own_process);
  gpu::require(compiler, "hipRTC");
  const gpu::KernelCache cache(cache_folder);
  for (const auto& source : embedded_kernels())
    if (source.first.ends_with(".cu")) cache.image(compiler, source.first, architecture);
}

}  // namespace byteways::hip
