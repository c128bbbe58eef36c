// Count and type of a message over the types of an ABI, which shim.cpp brings before this.
#pragma once
#include <climits>
#include <cstdint>
#include <type_traits>

#include "runtimes/mpi/shims/own_codes.hpp"
#include "runtimes/mpi/table.hpp"

namespace byteways::mpi {

// The library's types, by BytewaysElement.
inline const MPI_Datatype kTypes[] = {abi::kByteType, abi::kFloatType, abi::kUnsigned64Type,
                                      abi::kUnsigned32Type};
constexpr unsigned kKinds = sizeof kTypes / sizeof *kTypes;

inline bool is_known(int element) { return static_cast<unsigned>(element) < kKinds; }
// Whether MPI counts and knows them as they are.
inline bool is_plain(std::int64_t count, int element) {
  return static_cast<std::uint64_t>(count) <= INT_MAX && is_known(element);
}

// Count and type of a message that is not plain. MPI counts with an int: a message of more elements is one
// element of a type made for it, chunks and a rest.
class Elements {
 public:
  Elements(std::int64_t count, int element) {
    if (!is_known(element))
      error_ = kNoSuchElement;
    else if (count < 0 || count / kChunk > INT_MAX)
      error_ = kBadCount;
    else
      make_type(count, element);
  }
  // What is under way keeps the type alive (MPI 3.1, 4.1.9).
  ~Elements() {
    if (made_) MPI_Type_free(&type_);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  int error() const { return error_; }
  MPI_Datatype type() const { return type_; }

 private:
  static constexpr std::int64_t kChunk = 1 << 20;  // elements

  void make_type(std::int64_t count, int element) {
    const MPI_Datatype base = kTypes[element];
    const MPI_Aint chunks_bytes = count / kChunk * kChunk *
                                  (element == kByte         ? 1
                                   : element == kUnsigned64 ? 8
                                                            : 4);
    MPI_Datatype chunk, chunks;
    if ((error_ = MPI_Type_contiguous(static_cast<int>(kChunk), base, &chunk)) != 0) return;
    error_ = MPI_Type_contiguous(static_cast<int>(count / kChunk), chunk, &chunks);
    MPI_Type_free(&chunk);
    if (error_ != 0) return;
    const int lengths[] = {1, static_cast<int>(count % kChunk)};
    const MPI_Aint places[] = {0, chunks_bytes};
    const MPI_Datatype types[] = {chunks, base};
    error_ = MPI_Type_create_struct(2, lengths, places, types, &type_);
    MPI_Type_free(&chunks);
    if (error_ != 0) return;
    made_ = true;
    error_ = MPI_Type_commit(&type_);
  }

  int error_ = 0;
  MPI_Datatype type_{};
  bool made_ = false;
};

// Calls act(count, type, arguments…) as a message wants the two, and returns its error. What a plain message
// takes is timed: `act` captures nothing, so that arguments stay in the registers in which they came.
template <class Act, class... Arguments>
[[gnu::noinline, gnu::cold]] int with_made_type(Act act, std::int64_t count, int element,
                                                Arguments... arguments) {
  const Elements message(count, element);
  return message.error() != 0 ? message.error() : act(1, message.type(), arguments...);
}
template <class Act, class... Arguments>
int with_elements(Act act, std::int64_t count, int element, Arguments... arguments) {
  static_assert(std::is_empty_v<Act>);
  if (!is_plain(count, element)) return with_made_type(act, count, element, arguments...);
  return act(static_cast<int>(count), kTypes[element], arguments...);
}

// The same of a reduction, which takes no types that were made.
template <class Act, class... Arguments>
int with_summands(Act act, std::int64_t count, int element, Arguments... arguments) {
  if (is_plain(count, element)) return act(static_cast<int>(count), kTypes[element], arguments...);
  return !is_known(element) ? kNoSuchElement : count < 0 ? kBadCount : kReductionTooLarge;
}

}  // namespace byteways::mpi
