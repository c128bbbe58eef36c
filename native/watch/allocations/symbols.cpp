// See symbols.hpp. Formats: gABI 4.1, "GNU hash" of binutils, and the versions of the Linux Standard Base.
#include "watch/allocations/symbols.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace byteways::watch::allocations {
namespace {

constexpr ElfW(Half) kHidden = 0x8000;  // a version that is not the default one

struct Relocations {
  const ElfW(Rela) * first = nullptr;
  std::size_t bytes = 0;
};

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t *gnu_hash = nullptr, *hash = nullptr;
  const ElfW(Half) * versions = nullptr;
  Relocations calls, others;
};

// The dynamic linker has relocated the addresses in place, other than those of the kernel's module.
Tables tables_of(const link_map* module) {
  Tables found;
  if (module->l_ld == nullptr) return found;
  for (const ElfW(Dyn)* entry = module->l_ld; entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = entry->d_un.d_ptr;
    const auto* const place =
        reinterpret_cast<const char*>(value < module->l_addr ? value + module->l_addr : value);
    switch (entry->d_tag) {
      case DT_SYMTAB:
        found.symbols = reinterpret_cast<const ElfW(Sym)*>(place);
        break;
      case DT_STRTAB:
        found.names = place;
        break;
      case DT_GNU_HASH:
        found.gnu_hash = reinterpret_cast<const std::uint32_t*>(place);
        break;
      case DT_HASH:
        found.hash = reinterpret_cast<const std::uint32_t*>(place);
        break;
      case DT_VERSYM:
        found.versions = reinterpret_cast<const ElfW(Half)*>(place);
        break;
      case DT_JMPREL:
        found.calls.first = reinterpret_cast<const ElfW(Rela)*>(place);
        break;
      case DT_PLTRELSZ:
        found.calls.bytes = entry->d_un.d_val;
        break;
      case DT_RELA:
        found.others.first = reinterpret_cast<const ElfW(Rela)*>(place);
        break;
      case DT_RELASZ:
        found.others.bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  return found;
}

std::uint32_t gnu_hash_of(const char* name) {
  std::uint32_t hash = 5381;
  for (; *name != '\0'; ++name) hash = hash * 33 + static_cast<unsigned char>(*name);
  return hash;
}

bool is_it(const Tables& tables, std::uint32_t at, const char* name) {
  const ElfW(Sym) & symbol = tables.symbols[at];
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return false;
  if (tables.versions != nullptr && (tables.versions[at] & kHidden) != 0) return false;
  return std::strcmp(tables.names + symbol.st_name, name) == 0;
}

// The number of a symbol; 0: there is none.
std::uint32_t number_in(const Tables& tables, const char* name) {
  if (tables.symbols == nullptr || tables.names == nullptr) return 0;
  if (tables.gnu_hash != nullptr) {
    const std::uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1], words = tables.gnu_hash[2];
    const std::uint32_t* const heads = tables.gnu_hash + 4 + words * (sizeof(ElfW(Addr)) / 4);
    const std::uint32_t hash = gnu_hash_of(name);
    std::uint32_t at = buckets == 0 ? 0 : heads[hash % buckets];
    if (at < first) return 0;
    for (;; ++at) {
      const std::uint32_t chained = heads[buckets + at - first];
      if ((chained | 1) == (hash | 1) && is_it(tables, at, name)) return at;
      if ((chained & 1) != 0) return 0;
    }
  }
  for (std::uint32_t at = 1; tables.hash != nullptr && at < tables.hash[1]; ++at)
    if (is_it(tables, at, name)) return at;
  return 0;
}

}  // namespace

const link_map* first_module() noexcept { return _r_debug.r_map; }

const link_map* own_module() noexcept {
  const link_map* module = first_module();
  while (module != nullptr && module->l_ld != _DYNAMIC) module = module->l_next;
  return module;
}

void* defined(const link_map* module, const char* name) noexcept {
  const Tables tables = tables_of(module);
  const std::uint32_t at = number_in(tables, name);
  return at == 0 ? nullptr : reinterpret_cast<void*>(module->l_addr + tables.symbols[at].st_value);
}

// By relocations, which name every symbol that a module takes; a hash table lacks those.
bool imports_of(const link_map* user, const link_map* here, const link_map* elsewhere,
                bool (*is_meant)(const char*)) noexcept {
  const Tables tables = tables_of(user), wanted = tables_of(here), others = tables_of(elsewhere);
  if (tables.symbols == nullptr || tables.names == nullptr) return false;
  for (const Relocations& relocations : {tables.calls, tables.others}) {
    const std::size_t count = relocations.first == nullptr ? 0 : relocations.bytes / sizeof(ElfW(Rela));
    for (std::size_t at = 0; at < count; ++at) {
      const auto number = ELF64_R_SYM(relocations.first[at].r_info);
      if (number == 0 || tables.symbols[number].st_shndx != SHN_UNDEF) continue;
      const char* const name = tables.names + tables.symbols[number].st_name;
      if (number_in(wanted, name) != 0 && number_in(others, name) == 0 && is_meant(name)) return true;
    }
  }
  return false;
}

}  // namespace byteways::watch::allocations
