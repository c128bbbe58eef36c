// The MPI that a watched program uses, found when it makes its first call: handles and constants of its ABI
// at run time. One library serves every ABI: calls pass handles on as the words that they are. An integer
// handle (MPICH) fills the lower half of a register or of a place on the stack, whose upper half nobody reads
// (System V ABI of x86-64, AAPCS64).
#pragma once
#include <cstddef>
#include <cstdint>

namespace byteways::watch::mpi {

using Handle = std::uintptr_t;
using Aint = std::intptr_t;
using Count = long long;  // MPI_Count; another type than Aint, of the same size

// The values of an ABI that counting needs; native/runtimes/mpi/shims has their sources.
struct Abi {
  std::size_t handle_bytes;  // of one in an array
  std::size_t status_bytes, source_offset;
  int any_source, no_process, undefined;
  int cartesian, graph;       // what MPI_Topo_test says
  int unsupported_operation;  // an error
  std::uintptr_t in_place, ignore_status;
  Handle world, no_comm, no_request, byte;
};
inline constexpr std::size_t kStatusRoom = 64;  // no ABI's status is larger

// The ABI; null before the first call, or where it is not known.
const Abi* abi() noexcept;

// Finds the MPI behind a caller, once.
void find_library(const void* caller) noexcept;

// Whether an address lies in the MPI library itself, whose calls of its own functions are not the program's.
// Its bindings of Fortran are other libraries: what they call is.
bool is_of_library(const void* address) noexcept;

// A function by its name: of the next library that has it, so that other tools which were preloaded stay in
// the chain; else of the caller's own libraries, which dlopen() may have loaded for it alone (modules of
// Python).
void* function(const char* name, const void* caller) noexcept;

// Whether an MPI that was loaded has started. Asked at the end of a process of which no call was seen.
bool is_started_unseen() noexcept;

// Handles as they are compared: the upper half of an integer handle is not part of it.
Handle comparable(Handle handle) noexcept;

// The handle in a program's variable, or one of its list, which may be smaller than ours.
Handle handle_at(const void* place, std::size_t number = 0) noexcept;

// MPI_ERR_COUNT.
inline constexpr int kBadCount = 2;
// What a program gets of a function that its MPI does not have.
int no_function() noexcept;

// A function of MPI, resolved at its first use. What it calls may throw: an error handler of the program.
template <class Signature>
class Function;
template <class... Arguments>
class Function<int(Arguments...)> {
 public:
  explicit constexpr Function(const char* name) : name_(name) {}
  using Pointer = int (*)(Arguments...);

  Pointer resolved(const void* caller) noexcept {
    if (pointer_ == nullptr) pointer_ = reinterpret_cast<Pointer>(function(name_, caller));
    return pointer_;
  }
  int operator()(const void* caller, Arguments... arguments) {
    const Pointer pointer = resolved(caller);
    return pointer == nullptr ? no_function() : pointer(arguments...);
  }
  const char* name() const noexcept { return name_; }

 private:
  const char* name_;
  Pointer pointer_ = nullptr;  // written with one value only, whoever writes
};

}  // namespace byteways::watch::mpi
