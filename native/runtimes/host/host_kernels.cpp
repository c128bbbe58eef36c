// The table of host kernels, and those that are too small for a file: gate, memcpy, chase.
#include "runtimes/host/host_kernels.hpp"

#include <algorithm>
#include <cstring>

#include "interfaces/arguments.hpp"
#include "runtimes/host/streaming_copy.hpp"

namespace byteways {
namespace {

// Member after member gets whole cache lines, so that no two write one.
constexpr unsigned long long kLineBytes = 64;

const HostKernel kKernels[] = {
    {"gate", gate_kernel, sizeof(GateArguments)},
    {"fill", fill_kernel, sizeof(PatternArguments)},
    {"poison", poison_kernel, sizeof(PatternArguments)},
    {"check", check_kernel, sizeof(PatternArguments)},
    {"memcpy", memcpy_kernel, sizeof(CopyArguments)},
    {"memcpy_stream", can_stream() ? memcpy_stream_kernel : nullptr, sizeof(CopyArguments)},
    {"chase_build", chase_build_kernel, sizeof(ChaseArguments)},
    {"chase", chase_kernel, sizeof(ChaseArguments)},
    {"memcpy_rows", memcpy_rows_kernel, sizeof(RowsArguments)},
    {"check_rows", check_rows_kernel, sizeof(RowsCheckArguments)},
    {"nothing", nothing_kernel, sizeof(NothingArguments)},
    {"stream_copy", stream_copy_kernel, sizeof(StreamArguments)},
    {"stream_scale", stream_scale_kernel, sizeof(StreamArguments)},
    {"stream_add", stream_add_kernel, sizeof(StreamArguments)},
    {"stream_triad", stream_triad_kernel, sizeof(StreamArguments)},
    {"stream_fill", stream_fill_kernel, sizeof(StreamPatternArguments)},
    {"stream_check", stream_check_kernel, sizeof(StreamPatternArguments)},
    {"ping_pong", ping_pong_kernel, sizeof(PingPongArguments)},
    {"idle", idle_kernel, sizeof(IdleArguments)},
    {"compute", compute_kernel, sizeof(ComputeArguments)},
};

template <typename Copy>
void copy_operations(const void* block, const TeamMember& member, Copy copy) {
  const auto& arguments = *static_cast<const CopyArguments*>(block);
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
    member.wait();  // an operation is over when all of its bytes are there
  }
}

}  // namespace

const HostKernel* find_host_kernel(std::string_view name) {
  for (const HostKernel& kernel : kKernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

Share share_of(unsigned long long items, unsigned long long grain, const TeamMember& member) {
  const unsigned long long grains = (items + grain - 1) / grain;
  // Products of grains and ranks stay far below 2^64: a buffer has at most 2^47 bytes, a team at most 4096.
  const unsigned long long begin = grains * member.rank / member.size * grain;
  const unsigned long long end = grains * (member.rank + 1) / member.size * grain;
  return {std::min(begin, items), std::min(end, items)};
}

void report(CheckResult& result, const CheckResult& found, const TeamMember& member) {
  if (found.bad_count == 0) return;
  std::unique_lock<std::mutex> lock;
  if (member.mutex != nullptr) lock = std::unique_lock(*member.mutex);
  const unsigned long long total = result.bad_count + found.bad_count;
  if (found.first_bad < result.first_bad) result = found;
  result.bad_count = total;
}

void gate_kernel(const void* block, const TeamMember& member) {
  const auto& arguments = *static_cast<const GateArguments*>(block);
  if (member.rank != 0) return;
  spin_until([&] { return __atomic_load_n(arguments.word, __ATOMIC_ACQUIRE) >= arguments.target; });
}

void memcpy_kernel(const void* block, const TeamMember& member) {
  copy_operations(block, member, [](void* destination, const void* source, std::size_t bytes) {
    std::memcpy(destination, source, bytes);
  });
}

void memcpy_stream_kernel(const void* block, const TeamMember& member) {
  copy_operations(block, member, [](void* destination, const void* source, std::size_t bytes) {
    stream_copy(destination, source, bytes);
    stream_fence();
  });
}

void chase_build_kernel(const void* block, const TeamMember& member) {
  const auto& arguments = *static_cast<const ChaseArguments*>(block);
  auto* base = static_cast<std::byte*>(arguments.base);
  const auto address = [&](unsigned long long position) {
    return base + chase_line(position, arguments.lines, arguments.key) * arguments.line_bytes;
  };
  const Share share = share_of(arguments.lines, 1, member);
  if (share.begin == share.end) return;
  std::byte* line = address(share.begin);
  for (unsigned long long position = share.begin; position < share.end; ++position) {
    std::byte* next = address(position + 1);
    std::memcpy(line, &next, sizeof next);
    line = next;
  }
}

void chase_kernel(const void* block, const TeamMember& member) {
  const auto& arguments = *static_cast<const ChaseArguments*>(block);
  if (member.rank != 0) return;
  const auto* base = static_cast<const std::byte*>(arguments.base);
  const void* line = base + arguments.start * arguments.line_bytes;
  // Nothing but the dependent load: the counter runs beside it. The result is used, so no step can be left
  // out.
  for (unsigned long long step = 0; step < arguments.steps; ++step)
    line = *static_cast<const void* const*>(line);
  *arguments.end =
      static_cast<unsigned long long>(static_cast<const std::byte*>(line) - base) / arguments.line_bytes;
}

void nothing_kernel(const void* block, const TeamMember& member) {
  const auto& arguments = *static_cast<const NothingArguments*>(block);
  if (member.rank == 0 && arguments.word != nullptr)
    __atomic_store_n(arguments.word, arguments.value, __ATOMIC_RELEASE);
}

}  // namespace byteways
