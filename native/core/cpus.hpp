// The CPUs that the calling thread may use, and moving it among them.
#pragma once
#include <vector>

namespace byteways {

// Returns CPU numbers, ascending; only CPU 0 if they are unknown.
std::vector<int> allowed_cpus();
// Binds the calling thread to these CPUs. Returns false if the system refuses.
bool bind_this_thread(const std::vector<int>& cpus);

}  // namespace byteways
