// See kernel_cache.hpp; cache_files.cpp reads and writes the files.
#include "runtimes/gpu/kernel_cache.hpp"

#include <algorithm>

#include "runtimes/gpu/cache_files.hpp"
#include "runtimes/kernel_source.hpp"

namespace byteways::gpu {

std::string KernelCache::name_of(const KernelCompiler& compiler, const std::string& file,
                                 const std::string& architecture) const {
  std::string text = embedded_kernels().at(file);
  for (const char* included : kernel_headers().texts) text += included;
  std::string name = file.substr(0, file.rfind('.'));
  std::replace(name.begin(), name.end(), '/', '.');  // one folder for all files
  return name + "-" + architecture + "-" + compiler.version() + "-" + checksum(text) + ".bin";
}

std::string KernelCache::image(KernelCompiler& compiler, const std::string& file,
                               const std::string& architecture) const {
  if (folder_.empty()) return compiler.compile(file, architecture);
  const std::string name = name_of(compiler, file, architecture);
  std::string image = read_cached(folder_, name);
  if (image.empty()) {
    image = compiler.compile(file, architecture);
    write_cached(folder_, name, image);
  }
  return image;
}

}  // namespace byteways::gpu
