// The CPUs that the calling thread may use, and moving it among them.
#pragma once
#include <vector>

namespace byteways {

// Ascending; CPU 0 alone where the system does not tell.
std::vector<int> allowed_cpus();
// Moves the calling thread onto these CPUs; false when the system refuses.
bool bind_this_thread(const std::vector<int>& cpus);

}  // namespace byteways
