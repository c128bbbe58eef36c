// The text of the device sources, embedded at build time (kernels/embed.cmake).
#pragma once
#include <map>
#include <string>

namespace byteways {
const std::map<std::string, std::string>& embedded_kernels();  // file name -> text
}
