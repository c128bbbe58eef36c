// See cpu_topology.hpp.
#include "core/cpu_topology.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "core/text.hpp"

namespace byteways {
namespace {

namespace fs = std::filesystem;

// A cache of one CPU, and the CPUs that share it.
struct Entry {
  CpuCache cache;
  std::vector<int> shared;
};

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

std::vector<Entry> entries_of(const std::string& cpu) {
  std::vector<Entry> found;
  for (int index = 0;; ++index) {
    const std::string place = cpu + "/cache/index" + std::to_string(index) + "/";
    const std::string level = read_line(place + "level"), kind = lower(read_line(place + "type"));
    const std::string size = read_line(place + "size");
    if (level.empty() && kind.empty()) return found;
    if (level.empty() || kind.empty() || size.empty()) continue;
    Entry entry;
    entry.shared = parse_cpu_list(read_line(place + "shared_cpu_list"));
    entry.cache = {static_cast<int>(parse_bytes(level)), kind, parse_bytes(size),
                   parse_bytes(read_line(place + "coherency_line_size")),
                   std::max(1, static_cast<int>(entry.shared.size()))};
    found.push_back(std::move(entry));
  }
}

std::vector<int> among(const std::vector<int>& wanted, const std::vector<int>& cpus) {
  std::vector<int> found;
  for (int cpu : wanted)
    if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) found.push_back(cpu);
  return found;
}

// Empty if the kernel does not provide the data for each CPU.
std::vector<std::vector<int>> cores_of(const std::string& system, const std::vector<int>& cpus) {
  std::vector<std::vector<int>> cores;
  for (int cpu : cpus) {
    const std::string told =
        read_line(system + "/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    if (told.empty()) return {};
    std::vector<int> core = among(parse_cpu_list(told), cpus);
    if (std::find(cores.begin(), cores.end(), core) == cores.end()) cores.push_back(std::move(core));
  }
  return cores;
}

void add_caches(const std::string& system, CpuDomain& domain) {
  std::map<int, std::map<std::vector<int>, std::uint64_t>> by_level;  // level -> CPUs that share it -> bytes
  std::set<std::pair<int, std::vector<int>>> shared;
  for (int cpu : domain.cpus) {
    const auto entries = entries_of(system + "/cpu/cpu" + std::to_string(cpu));
    for (const Entry& entry : entries) {
      if (cpu == domain.cpus.front()) domain.caches.push_back(entry.cache);
      if (entry.cache.kind == "instruction") continue;
      by_level[entry.cache.level][entry.shared] = entry.cache.size_bytes;
      const std::vector<int> users = among(entry.shared, domain.cpus);
      const auto cores = std::count_if(domain.cores.begin(), domain.cores.end(), [&](const auto& core) {
        return std::find(users.begin(), users.end(), core.front()) != users.end();
      });
      if (cores > 1) shared.insert({entry.cache.level, users});
    }
  }
  std::sort(domain.caches.begin(), domain.caches.end(), [](const CpuCache& one, const CpuCache& other) {
    return std::tie(one.level, one.kind) < std::tie(other.level, other.kind);
  });
  for (const auto& [level, users] : shared) domain.shared.push_back({level, users});
  if (by_level.empty()) return;
  for (const auto& [users, bytes] : by_level.rbegin()->second) domain.last_level_cache_bytes += bytes;
}

// Domain numbers, ascending.
std::vector<int> domain_numbers(const std::string& system) {
  std::vector<int> numbers;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(system + "/node", ignored)) {
    const std::string name = entry.path().filename();
    int number = 0;
    const char* end = name.data() + name.size();
    if (name.starts_with("node") && std::from_chars(name.data() + 4, end, number).ptr == end &&
        name.size() > 4)
      numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::map<int, int> distances_of(const std::string& node, const std::vector<int>& domains) {
  std::map<int, int> distances;
  std::istringstream words(read_line(node + "/distance"));
  for (int domain : domains)
    if (int distance = 0; words >> distance) distances[domain] = distance;
  return distances;
}

void read_processor(const std::string& sysfs, const std::string& proc, CpuTopology& found) {
  std::map<std::string, std::string> fields;  // of the first processor
  std::ifstream file(proc + "/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0) continue;
    const std::size_t end = line.find_last_not_of(" \t", colon - 1);
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    if (end == std::string::npos) continue;
    fields.try_emplace(line.substr(0, end + 1), value == std::string::npos ? "" : line.substr(value));
  }
  for (const char* key : {"model name", "cpu"})  // "cpu": POWER
    if (found.model.empty()) found.model = fields[key];
  found.virtual_machine = (" " + fields["flags"] + " ").find(" hypervisor ") != std::string::npos ||
                          fs::exists(sysfs + "/hypervisor/type");
}

}  // namespace

CpuTopology read_cpus(const std::string& sysfs, const std::string& proc, const std::vector<int>& allowed) {
  const std::string system = sysfs + "/devices/system";
  CpuTopology found;
  read_processor(sysfs, proc, found);
  const std::vector<int> numbers = domain_numbers(system);
  for (int number : numbers) {
    const std::string node = system + "/node/node" + std::to_string(number);
    const std::vector<int> online = parse_cpu_list(read_line(node + "/cpulist"));
    CpuDomain domain;
    domain.number = number;
    domain.cpus = among(online, allowed);
    if (!domain.cpus.empty()) {
      domain.memory_bytes = meminfo_bytes(node + "/meminfo", "MemTotal");
      domain.distances = distances_of(node, numbers);
      found.domains.push_back(std::move(domain));
    } else {
      found.notes.push_back("NUMA domain " + std::to_string(number) + " left out: " +
                            (online.empty() ? "it has memory but no cores"
                                            : "this process cannot use any of its " +
                                                  std::to_string(online.size()) + " cores"));
    }
  }
  if (found.domains.empty()) {
    found.notes.push_back("the kernel shows no NUMA domains; all cores are taken as one");
    CpuDomain& all = found.domains.emplace_back();
    all.cpus = allowed;
    all.memory_bytes = meminfo_bytes(proc + "/meminfo", "MemTotal");
    all.distances = {{0, 10}};
  }
  for (CpuDomain& domain : found.domains) {
    domain.cores = cores_of(system, domain.cpus);
    add_caches(system, domain);
  }
  return found;
}

}  // namespace byteways
