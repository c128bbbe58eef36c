// Files of the kernel cache. Their content runs on a GPU, so only this user may have written it: the folder
// and each file must belong to this user and not be writable by others.
#pragma once
#include <string>
#include <string_view>

namespace byteways::gpu {

// FNV-1a of 64 bits (Fowler, Noll, Vo), as 16 hexadecimal digits: names sources and detects damaged files.
// It is no protection against an attacker; the owner and mode of the files are.
std::string checksum(std::string_view text);

// Returns the content written by write_cached(). Empty if the file is missing, incomplete, a link, or owned
// by somebody else.
std::string read_cached(const std::string& folder, const std::string& name);

// Writes to a new file with a random name and renames it, so a reader sees a complete file or none. Creates
// the folder for this user only. Does nothing if that is impossible.
void write_cached(const std::string& folder, const std::string& name, const std::string& content);

}  // namespace byteways::gpu
