// Small readers of the text files by which Linux describes a machine.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace byteways {

// First line of a file, empty when it cannot be read.
std::string read_line(const std::string& path);
// "0-3,8" -> 0 1 2 3 8; what cannot be parsed is left out.
std::vector<int> parse_cpu_list(const std::string& text);
// "48K", "2048", "1M" in bytes; 0 when unreadable.
std::uint64_t parse_bytes(const std::string& text);
// The number of "<name>: 123 kB" in a file like /proc/meminfo, in bytes; 0 when there is none.
std::uint64_t meminfo_bytes(const std::string& path, const std::string& name);

}  // namespace byteways
