// A program of C++ that allocates in every way. -DOWN_MALLOC: malloc() and free() are the program's,
// -DOWN_NEW: so are `operator new` and `delete` of one object, which know their memory.
#include "allocators.h"

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace {

struct alignas(128) Line {
  char bytes[128];
};

// Through variables: what nobody looks at is left out by the compiler.
int use_new(std::size_t bytes) {
  char* volatile one = static_cast<char*>(::operator new(bytes));
  ::operator delete(one);
  one = static_cast<char*>(::operator new(bytes));
  ::operator delete(one, bytes);
  one = new char[bytes];
  one[bytes - 1] = 1;
  delete[] one;
  one = new (std::nothrow) char[bytes];
  if (one == nullptr) return 30;
  ::operator delete[](one, std::nothrow);
#ifndef OWN_MALLOC  // which has no alignment
  const auto aligned = std::align_val_t{256};
  void* volatile line = ::operator new(bytes, aligned);
  if (reinterpret_cast<std::uintptr_t>(line) % 256 != 0) return 31;
  ::operator delete(line, bytes, aligned);
  line = ::operator new[](bytes, aligned, std::nothrow);
  ::operator delete[](line, aligned, std::nothrow);
  auto* volatile lines = new Line[bytes / 128 + 1];
  delete[] lines;
#endif
  std::vector<char> grown;
  while (grown.size() < bytes) grown.push_back('x');
  std::string text(bytes, 'y');
  text += text;
#ifdef WHOLE
  volatile std::size_t most = SIZE_MAX / 2;
  try {
    char* volatile none = new char[most];
    delete[] none;
    return 32;
  } catch (const std::bad_alloc&) {
  }
  if (new (std::nothrow) char[most] != nullptr) return 33;
#endif
  return 0;
}

}  // namespace

#ifdef OWN_MALLOC
namespace {
char arena[256 << 20];
std::size_t taken = 0;
}  // namespace
extern "C" {
void* malloc(std::size_t bytes) {
  const std::size_t room = (bytes + 31) / 16 * 16;
  if (room < bytes || room > sizeof arena - taken) return nullptr;
  char* const begin = arena + taken + 16;
  taken += room;
  std::memcpy(begin - 16, "OWNALLOC", 8);
  std::memcpy(begin - 8, &bytes, 8);
  return begin;
}
void free(void* begin) {
  if (begin != nullptr && std::memcmp(static_cast<char*>(begin) - 16, "OWNALLOC", 8) != 0) _exit(99);
}
void* calloc(std::size_t number, std::size_t each) {
  void* const begin = malloc(number * each);
  return begin == nullptr ? begin : std::memset(begin, 0, number * each);
}
void* realloc(void* old, std::size_t bytes) {
  void* const begin = malloc(bytes);
  std::size_t before = 0;
  if (old != nullptr) std::memcpy(&before, static_cast<char*>(old) - 8, 8);
  if (begin != nullptr && old != nullptr) std::memcpy(begin, old, before < bytes ? before : bytes);
  return begin;
}
}
#endif

#ifdef OWN_NEW
namespace {
long living = 0;
}  // namespace
void* operator new(std::size_t bytes) {
  char* const begin = bytes > SIZE_MAX / 4 ? nullptr : static_cast<char*>(std::malloc(bytes + 16));
  if (begin == nullptr) throw std::bad_alloc();
  std::memcpy(begin, "OWN--NEW", 8);
  ++living;
  return begin + 16;
}
void operator delete(void* begin) noexcept {
  if (begin == nullptr) return;
  if (std::memcmp(static_cast<char*>(begin) - 16, "OWN--NEW", 8) != 0) _exit(98);
  --living;
  std::free(static_cast<char*>(begin) - 16);
}
void operator delete(void* begin, std::size_t) noexcept { ::operator delete(begin); }
#endif

int main() {
#ifndef OWN_MALLOC  // which has no function for the usable size of a block
  if (const int error = use_c()) return error;
#endif
  for (const std::size_t bytes : {100, 70'000, 100'000, 300'000, 5'000'000})
    if (const int error = use_new(bytes)) return error;
#ifdef OWN_NEW
  if (living != 0) return 40;
#endif
  std::puts("all good");
  return 7;
}
