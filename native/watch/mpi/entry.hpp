// What each entry of the layer begins with. An entry has the name, arguments and result of MPI's function;
// the functions with large counts (MPI 4, `MPI_Send_c`) differ from the others by the type of their counts
// alone.
//
// Each function has two entries: MPI_Send and PMPI_Send, its name for profiling. Bindings of Fortran call the
// second (all of Open MPI's; those of MPICH for `mpi_f08`), with handles and arguments of C, so that programs
// in Fortran are seen without a function of their own. So are programs below another tool that was preloaded.
#pragma once
#include "watch/mpi/call.hpp"

// Both entries of MPI_##name. The body has `real`, the library's function, `caller` and `call`.
#define BYTEWAYS_ENTRY(name, declared, ...)             \
  BYTEWAYS_ONE_ENTRY(MPI_##name, declared, __VA_ARGS__) \
  BYTEWAYS_ONE_ENTRY(PMPI_##name, declared, __VA_ARGS__)
#define BYTEWAYS_ONE_ENTRY(name, declared, ...)                 \
  extern "C" [[gnu::visibility("default")]] int name declared { \
    static constinit Remembered<decltype(name)> remembered;     \
    Entry<decltype(name)> real(remembered, #name);              \
    const void* const caller = __builtin_return_address(0);     \
    Call call(real.method(), caller);                           \
    __VA_ARGS__                                                 \
  }
// The usual body: passes the arguments on, and counts what the call did if it went well.
#define BYTEWAYS_DO(passed, ...)                        \
  const int error = real(caller, BYTEWAYS_PASS passed); \
  if (call.ended(error)) {                              \
    __VA_ARGS__;                                        \
  }                                                     \
  return error;
#define BYTEWAYS_PASS(...) __VA_ARGS__

namespace byteways::watch::mpi {

inline bool in_place(const void* buffer) noexcept {
  return abi() != nullptr && reinterpret_cast<std::uintptr_t>(buffer) == abi()->in_place;
}

inline bool is_ignored(const void* statuses) noexcept {
  return reinterpret_cast<std::uintptr_t>(statuses) == abi()->ignore_status;
}

// Where the library writes a status: the program's, or ours where the program takes none.
class Status {
 public:
  explicit Status(void* given) noexcept : given_(given) {}
  void* place() noexcept { return abi() != nullptr && is_ignored(given_) ? own_ : given_; }
  const void* read() const noexcept { return is_ignored(given_) ? own_ : given_; }

 private:
  void* given_;
  alignas(8) char own_[kStatusRoom] = {};
};

}  // namespace byteways::watch::mpi
