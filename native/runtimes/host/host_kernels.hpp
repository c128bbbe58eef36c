// Host implementations of kernels. The code that launches a kernel registers the equivalent host function.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtimes/host/team.hpp"

namespace byteways {

struct HostKernel {
  std::string_view name;
  HostFunction function;
  std::size_t argument_bytes;
  std::string obstacle;  // why this processor cannot execute it; empty where it can
};

// Returns all registered kernels. Registration happens before main().
const std::vector<HostKernel>& host_kernels();
// Returns nullptr if there is no kernel of that name.
const HostKernel* find_host_kernel(std::string_view name);
void register_host_kernel(HostKernel kernel);

// Maximum size of an argument block, which a queued launch copies.
inline constexpr std::size_t kMostArgumentBytes = 128;

// At namespace scope: `function(const Arguments&, const TeamMember&)` is the kernel of that name on the host.
template <auto function>
class RegisterHostKernel {
 public:
  explicit RegisterHostKernel(std::string_view name, std::string obstacle = {}) {
    add(name, function, std::move(obstacle));
  }

 private:
  template <class Arguments>
  static void add(std::string_view name, void (*)(const Arguments&, const TeamMember&),
                  std::string obstacle) {
    static_assert(sizeof(Arguments) <= kMostArgumentBytes);
    register_host_kernel({name,
                          [](const void* block, const TeamMember& member) {
                            function(*static_cast<const Arguments*>(block), member);
                          },
                          sizeof(Arguments), std::move(obstacle)});
  }
};

// The share of [0, items) of this member; all shares but the last end at a multiple of `grain`.
struct Share {
  unsigned long long begin, end;
};
Share share_of(unsigned long long items, unsigned long long grain, const TeamMember& member);

// Returns the next piece of [0, items) that no member has taken, of `piece` items; an empty one if all are
// taken. Where others use some cores, as on a virtual machine, no member waits for the slowest one's share.
Share next_piece(unsigned long long items, unsigned long long piece, const TeamMember& member);

struct CheckResult;
// Merges a member's result into the team's; keeps the smallest first_bad.
void report(CheckResult& result, const CheckResult& found, const TeamMember& member);

}  // namespace byteways
