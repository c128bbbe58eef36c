// The text of the device sources, embedded at build time (interfaces/device/embed.cmake).
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

inline const KernelHeaders& kernel_headers() {
  static const KernelHeaders headers = [] {
    KernelHeaders found;
    for (const auto& [name, text] : embedded_kernels()) {
      if (name.ends_with(".cu")) continue;
      found.names.push_back(name.c_str());
      found.texts.push_back(text.c_str());
    }
    return found;
  }();
  return headers;
}

}  // namespace byteways
