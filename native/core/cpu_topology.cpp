// See cpu_topology.hpp.
#include "core/cpu_topology.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "core/arm_processors.hpp"
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

// Fields of one processor in /proc/cpuinfo.
using Fields = std::map<std::string, std::string>;

// One entry for each processor; kernels that describe all at once give a single one.
std::vector<Fields> processors(const std::string& proc) {
  std::vector<Fields> found;
  std::ifstream file(proc + "/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0) continue;
    const std::size_t end = line.find_last_not_of(" \t", colon - 1);
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    if (end == std::string::npos) continue;
    const std::string key = line.substr(0, end + 1);
    if (found.empty() || (key == "processor" && found.back().contains(key))) found.emplace_back();
    found.back().try_emplace(key, value == std::string::npos ? "" : line.substr(value));
  }
  return found;
}

std::string text_of(const Fields& fields, const char* key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string() : found->second;
}

// Designs of Arm's processors by CPU, and the CPUs of Intel's hybrid processors by kind.
std::vector<CoreType> core_types(const std::string& sysfs, const std::vector<Fields>& all,
                                 const std::vector<int>& allowed) {
  std::map<std::string, std::vector<int>> by_name;
  for (const Fields& fields : all) {
    const std::string name = arm_processor(text_of(fields, "CPU implementer"), text_of(fields, "CPU part"));
    const int cpu = static_cast<int>(parse_bytes(text_of(fields, "processor")));
    if (!name.empty() && std::find(allowed.begin(), allowed.end(), cpu) != allowed.end())
      by_name[name].push_back(cpu);
  }
  for (const auto& [unit, name] :
       {std::pair("cpu_core", "performance"), std::pair("cpu_atom", "efficient")}) {
    const std::vector<int> cpus =
        among(parse_cpu_list(read_line(sysfs + "/devices/" + unit + "/cpus")), allowed);
    if (!cpus.empty()) by_name[name] = cpus;
  }
  std::vector<CoreType> found;
  for (auto& [name, cpus] : by_name) found.push_back({name, std::move(cpus)});
  std::stable_sort(found.begin(), found.end(), [](const CoreType& one, const CoreType& other) {
    return one.cpus.size() > other.cpus.size();
  });
  return found;
}

void read_processor(const std::string& sysfs, const std::string& proc, const std::vector<int>& allowed,
                    CpuTopology& found) {
  const std::vector<Fields> all = processors(proc);
  const Fields first = all.empty() ? Fields() : all.front();
  // "cpu": POWER; "Model Name": LoongArch; "uarch": RISC-V.
  for (const char* key : {"model name", "Model Name", "cpu", "uarch"})
    if (found.model.empty()) found.model = text_of(first, key);
  found.core_types = core_types(sysfs, all, allowed);
  const bool arm = first.contains("CPU implementer");
  if (arm && !found.core_types.empty()) {
    // 32-bit kernels have a model name, "ARMv7 Processor", which says less.
    found.model.clear();
    for (const CoreType& type : found.core_types)
      found.model += (found.model.empty() ? "" : " + ") + type.name;
    const std::string product = arm_product(found.model, read_line(sysfs + "/devices/soc0/soc_id"),
                                            read_line(sysfs + "/class/dmi/id/sys_vendor"));
    if (!product.empty()) found.model = product + " (" + found.model + ")";
  }
  if (found.core_types.size() < 2) found.core_types.clear();
  found.virtual_machine = (" " + text_of(first, "flags") + " ").find(" hypervisor ") != std::string::npos ||
                          fs::exists(sysfs + "/hypervisor/type");
}

// Domains from which this process may allocate; empty: all.
std::vector<int> allowed_memory(const std::string& proc) {
  std::ifstream file(proc + "/self/status");
  for (std::string line; std::getline(file, line);)
    if (const std::string key = "Mems_allowed_list:"; line.starts_with(key)) {
      const std::size_t begin = line.find_first_not_of(" \t", key.size());
      return begin == std::string::npos ? std::vector<int>() : parse_cpu_list(line.substr(begin));
    }
  return {};
}

// Whether memory without CPUs is that of GPUs: their drivers add it on coherent machines, which are Arm's
// (GH200) or POWER (AC922). There the GPU owns it, as a device of its own.
bool gpus_add_memory(const std::string& sysfs, const std::vector<Fields>& all) {
  const bool other = std::any_of(all.begin(), all.end(), [](const Fields& fields) {
    return fields.contains("CPU implementer") || text_of(fields, "cpu").starts_with("POWER");
  });
  std::error_code ignored;
  if (other)
    for (const auto& entry : fs::directory_iterator(sysfs + "/bus/pci/devices", ignored))
      if (const std::string place = entry.path();
          read_line(place + "/vendor") == "0x10de" && read_line(place + "/class").starts_with("0x03"))
        return true;
  return false;
}

