// Which clock of the host is read.
#pragma once
#include <string_view>

namespace byteways {

// Whether a process reads CLOCK_MONOTONIC_RAW without a system call on this release of Linux, as uname() has
// it.
bool reads_raw_clock_by_itself(std::string_view release);

}  // namespace byteways
