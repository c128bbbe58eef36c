// See kernels.hpp. An image is an identifying line, then a line "<launch bound> <kernel>" each; or PTX.
#include "simulator/vendors/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string_view>

#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

constexpr const char* kHeader = "byteways simulated kernels";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_of_a_name(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The unread part of a text.
struct Cursor {
  std::string_view text;

  /// The leading characters for which `belongs` holds; may be empty.
  std::string_view take(bool (*belongs)(char)) {
    const auto end = std::find_if_not(text.begin(), text.end(), belongs);
    const auto length = static_cast<std::size_t>(end - text.begin());
    const std::string_view taken = text.substr(0, length);
    text.remove_prefix(length);
    return taken;
  }

  /// Whether this character is next; if so, it is consumed.
  bool take(char wanted) {
    if (text.empty() || text.front() != wanted) return false;
    text.remove_prefix(1);
    return true;
  }
};

// The kernels of an image that another program compiled for NVIDIA GPUs, in the lines of compile_image():
// `.visible .entry name(…)`, and `.maxntid 512, 1, 1` before its body. Empty if there are none. What the
// instructions do is not read: a kernel is known by its name.
std::string entries_of_ptx(std::string_view image) {
  static constexpr std::string_view kEntry = ".visible .entry ", kBound = ".maxntid ";
  std::string entries;
  for (auto at = image.find(kEntry); at != std::string_view::npos; at = image.find(kEntry, at)) {
    at += kEntry.size();
    Cursor rest{image.substr(at)};
    const std::string name(rest.take(is_of_a_name));
    const std::string_view head = rest.text.substr(0, rest.text.find('{'));
    const auto bound = head.find(kBound);
    if (bound == std::string_view::npos) continue;
    Cursor number{head.substr(bound + kBound.size())};
    entries.append(number.take(is_digit)).append(" ").append(name).append("\n");
  }
  return entries;
}

}  // namespace

std::optional<std::string> compile_image(const std::string& source) {
  // Matches `BYTEWAYS_KERNEL(256) name(` and `BYTEWAYS_KERNEL(256, 2) name(` with optional spaces. By hand:
  // <regex> doubles the compile time of this file.
  static constexpr std::string_view kMacro = "BYTEWAYS_KERNEL(";
  std::string image;
  for (auto at = source.find(kMacro); at != std::string::npos; at = source.find(kMacro, at + 1)) {
    Cursor rest{std::string_view(source).substr(at + kMacro.size())};
    const std::string bound(rest.take(is_digit));
    if (rest.take(',')) {
      rest.take(is_space);
      rest.take(is_digit);
    }
    if (bound.empty() || !rest.take(')')) continue;
    rest.take(is_space);
    const std::string name(rest.take(is_of_a_name));
    rest.take(is_space);
    if (rest.take('(') && find_simulated_kernel(name) != nullptr) image += bound + " " + name + "\n";
  }
  if (image.empty()) return std::nullopt;
  return std::string(kHeader) + "\n" + image;
}

KernelModule* load_image(const char* image) {
  static std::mutex mutex;
  static std::map<std::string, KernelModule> modules;
  const std::string header = std::string(kHeader) + "\n";
  if (image == nullptr) return nullptr;
  const bool own = std::strncmp(image, header.c_str(), header.size()) == 0;
  const std::string text = own ? image + header.size() : entries_of_ptx(image);
  if (text.empty()) return nullptr;
  const std::lock_guard lock(mutex);
  const auto [known, is_new] = modules.try_emplace(text);
  KernelModule& module = known->second;
  if (is_new) {
    std::istringstream lines(text);
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
