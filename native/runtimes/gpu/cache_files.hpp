// Files of the kernel cache. What is read here becomes code on a GPU, so that nobody but this user may have
// written it: the folder and each file must be this user's, and not writable by others.
#pragma once
#include <string>

namespace byteways::gpu {

// The content that write_cached() has put there. Empty when the file is absent, not whole, a link, or
// somebody else's.
std::string read_cached(const std::string& folder, const std::string& name);

// Written aside under a random name that did not exist, then renamed: a reader sees a whole file or none. The
// folder is made for this user alone. Does nothing where that cannot be had.
void write_cached(const std::string& folder, const std::string& name, const std::string& content);

}  // namespace byteways::gpu
