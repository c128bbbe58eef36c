// How much more memory this process may use. The kernel overcommits memory and kills processes when it runs
// out; refusing an allocation beforehand costs one case instead of one worker.
#include <algorithm>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

#include "core/text.hpp"
#include "memory/host_memory.hpp"
#include "memory/placement.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

struct ControlFiles {
  const char *limit, *usage, *reclaimable;  // the last is a name in memory.stat
};
constexpr ControlFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr ControlFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

std::uint64_t statistic(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string key;
  for (std::uint64_t value = 0; file >> key >> value;)
    if (key == name) return value;
  return 0;
}

std::uint64_t group_headroom(const std::string& group, const ControlFiles& files) {
  const std::string limit = read_line(group + "/" + files.limit);
  if (limit.empty() || limit == "max") return kUnlimited;
  const std::uint64_t used = parse_bytes(read_line(group + "/" + files.usage));
  const std::uint64_t cache = statistic(group + "/memory.stat", files.reclaimable);
  const std::uint64_t held = used > cache ? used - cache : 0;
  const std::uint64_t most = parse_bytes(limit);
  return most > held ? most - held : 0;
}

// A limit at any level between a group and the root applies to the group.
std::uint64_t hierarchy_headroom(const std::string& root, std::string path, const ControlFiles& files) {
  std::uint64_t least = group_headroom(root, files);
  while (!path.empty() && path != "/") {
    least = std::min(least, group_headroom(root + path, files));
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  return least;
}

std::uint64_t control_group_headroom() {
  std::ifstream file("/proc/self/cgroup");
  std::uint64_t least = kUnlimited;
  for (std::string line; std::getline(file, line);) {  // "4:memory:/path", version 2: "0::/path"
    const std::size_t names = line.find(':') + 1;
    const std::size_t path = line.find(':', names) + 1;
    if (names == 0 || path == 0) continue;
    const std::string_view controllers = std::string_view(line).substr(names, path - 1 - names);
    if (controllers.empty())
      least = std::min(least, hierarchy_headroom("/sys/fs/cgroup", line.substr(path), kVersion2));
    else if (controllers.find("memory") != std::string_view::npos)
      least = std::min(least, hierarchy_headroom("/sys/fs/cgroup/memory", line.substr(path), kVersion1));
  }
  return least;
}

// Memory that the kernel calls available on one domain: free or reclaimable.
std::uint64_t domain_available(int numa_domain) {
  const std::string path = "/sys/devices/system/node/node" + std::to_string(numa_domain) + "/meminfo";
  std::uint64_t bytes = 0;
  for (const char* name : {"MemFree", "Active(file)", "Inactive(file)", "SReclaimable"})
    bytes += meminfo_bytes(path, name);
  return bytes;
}

}  // namespace

std::uint64_t memory_headroom(int numa_domain) {
  // With one domain the machine-wide value is better: it includes hot-plugged memory.
  const bool whole = numa_domain < 0 || memory_domains().size() == 1;
  const std::uint64_t available =
      whole ? meminfo_bytes("/proc/meminfo", "MemAvailable") : domain_available(numa_domain);
  return std::min(available == 0 ? kUnlimited : available, control_group_headroom());  // 0: unknown
}

}  // namespace byteways
