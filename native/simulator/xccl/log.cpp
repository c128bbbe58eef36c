// See log.hpp.
#include "simulator/xccl/log.hpp"

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

namespace byteways::sim::xccl {

// Called by one thread at a time, which holds the machine's mutex.
void log_choice(const Choice& choice) {
  const char *const level = std::getenv("NCCL_DEBUG"), *const file = std::getenv("NCCL_DEBUG_FILE");
  if (level == nullptr || file == nullptr || std::string_view(level) != "INFO") return;
  const std::string line = "NCCL INFO " + std::string(choice.function) + ": " + std::to_string(choice.bytes) +
                           " Bytes -> Algo " + std::string(choice.algorithm) + " proto " +
                           std::string(choice.protocol) + " channel{Lo..Hi}={0.." +
                           std::to_string(choice.channels - 1) + "}\n";
  static std::set<std::string> written;
  if (written.insert(file + line).second) std::ofstream(file, std::ios::app) << line;
}

}  // namespace byteways::sim::xccl
