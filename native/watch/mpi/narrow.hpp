// Calls with large counts (`MPI_Send_c`) on an MPI without them. mpi4py asks whether such a function is
// there; with this layer it is, so that it has to work: by the function with small counts, as mpi4py itself
// does without the layer.
#pragma once
#include <climits>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "watch/mpi/library.hpp"
#include "watch/mpi/list.hpp"

namespace byteways::watch::mpi {

template <class Argument>
inline constexpr bool kIsLarge = std::is_same_v<Argument, Count> || std::is_same_v<Argument, const Count*> ||
                                 std::is_same_v<Argument, const Aint*>;
template <class Argument>
using Narrowed = std::conditional_t<!kIsLarge<Argument>, Argument,
                                    std::conditional_t<std::is_pointer_v<Argument>, const int*, int>>;

// How many numbers the lists of a call have: those of what a rank gives, and those behind the buffer for what
// it gets. 0: MPI reads no such list on this rank, and its argument may be anything.
struct Lists {
  std::size_t given = 0, got = 0;
};

// Narrows counts and lists. What a nonblocking call reads must outlive it, and nothing says here when it
// ends: its lists stay.
class Narrowing {
 public:
  Narrowing(const Lists& lists, bool stays) noexcept : lists_(lists), stays_(stays) {}
  bool fits() const noexcept { return fits_; }
  void keep() noexcept {
    for (auto& list : made_)
      if (stays_) static_cast<void>(list.release());
  }

  template <class Argument>
  Narrowed<Argument> operator()(Argument argument) noexcept {
    if constexpr (!kIsLarge<Argument>) {
      if constexpr (std::is_same_v<Argument, void*>) behind_buffer_ = true;
      return argument;
    } else if constexpr (std::is_pointer_v<Argument>) {
      const std::size_t numbers = behind_buffer_ ? lists_.got : lists_.given;
      auto& list = made_[used_++];
      list = list_of<int>(numbers);
      fits_ = fits_ && list != nullptr;
      for (std::size_t at = 0; fits_ && at < numbers; ++at) list[at] = number(argument[at]);
      return list.get();
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
  static constexpr std::size_t kMostLists = 4;  // of MPI_Alltoallv: counts and places on both sides

  const Lists lists_;
  const bool stays_;
  bool fits_ = true, behind_buffer_ = false;
  List<int> made_[kMostLists];
  std::size_t used_ = 0;
};

template <class MakeLists, class... Arguments>
int call_narrowed(const char* large_name, MakeLists lists, const void* caller, Arguments... arguments) {
  using Pointer = int (*)(Narrowed<Arguments>...);
  std::string_view name(large_name);
  name.remove_suffix(2);  // _c
  char small[64]{};
  name.copy(small, sizeof small - 1);
  const auto pointer = reinterpret_cast<Pointer>(function(small, caller));
  find_library(caller);
  if (pointer == nullptr) return no_function();
  const bool stays = name.find("MPI_I") != name.npos || name.ends_with("_init");
  Narrowing narrow(lists(), stays);
  const std::tuple<Narrowed<Arguments>...> narrowed{narrow(arguments)...};  // braces: from left to right
  if (!narrow.fits()) return kBadCount;
  narrow.keep();
  return std::apply(pointer, narrowed);
}

}  // namespace byteways::watch::mpi
