// The host's copies: memcpy, and stores that bypass the caches.
#include <cstring>

#include "core/cpus.hpp"
#include "interfaces/kernel_copy/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/streaming_copy.hpp"

namespace byteways {
namespace {

// Each member gets whole cache lines, so that no two write the same one.
constexpr unsigned long long kLineBytes = 64;

template <typename Copy>
void copy_operations(const CopyArguments& arguments, const TeamMember& member, Copy copy) {
  const auto* source = static_cast<const std::byte*>(arguments.source);
  auto* destination = static_cast<std::byte*>(arguments.destination);
  const Share share = share_of(arguments.bytes, kLineBytes, member);
  unsigned long long from = arguments.first_operation % arguments.source_slots;
  unsigned long long to = arguments.first_operation % arguments.destination_slots;
  for (unsigned long long operation = 0; operation < arguments.operations; ++operation) {
    copy(destination + to * arguments.destination_stride + share.begin,
         source + from * arguments.source_stride + share.begin, share.end - share.begin);
    from = from + 1 == arguments.source_slots ? 0 : from + 1;
    to = to + 1 == arguments.destination_slots ? 0 : to + 1;
    member.wait();  // an operation ends when all of its bytes are written
  }
}

void memcpy_kernel(const CopyArguments& arguments, const TeamMember& member) {
  copy_operations(arguments, member, [](void* destination, const void* source, std::size_t bytes) {
    std::memcpy(destination, source, bytes);
  });
}

void memcpy_stream_kernel(const CopyArguments& arguments, const TeamMember& member) {
  copy_operations(arguments, member, [](void* destination, const void* source, std::size_t bytes) {
    stream_copy(destination, source, bytes);
    stream_fence();
  });
}

const RegisterHostKernel<memcpy_kernel> kMemcpy("memcpy");
const RegisterHostKernel<memcpy_stream_kernel> kMemcpyStream(
    "memcpy_stream",
    can_stream() ? std::string()
                 : "no stores that bypass the caches are known for " + cpu_architecture() + " processors");

}  // namespace
}  // namespace byteways
