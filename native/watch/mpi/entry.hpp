// What each entry of the layer begins with. An entry has the name, arguments and result of MPI's function;
// the functions with large counts (MPI 4, `MPI_Send_c`) differ from the others by the type of their counts
// alone.
#pragma once
#include "watch/mpi/call.hpp"

#define BYTEWAYS_ENTRY extern "C" [[gnu::visibility("default")]] int

// Makes `real`, the library's function, `caller` and `call`.
#define BYTEWAYS_CALL(name, ...)                          \
  static constinit Entry<int(__VA_ARGS__)> real(#name);   \
  const void* const caller = __builtin_return_address(0); \
  Call call(real.method(), caller)

namespace byteways::watch::mpi {

inline bool in_place(const void* buffer) noexcept {
  return reinterpret_cast<std::uintptr_t>(buffer) == abi()->in_place;
}

// Where the library writes a status: the program's, or ours where the program takes none.
class Status {
 public:
  explicit Status(void* given) noexcept : given_(given) {}
  void* place() noexcept { return abi() != nullptr && is_ignored() ? own_ : given_; }
  const void* read() const noexcept { return is_ignored() ? own_ : given_; }

 private:
  bool is_ignored() const noexcept {
    return reinterpret_cast<std::uintptr_t>(given_) == abi()->ignore_status;
  }
  void* given_;
  alignas(8) char own_[kStatusRoom] = {};
};

}  // namespace byteways::watch::mpi
