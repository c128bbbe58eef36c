// See library.hpp.
#include "watch/mpi/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstring>
#include <string_view>

namespace byteways::watch::mpi {
namespace {

constexpr Abi kMpich{4, 20,         8,          -2,        -1, -32766, static_cast<std::uintptr_t>(-1),
                     1, 0x44000000, 0x04000000, 0x2c000000};
constexpr Abi kStandard{8, 32, 0, -1, -3, -32766, 1, 0, 0x101, 0x100, 0x180};
Abi open_mpi{8, 24, 0, -1, -2, -32766, 1, 0, 0, 0, 0};  // its handles are addresses in the library

std::atomic<const Abi*> the_abi{nullptr};

std::string_view last_part(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The handle of a library that is loaded, without loading it.
void* loaded(const char* path) { return path == nullptr ? nullptr : dlopen(path, RTLD_LAZY | RTLD_NOLOAD); }

void* in_callers_libraries(const char* name, const void* caller) {
  Dl_info found{};
  if (dladdr(caller, &found) == 0) return nullptr;
  void* const handle = loaded(found.dli_fname);
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

struct Search {
  const char* name;
  void* found;
};

int look_into(dl_phdr_info* library, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  if (library->dlpi_name == nullptr || !last_part(library->dlpi_name).starts_with("libmpi")) return 0;
  if (void* const handle = loaded(library->dlpi_name)) search.found = dlsym(handle, search.name);
  return search.found != nullptr;
}

void* in_any_mpi(const char* name) {
  Search search{name, nullptr};
  dl_iterate_phdr(look_into, &search);
  return search.found;
}

}  // namespace

const Abi* abi() noexcept { return the_abi.load(std::memory_order_acquire); }

void* function(const char* name, const void* caller) noexcept {
  if (void* const next = dlsym(RTLD_NEXT, name)) return next;
  if (void* const own = in_callers_libraries(name, caller)) return own;
  return in_any_mpi(name);
}

Handle comparable(Handle handle) noexcept {
  const Abi* const known = abi();
  return known != nullptr && known->handle_bytes == 4 ? handle & 0xffffffffu : handle;
}

Handle handle_at(const void* place) noexcept {
  Handle handle = 0;
  if (abi() != nullptr)
    std::memcpy(&handle, place, abi()->handle_bytes);  // little endian: the lower half first
  return handle;
}

void find_library(const void* caller) noexcept {
  if (abi() != nullptr) return;
  void* const finalize = function("PMPI_Finalize", caller);
  Dl_info library{};
  if (finalize == nullptr || dladdr(finalize, &library) == 0 || library.dli_fname == nullptr) return;
  void* const handle = loaded(library.dli_fname);
  // A program that was linked to it may have the object itself (a copy relocation), which then is the one
  // that all use.
  const auto object = [handle](const char* name) {
    void* const shared = dlsym(RTLD_DEFAULT, name);
    return shared != nullptr || handle == nullptr ? shared : dlsym(handle, name);
  };
  void* const world = handle == nullptr || dlsym(handle, "ompi_mpi_comm_world") == nullptr
                          ? nullptr
                          : object("ompi_mpi_comm_world");
  if (world != nullptr) {
    open_mpi.world = reinterpret_cast<Handle>(world);
    open_mpi.no_comm = reinterpret_cast<Handle>(object("ompi_mpi_comm_null"));
    open_mpi.no_request = reinterpret_cast<Handle>(object("ompi_request_null"));
    the_abi.store(&open_mpi, std::memory_order_release);
  } else {
    const bool standard = last_part(library.dli_fname).starts_with("libmpi_abi");
    the_abi.store(standard ? &kStandard : &kMpich, std::memory_order_release);
  }
}

}  // namespace byteways::watch::mpi
