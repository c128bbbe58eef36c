// The CPUs that the calling thread may use, and moving it among them.
#pragma once
#include <optional>
#include <vector>

namespace byteways {

// Returns CPU numbers, ascending; only CPU 0 if they are unknown.
std::vector<int> allowed_cpus();
// Binds the calling thread to these CPUs. Returns false if the system refuses.
bool bind_this_thread(const std::vector<int>& cpus);
// Returns for how long the calling thread was ready to run so far but had no CPU, in ns. Empty if the kernel
// does not say: proc_pid_schedstat, Documentation/scheduler/sched-stats.rst of Linux.
std::optional<double> cpu_wait_ns();

}  // namespace byteways
