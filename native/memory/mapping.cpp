// See mapping.hpp.
#include "memory/mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

#include "core/error.hpp"
#include "core/rounding.hpp"
#include "memory/host_memory.hpp"

namespace byteways {
namespace {

[[noreturn]] void fail(int code, std::uint64_t bytes) {
  const std::string text =
      std::string(std::strerror(code)) + ", " + std::to_string(bytes) + " bytes asked for";
  if (code == ENOMEM) throw OutOfMemory("mmap", errno_name(code), text);
  throw Error("mmap", errno_name(code), text);
}

}  // namespace

std::uint64_t base_page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

const char* errno_name(int code) {
  switch (code) {
    case ENOMEM:
      return "ENOMEM";
    case EINVAL:
      return "EINVAL";
    case EPERM:
      return "EPERM";
    case EACCES:
      return "EACCES";
    case ENOSYS:
      return "ENOSYS";
    case EFAULT:
      return "EFAULT";
    case EAGAIN:
      return "EAGAIN";
    default:
      return "errno";
  }
}

void require_headroom(std::uint64_t bytes, int numa_domain) {
  const std::uint64_t headroom = memory_headroom(numa_domain);
  if (bytes <= headroom) return;
  const std::string where = numa_domain < 0 ? "here" : "on NUMA domain " + std::to_string(numa_domain);
  throw OutOfMemory(
      "mmap", "ENOMEM",
      std::to_string(bytes) + " bytes asked for, " + std::to_string(headroom) + " available " + where);
}

Mapping::Mapping(Memory memory, std::uint64_t bytes, std::uint64_t alignment, int flags,
                 std::uint64_t page_bytes) {
  const std::uint64_t guard = base_page_bytes();
  if (bytes > std::numeric_limits<std::uint64_t>::max() / 2) fail(ENOMEM, bytes);
  mapped_bytes_ = round_up(bytes, alignment);
  reserved_bytes_ = mapped_bytes_ + alignment + 2 * guard;
  reserved_ = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved_ == MAP_FAILED) fail(errno, bytes);
  const std::uint64_t start = round_up(reinterpret_cast<std::uintptr_t>(reserved_) + guard, alignment);
  void* data = mmap(reinterpret_cast<void*>(start), mapped_bytes_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | flags, -1, 0);
  if (data == MAP_FAILED) {
    const int code = errno;
    munmap(reserved_, reserved_bytes_);
    fail(code, bytes);
  }
  data_ = static_cast<std::byte*>(data);
  bytes_ = bytes;
  page_bytes_ = page_bytes;
  memory_ = memory;
}

Mapping::~Mapping() { munmap(reserved_, reserved_bytes_); }

}  // namespace byteways
