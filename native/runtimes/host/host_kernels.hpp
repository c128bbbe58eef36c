// The host's functions behind the kernel names, with the argument blocks of kernels/arguments.hpp.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "runtimes/host/team.hpp"

namespace byteways {

struct HostKernel {
  std::string_view name;
  HostFunction function;  // nullptr: not on this architecture
  std::size_t argument_bytes;
};

// nullptr when there is no kernel of that name.
const HostKernel* find_host_kernel(std::string_view name);

// One kernel family a file.
void gate_kernel(const void* arguments, const TeamMember& member);
void fill_kernel(const void* arguments, const TeamMember& member);
void poison_kernel(const void* arguments, const TeamMember& member);
void check_kernel(const void* arguments, const TeamMember& member);
void memcpy_kernel(const void* arguments, const TeamMember& member);
void memcpy_stream_kernel(const void* arguments, const TeamMember& member);
void memcpy_rows_kernel(const void* arguments, const TeamMember& member);
void check_rows_kernel(const void* arguments, const TeamMember& member);
void chase_build_kernel(const void* arguments, const TeamMember& member);
void chase_kernel(const void* arguments, const TeamMember& member);
void nothing_kernel(const void* arguments, const TeamMember& member);
void stream_copy_kernel(const void* arguments, const TeamMember& member);
void stream_scale_kernel(const void* arguments, const TeamMember& member);
void stream_add_kernel(const void* arguments, const TeamMember& member);
void stream_triad_kernel(const void* arguments, const TeamMember& member);
void stream_fill_kernel(const void* arguments, const TeamMember& member);
void stream_check_kernel(const void* arguments, const TeamMember& member);
void ping_pong_kernel(const void* arguments, const TeamMember& member);
void idle_kernel(const void* arguments, const TeamMember& member);
void compute_kernel(const void* arguments, const TeamMember& member);

// compute_mix() of the ends of all chains of an even or odd item of "compute".
unsigned long long compute_ends(float seed, unsigned int steps, unsigned int odd);

// The part of [0, items) that is this member's; all but the last end at a multiple of `grain`.
struct Share {
  unsigned long long begin, end;
};
Share share_of(unsigned long long items, unsigned long long grain, const TeamMember& member);

struct CheckResult;
// Adds what a member found to what the team did; the smallest first_bad stays.
void report(CheckResult& result, const CheckResult& found, const TeamMember& member);

}  // namespace byteways
