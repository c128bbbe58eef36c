// The host's random accesses: regular loads and stores, which the processor overlaps as far as its buffers
// for misses go.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "interfaces/random_access/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"
#include "runtimes/host/isa.hpp"

namespace byteways {
namespace {

using u64 = unsigned long long;

// The slot of one operation.
struct RandomSlot {
  std::byte* data;
  u64 first_word;
};

// Each returns how many words of the element were right; a half word counts as one.
template <unsigned bytes>
BYTEWAYS_INLINE u64 load_element(const RandomSlot& slot, u64 element, u64 key) {
  const std::byte* from = slot.data + element * bytes;
  if constexpr (bytes < sizeof(u64)) {
    std::uint32_t got;
    std::memcpy(&got, from, sizeof got);
    return got == half_word(pattern_word(key, slot.first_word + element / 2), element & 1);
  } else {
    u64 right = 0;
    for (u64 word = 0; word < bytes / sizeof(u64); ++word) {
      u64 got;
      std::memcpy(&got, from + word * sizeof got, sizeof got);
      right += got == pattern_word(key, slot.first_word + element * (bytes / sizeof(u64)) + word);
    }
    return right;
  }
}

template <unsigned bytes>
BYTEWAYS_INLINE u64 store_element(const RandomSlot& slot, u64 element, u64 key) {
  std::byte* to = slot.data + element * bytes;
  if constexpr (bytes < sizeof(u64)) {
    const std::uint32_t value = half_word(pattern_word(key, slot.first_word + element / 2), element & 1);
    std::memcpy(to, &value, sizeof value);
  } else {
    for (u64 word = 0; word < bytes / sizeof(u64); ++word) {
      const u64 value = pattern_word(key, slot.first_word + element * (bytes / sizeof(u64)) + word);
      std::memcpy(to + word * sizeof value, &value, sizeof value);
    }
  }
  return 0;
}

template <unsigned bytes>
BYTEWAYS_INLINE u64 update_element(const RandomSlot& slot, u64 element, u64) {
  std::byte* at = slot.data + element * bytes;
  for (u64 word = 0; word < bytes / sizeof(u64); ++word) {
    u64 value;
    std::memcpy(&value, at + word * sizeof value, sizeof value);
    value = updated_word(value);
    std::memcpy(at + word * sizeof value, &value, sizeof value);
  }
  return 0;
}

// Runs this member's share of each operation.
template <auto access>
void run_operations(const RandomArguments& arguments, const TeamMember& member) {
  const Share share = share_of(u64{1} << arguments.access_bits, 1, member);
  for (u64 operation = arguments.first_operation;
       operation < arguments.first_operation + arguments.operations; ++operation) {
    const u64 offset = operation % arguments.slots * arguments.stride;
    const RandomSlot slot{static_cast<std::byte*>(arguments.data) + offset, offset / sizeof(u64)};
    const RandomOrder order(operation, arguments.access_bits);
    u64 right = 0;
    for (u64 k = share.begin; k < share.end; ++k)
      right += access(slot, order.element(static_cast<unsigned>(k)), arguments.key);
    if (right != 0) std::atomic_ref(*arguments.right).fetch_add(right, std::memory_order_relaxed);
    member.wait();  // an operation ends when all of its elements have been accessed
  }
}

void random_load_kernel(const RandomArguments& arguments, const TeamMember& member) {
  switch (arguments.access_bytes) {
    case 4:
      return run_operations<load_element<4>>(arguments, member);
    case 8:
      return run_operations<load_element<8>>(arguments, member);
    case 16:
      return run_operations<load_element<16>>(arguments, member);
    case 32:
      return run_operations<load_element<32>>(arguments, member);
    case 64:
      return run_operations<load_element<64>>(arguments, member);
    default:
      return run_operations<load_element<128>>(arguments, member);
  }
}

void random_store_kernel(const RandomArguments& arguments, const TeamMember& member) {
  switch (arguments.access_bytes) {
    case 4:
      return run_operations<store_element<4>>(arguments, member);
    case 8:
      return run_operations<store_element<8>>(arguments, member);
    case 16:
      return run_operations<store_element<16>>(arguments, member);
    case 32:
      return run_operations<store_element<32>>(arguments, member);
    case 64:
      return run_operations<store_element<64>>(arguments, member);
    default:
      return run_operations<store_element<128>>(arguments, member);
  }
}

void random_update_kernel(const RandomArguments& arguments, const TeamMember& member) {
  switch (arguments.access_bytes) {
    case 8:
      return run_operations<update_element<8>>(arguments, member);
    case 16:
      return run_operations<update_element<16>>(arguments, member);
    case 32:
      return run_operations<update_element<32>>(arguments, member);
    case 64:
      return run_operations<update_element<64>>(arguments, member);
    default:
      return run_operations<update_element<128>>(arguments, member);
  }
}

const RegisterHostKernel<random_load_kernel> kRandomLoad("random_load");
const RegisterHostKernel<random_store_kernel> kRandomStore("random_store");
const RegisterHostKernel<random_update_kernel> kRandomUpdate("random_update");

}  // namespace
}  // namespace byteways
