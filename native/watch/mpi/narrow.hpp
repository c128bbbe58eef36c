// Calls with large counts (`MPI_Send_c`) on an MPI without them. mpi4py asks whether such a function is
// there; with this layer it is, so that it has to work: by the function with small counts, as mpi4py itself
// does without the layer.
#pragma once
#include <climits>
#include <cstddef>
#include <new>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "watch/mpi/library.hpp"
#include "watch/mpi/members.hpp"

namespace byteways::watch::mpi {

template <class Argument>
inline constexpr bool kIsLarge = std::is_same_v<Argument, Count> || std::is_same_v<Argument, const Count*> ||
                                 std::is_same_v<Argument, const Aint*>;
template <class Argument>
using Narrowed = std::conditional_t<!kIsLarge<Argument>, Argument,
                                    std::conditional_t<std::is_pointer_v<Argument>, const int*, int>>;

// Narrows counts, and lists of one number for each rank. What a nonblocking call reads must outlive it, and
// nothing says here when it ends: its lists stay.
class Narrowing {
 public:
  explicit Narrowing(Handle comm) noexcept : comm_(comm) {}
  bool fits() const noexcept { return fits_; }

  template <class Argument>
  Narrowed<Argument> operator()(Argument argument) noexcept {
    if constexpr (!kIsLarge<Argument>) {
      return argument;
    } else if constexpr (std::is_pointer_v<Argument>) {
      if (argument == nullptr) return nullptr;
      const auto ranks = static_cast<std::size_t>(members_of(comm_).count);
      auto* const list = new (std::nothrow) int[ranks + 1];
      for (std::size_t rank = 0; list != nullptr && rank < ranks; ++rank) list[rank] = number(argument[rank]);
      fits_ = fits_ && list != nullptr;
      return list;
    } else {
      return number(argument);
    }
  }

 private:
  template <class Number>
  int number(Number value) noexcept {
    if (value > INT_MAX || value < INT_MIN) fits_ = false;
    return static_cast<int>(value);
  }
  Handle comm_;
  bool fits_ = true;
};

// The communicator of a call: its last handle.
template <class... Arguments>
Handle last_handle(Arguments... arguments) noexcept {
  Handle last = 0;
  const auto look = [&](auto argument) {
    if constexpr (std::is_same_v<decltype(argument), Handle>) last = argument;
  };
  (look(arguments), ...);
  return last;
}

template <class... Arguments>
int call_narrowed(const char* large_name, const void* caller, Arguments... arguments) noexcept {
  using Pointer = int (*)(Narrowed<Arguments>...);
  std::string_view name(large_name);
  name.remove_suffix(2);  // _c
  char small[64]{};
  name.copy(small, sizeof small - 1);
  const auto pointer = reinterpret_cast<Pointer>(function(small, caller));
  if (pointer == nullptr) return kNoFunction;
  find_library(caller);
  Narrowing narrow(last_handle(arguments...));
  const std::tuple<Narrowed<Arguments>...> narrowed{narrow(arguments)...};
  return narrow.fits() ? std::apply(pointer, narrowed) : kBadCount;
}

}  // namespace byteways::watch::mpi
