// See kfd.hpp.
#include "runtimes/hip/kfd.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>
#include <vector>

namespace byteways::hip {
namespace {

namespace fs = std::filesystem;
using Properties = std::map<std::string, std::uint64_t>;

constexpr const char* kNodes = "class/kfd/kfd/topology/nodes";
constexpr std::uint64_t kXgmi = 11, kSocketWeight = 13;

// Lines of a name and a number; empty if the file cannot be read.
Properties properties_in(const fs::path& folder) {
  Properties found;
  std::ifstream file(folder / "properties");
  std::string name;
  for (std::uint64_t value = 0; file >> name >> value;) found[name] = value;
  return found;
}

std::uint64_t value_of(const Properties& properties, const char* name) {
  const auto found = properties.find(name);
  return found == properties.end() ? 0 : found->second;
}

// "0000:c2:00": partitions of a GPU are functions of one device.
std::string address_of(const Properties& node) {
  const std::uint64_t location = value_of(node, "location_id");
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x", static_cast<unsigned>(value_of(node, "domain")),
                static_cast<unsigned>(location >> 8 & 0xff), static_cast<unsigned>(location >> 3 & 0x1f));
  return text;
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    found.push_back(at->path());
  return found;
}

bool is_cpu(const fs::path& nodes, std::uint64_t node) {
  return value_of(properties_in(nodes / std::to_string(node)), "cpu_cores_count") != 0;
}

}  // namespace

bool shares_memory_with_cpu(const std::string& sysfs, const std::string& pci_address) {
  if (sysfs.empty()) return false;
  const fs::path nodes = fs::path(sysfs) / kNodes;
  for (const fs::path& place : entries(nodes)) {
    const Properties node = properties_in(place);
    if (value_of(node, "simd_count") == 0 || !pci_address.starts_with(address_of(node))) continue;
    if (value_of(node, "cpu_cores_count") != 0) return true;
    const std::vector<fs::path> links = entries(place / "io_links");
    const auto joins_package = [&](const fs::path& link) {
      const Properties properties = properties_in(link);
      return value_of(properties, "type") == kXgmi && value_of(properties, "weight") == kSocketWeight &&
             is_cpu(nodes, value_of(properties, "node_to"));
    };
    if (std::any_of(links.begin(), links.end(), joins_package)) return true;
  }
  return false;
}

}  // namespace byteways::hip
