// See next.hpp.
#include "watch/allocations/next.hpp"

#include <dlfcn.h>

#include <cstring>
#include <initializer_list>

#include "watch/allocations/symbols.hpp"

namespace byteways::watch::allocations {
namespace {

constexpr const char* kOfC[] = {
#define BYTEWAYS_NAME(name, result, parameters) #name,
    BYTEWAYS_ALLOCATOR_OF_C(BYTEWAYS_NAME)};
constexpr const char* kOfCpp[] = {BYTEWAYS_ALLOCATOR_OF_CPP(BYTEWAYS_NAME)};
#undef BYTEWAYS_NAME

constinit bool is_finding = false;
alignas(16) constinit char early_memory[4096]{};
constinit std::size_t early_bytes = 0;

// The program's own function stands before this library's, which nobody calls then but this library itself.
template <class Function>
void find_one(const char* name, Function& function) {
  const link_map* const own = own_module();
  for (const link_map* module = first_module(); own != nullptr && module != own; module = module->l_next)
    if (void* const before = defined(module, name)) {
      function = reinterpret_cast<Function>(before);
      return;
    }
  function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

template <std::size_t count>
bool any_defined(const link_map* module, const char* const (&names)[count]) {
  for (const char* name : names)
    if (defined(module, name) != nullptr) return true;
  return false;
}

bool is_replaced(const char* name) {
  for (const char* replaced : kOfC)
    if (std::strcmp(name, replaced) == 0) return true;
  for (const char* replaced : kOfCpp)
    if (std::strcmp(name, replaced) == 0) return true;
  return false;
}

// The first module from this one on that defines a function; null: none does.
const link_map* first_with(const char* name, const link_map* module) {
  while (module != nullptr && defined(module, name) == nullptr) module = module->l_next;
  return module;
}

// Whether a module calls functions of its allocator that the C library does not have.
bool knows_its_allocator(const link_map* own) {
  const link_map* const allocator = first_with("malloc", own->l_next);
  const link_map* const c_library = first_with("gnu_get_libc_version", own->l_next);
  if (allocator == nullptr || c_library == nullptr || allocator == c_library) return false;
  for (const link_map* module = first_module(); module != nullptr; module = module->l_next)
    if (module != allocator &&
        imports_of(module, allocator, c_library, [](const char* name) { return !is_replaced(name); }))
      return true;
  return false;
}

}  // namespace

namespace inner {

constinit Next next{};
constinit bool is_found = false;

// The first call comes before the first thread, because making one allocates: nobody else holds a lock of the
// dynamic linker, nor changes the table.
void find() noexcept {
  if (is_finding) return;
  is_finding = true;
#define BYTEWAYS_FIND(name, result, parameters) find_one(#name, next.name);
  BYTEWAYS_ALLOCATOR_OF_C(BYTEWAYS_FIND)
  BYTEWAYS_ALLOCATOR_OF_CPP(BYTEWAYS_FIND)
#undef BYTEWAYS_FIND
  dlerror();  // what was not found is no error of the program
  is_found = true;
}

}  // namespace inner

void* early(std::size_t bytes) noexcept {
  const std::size_t taken = (bytes + 15) / 16 * 16;
  if (taken > sizeof early_memory - early_bytes) return nullptr;
  void* const begin = early_memory + early_bytes;
  early_bytes += taken;
  return begin;
}

bool is_early(const void* begin) noexcept {
  return begin >= early_memory && begin < early_memory + sizeof early_memory;
}

Changeable changeable() noexcept {
  const link_map* const own = own_module();
  if (own == nullptr) return {false, false};
  Changeable found;
  for (const link_map* module = first_module(); module != own; module = module->l_next) {
    found.c = found.c && !any_defined(module, kOfC);
    found.cpp = found.cpp && !any_defined(module, kOfCpp);
  }
  found.c = found.c && !knows_its_allocator(own);
  found.cpp = found.cpp && found.c;
  return found;
}

void* of_loaded_cpp(const char* symbol) noexcept {
  for (const char* name : {"libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"})
    if (void* const library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD))
      if (void* const function = dlsym(library, symbol)) return function;
  return nullptr;
}

}  // namespace byteways::watch::allocations
