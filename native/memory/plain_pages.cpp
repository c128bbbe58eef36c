// Plain pages without overhead: one mapping and the advice on its page size. Measurements of allocation cost
// use these; guard pages and queries of free memory would add to the result.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "core/error.hpp"
#include "memory/host_memory.hpp"
#include "memory/mapping.hpp"

namespace byteways {
namespace {

class PlainPages final : public Allocation {
 public:
  PlainPages(Memory memory, std::uint64_t bytes, std::uint64_t alignment, int advice)
      : mapped_bytes_(bytes + (alignment > base_page_bytes() ? alignment : 0)) {
    mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped_ == MAP_FAILED) {
      const int code = errno;
      const std::string text = std::string(std::strerror(code)) + ", " + std::to_string(bytes) + " bytes";
      throw OutOfMemory("mmap", errno_name(code), text);
    }
    const auto start = reinterpret_cast<std::uintptr_t>(mapped_);
    data_ = reinterpret_cast<std::byte*>((start + alignment - 1) / alignment * alignment);
    bytes_ = bytes;
    memory_ = memory;
    page_bytes_ = memory == Memory::pageable ? base_page_bytes() : 0;
    madvise(data_, bytes, advice);  // refused on systems without huge pages, where it is not needed
  }
  ~PlainPages() override { munmap(mapped_, mapped_bytes_); }

 private:
  void* mapped_ = nullptr;
  std::uint64_t mapped_bytes_;
};

constexpr std::uint64_t kHugePageBytes = 2 << 20;

}  // namespace

std::unique_ptr<Allocation> map_plain_pages(Memory memory, std::uint64_t bytes) {
  if (memory == Memory::hugepage)
    return std::make_unique<PlainPages>(memory, bytes, kHugePageBytes, MADV_HUGEPAGE);
  return std::make_unique<PlainPages>(memory, bytes, base_page_bytes(), MADV_NOHUGEPAGE);
}

void touch_pages(void* data, std::uint64_t bytes) {
  auto* words = static_cast<volatile std::byte*>(data);
  for (std::uint64_t offset = 0; offset < bytes; offset += base_page_bytes()) words[offset] = std::byte{0};
}

}  // namespace byteways
