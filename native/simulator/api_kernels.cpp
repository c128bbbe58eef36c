// See api_kernels.hpp. An image is a line that says so, then a line "<launch bound> <kernel>" each.
#include "simulator/api_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <regex>
#include <sstream>

#include "simulator/kernels.hpp"

namespace byteways::sim {
namespace {

constexpr const char* kHeader = "byteways simulated kernels";

}  // namespace

std::optional<std::string> compile_image(const std::string& source) {
  static const std::regex kernel(R"(BYTEWAYS_KERNEL\((\d+)\)\s*(\w+)\s*\()");
  std::string image;
  for (auto found = std::sregex_iterator(source.begin(), source.end(), kernel);
       found != std::sregex_iterator(); ++found)
    if (find_simulated_kernel((*found)[2].str()) != nullptr)
      image += (*found)[1].str() + " " + (*found)[2].str() + "\n";
  if (image.empty()) return std::nullopt;
  return std::string(kHeader) + "\n" + image;
}

KernelModule* load_image(const char* image) {
  static std::mutex mutex;
  static std::map<std::string, KernelModule> modules;
  const std::string header = std::string(kHeader) + "\n";
  if (image == nullptr || std::strncmp(image, header.c_str(), header.size()) != 0) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [known, is_new] = modules.try_emplace(image);
  KernelModule& module = known->second;
  if (is_new) {
    std::istringstream lines(known->first.substr(header.size()));
    KernelEntry entry;
    while (lines >> entry.most_threads >> entry.name) {
      const SimulatedKernel* known_kernel = find_simulated_kernel(entry.name);
      if (known_kernel == nullptr) continue;
      entry.argument_bytes = known_kernel->argument_bytes;
      module.kernels[entry.name] = entry;
    }
  }
  return &module;
}

int resident_blocks(int threads, std::size_t shared, std::size_t most_shared) {
  constexpr int kThreads = 2048, kBlocks = 32;
  const int by_threads = threads < 1 ? 0 : std::min(kBlocks, kThreads / threads);
  return shared == 0 ? by_threads : std::min(by_threads, static_cast<int>(most_shared / shared));
}

}  // namespace byteways::sim
