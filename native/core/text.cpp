// See text.hpp.
#include "core/text.hpp"

#include <cctype>
#include <charconv>
#include <fstream>
#include <sstream>

namespace byteways {

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    int first = 0;
    auto [after, error] = std::from_chars(at, end, first);
    if (error != std::errc()) {
      ++at;
      continue;
    }
    int last = first;
    at = after;
    if (at < end && *at == '-') {
      const auto range = std::from_chars(at + 1, end, last);
      if (range.ec == std::errc()) at = range.ptr;
    }
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::uint64_t parse_bytes(const std::string& text) {
  std::uint64_t value = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  switch (after < text.data() + text.size() ? std::toupper(static_cast<unsigned char>(*after)) : 0) {
    case 'K':
      return value << 10;
    case 'M':
      return value << 20;
    case 'G':
      return value << 30;
    default:
      return value;
  }
}

std::uint64_t meminfo_bytes(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(name + ":");
    // A node's lines begin with "Node 0 ", and "Inactive:" must not match "Active:".
    if (at == std::string::npos || (at > 0 && line[at - 1] != ' ')) continue;
    std::uint64_t kibibytes = 0;
    std::istringstream(line.substr(at + name.size() + 1)) >> kibibytes;
    return kibibytes << 10;
  }
  return 0;
}

}  // namespace byteways
