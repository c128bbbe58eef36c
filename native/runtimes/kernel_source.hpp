// The text of the device sources, embedded at build time (kernels/embed.cmake).
#pragma once
#include <map>
#include <string>
#include <vector>

namespace byteways {

const std::map<std::string, std::string>& embedded_kernels();  // file name -> text

// Sources that others include, as parallel arrays of names and texts for compilers.
struct KernelHeaders {
  std::vector<const char*> names, texts;
};
const KernelHeaders& kernel_headers();

}  // namespace byteways
