// The host's empty kernel.
#include "interfaces/api_overhead/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

void empty_kernel(const EmptyArguments& arguments, const TeamMember& member) {
  if (member.rank == 0 && arguments.word != nullptr)
    __atomic_store_n(arguments.word, arguments.value, __ATOMIC_RELEASE);
}

const RegisterHostKernel<empty_kernel> kEmpty("empty");

}  // namespace
}  // namespace byteways