int nearest_domain(const std::vector<CpuDomain>& domains, const std::map<int, int>& distances) {
  std::size_t nearest = 0;
  const auto distance = [&](std::size_t index) {
    const auto found = distances.find(domains[index].number);
    return found == distances.end() ? std::numeric_limits<int>::max() : found->second;
  };
  for (std::size_t index = 1; index < domains.size(); ++index)
    if (distance(index) < distance(nearest)) nearest = index;
  return static_cast<int>(nearest);
}

// Adds a domain without CPUs, or says why not. One without memory is none: firmware reserves numbers for
// memory that may come later, such as that of a GPU's instances.
void add_memory_domain(MemoryDomain domain, const std::vector<int>& allowed, bool of_gpu,
                       CpuTopology& found) {
  if (domain.memory_bytes == 0) return;
  const std::string what = "NUMA domain " + std::to_string(domain.number);
  if (of_gpu) {
    found.notes.push_back(what + " left out: memory without cores, which is a GPU's on this machine");
  } else if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), domain.number) == allowed.end()) {
    found.notes.push_back(what + " left out: this process may not use its memory, and it has no cores");
  } else {
    found.memory_only.push_back(std::move(domain));
  }
}

std::string numbers_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t begin = 0; begin < numbers.size();) {
    std::size_t end = begin;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[begin]);
    if (end > begin) text += "-" + std::to_string(numbers[end]);
    begin = end + 1;
  }
  return text;
}

// Notes allowed CPUs that no domain of the kernel has: those of a domain that is offline.
void note_homeless(const std::vector<int>& allowed, CpuTopology& found) {
  std::vector<int> homeless;
  for (int cpu : allowed)
    if (std::none_of(found.domains.begin(), found.domains.end(), [&](const CpuDomain& domain) {
          return std::find(domain.cpus.begin(), domain.cpus.end(), cpu) != domain.cpus.end();
        }))
      homeless.push_back(cpu);
  if (homeless.empty()) return;
  const std::string count = std::to_string(homeless.size()) + " of " + std::to_string(allowed.size());
  found.notes.push_back("CPUs " + numbers_text(homeless) + " left out (" + count +
                        " that this process may use): their NUMA domain is offline or hidden");
}

}  // namespace

CpuTopology read_cpus(const std::string& sysfs, const std::string& proc, const std::vector<int>& allowed) {
  const std::string system = sysfs + "/devices/system";
  CpuTopology found;
  read_processor(sysfs, proc, allowed, found);
  const std::vector<int> numbers = domain_numbers(system);
  std::vector<MemoryDomain> without_cpus;
  for (int number : numbers) {
    const std::string node = system + "/node/node" + std::to_string(number);
    const std::vector<int> online = parse_cpu_list(read_line(node + "/cpulist"));
    const std::uint64_t bytes = meminfo_bytes(node + "/meminfo", "MemTotal");
    CpuDomain domain;
    domain.number = number;
    domain.cpus = among(online, allowed);
    if (!domain.cpus.empty()) {
      domain.memory_bytes = bytes;
      domain.distances = distances_of(node, numbers);
      found.domains.push_back(std::move(domain));
    } else if (online.empty()) {
      without_cpus.push_back({number, bytes, distances_of(node, numbers), 0});
    } else {
      found.notes.push_back("NUMA domain " + std::to_string(number) +
                            " left out: this process cannot use any of its " + std::to_string(online.size()) +
                            " cores");
    }
  }
  if (found.domains.empty()) {
    found.notes.push_back("the kernel shows no NUMA domains; all cores are taken as one");
    CpuDomain& all = found.domains.emplace_back();
    all.cpus = allowed;
    all.memory_bytes = meminfo_bytes(proc + "/meminfo", "MemTotal");
    all.distances = {{0, 10}};
  }
  note_homeless(allowed, found);
  const bool of_gpus = gpus_add_memory(sysfs, processors(proc));
  const std::vector<int> memory = allowed_memory(proc);
  for (MemoryDomain& domain : without_cpus) {
    domain.nearest = nearest_domain(found.domains, domain.distances);
    add_memory_domain(std::move(domain), memory, of_gpus, found);
  }
  for (CpuDomain& domain : found.domains) {
    domain.cores = cores_of(system, domain.cpus);
    add_caches(system, domain);
  }
  return found;
}

}  // namespace byteways
