// See kernel_source.hpp.
#include "runtimes/kernel_source.hpp"

namespace byteways {

const KernelHeaders& kernel_headers() {
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
