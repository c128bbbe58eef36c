// See library.hpp.
#include "watch/mpi/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

#include "watch/mpi/unwinding.hpp"

namespace byteways::watch::mpi {
namespace {

constexpr Abi kMpich{.handle_bytes = 4,
                     .status_bytes = 20,
                     .source_offset = 8,
                     .any_source = -2,
                     .no_process = -1,
                     .undefined = -32766,
                     .cartesian = 2,
                     .graph = 1,
                     .unsupported_operation = 44,
                     .in_place = static_cast<std::uintptr_t>(-1),
                     .ignore_status = 1,
                     .world = 0x44000000,
                     .no_comm = 0x04000000,
                     .no_request = 0x2c000000,
                     .byte = 0x4c00010d};
constexpr Abi kStandard{.handle_bytes = 8,
                        .status_bytes = 32,
                        .source_offset = 0,
                        .any_source = -1,
                        .no_process = -3,
                        .undefined = -32766,
                        .cartesian = 211,
                        .graph = 212,
                        .unsupported_operation = 55,
                        .in_place = 1,
                        .ignore_status = 0,
                        .world = 0x101,
                        .no_comm = 0x100,
                        .no_request = 0x180,
                        .byte = 0x247};
Abi open_mpi{.handle_bytes = 8,
             .status_bytes = 24,
             .source_offset = 0,
             .any_source = -1,
             .no_process = -2,
             .undefined = -32766,
             .cartesian = 1,
             .graph = 2,
             .unsupported_operation = 52,
             .in_place = 1,
             .ignore_status = 0,
             .world = 0,  // its handles are addresses in the library
             .no_comm = 0,
             .no_request = 0,
             .byte = 0};

std::atomic<const Abi*> the_abi{nullptr};
constinit std::atomic<std::uintptr_t> library_begin{0}, library_end{0};

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

// Notes the addresses of the library that begins at `data`.
int note_addresses(dl_phdr_info* library, std::size_t, void* data) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  if (library->dlpi_addr != begin) return 0;
  std::uintptr_t end = begin;
  for (int at = 0; at < library->dlpi_phnum; ++at)
    if (const auto& part = library->dlpi_phdr[at]; part.p_type == PT_LOAD)
      end = std::max<std::uintptr_t>(end, begin + part.p_vaddr + part.p_memsz);
  library_begin.store(begin, std::memory_order_relaxed);
  library_end.store(end, std::memory_order_relaxed);
  return 1;
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

int no_function() noexcept {
  const Abi* const known = abi();
  return (known == nullptr ? kMpich : *known).unsupported_operation;
}

bool is_started_unseen() noexcept {
  const auto initialized = reinterpret_cast<int (*)(int*)>(in_any_mpi("PMPI_Initialized"));
  int flag = 0;
  return initialized != nullptr && initialized(&flag) == 0 && flag != 0;
}

Handle comparable(Handle handle) noexcept {
  const Abi* const known = abi();
  return known != nullptr && known->handle_bytes == 4 ? handle & 0xffffffffu : handle;
}

Handle handle_at(const void* place, std::size_t number) noexcept {
  Handle handle = 0;
  const Abi* const known = abi();
  if (known == nullptr) return handle;
  if (known->handle_bytes == 4)
    std::memcpy(&handle, static_cast<const char*>(place) + 4 * number,
                4);  // little endian: the lower half first
  else
    std::memcpy(&handle, static_cast<const char*>(place) + 8 * number, 8);
  return handle;
}

bool is_of_library(const void* address) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  return place < library_end.load(std::memory_order_relaxed) &&
         place >= library_begin.load(std::memory_order_relaxed);
}

void find_library(const void* caller) noexcept {
  if (abi() != nullptr) return;
  find_unwinding();
  void* const finalize = function("PMPI_Finalize", caller);
  Dl_info library{};
  if (finalize == nullptr || dladdr(finalize, &library) == 0 || library.dli_fname == nullptr) return;
  // An MPI that is linked into the program has no addresses of its own.
  if (last_part(library.dli_fname).starts_with("libmpi")) dl_iterate_phdr(note_addresses, library.dli_fbase);
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
    open_mpi.byte = reinterpret_cast<Handle>(object("ompi_mpi_byte"));
    the_abi.store(&open_mpi, std::memory_order_release);
  } else {
    const bool standard = last_part(library.dli_fname).starts_with("libmpi_abi");
    the_abi.store(standard ? &kStandard : &kMpich, std::memory_order_release);
  }
}

}  // namespace byteways::watch::mpi
