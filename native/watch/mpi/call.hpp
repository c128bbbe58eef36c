// A call of the program to MPI, from its beginning to what is counted of it.
#pragma once
#include "watch/histogram.hpp"
#include "watch/mpi/library.hpp"
#include "watch/mpi/members.hpp"
#include "watch/mpi/narrow.hpp"
#include "watch/names.hpp"
#include "watch/snapshot.hpp"

namespace byteways::watch::mpi {

// An entry of the layer: the function of the library behind it, and the number of its name.
template <class Signature>
class Entry;
template <class... Arguments>
class Entry<int(Arguments...)> : public Function<int(Arguments...)> {
 public:
  explicit constexpr Entry(const char* name) : Function<int(Arguments...)>(name) {}
  std::uint16_t method() noexcept {
    // The function with large counts is the same operation.
    if (method_ == 0) {
      std::string_view name(this->name());
      if (name.ends_with("_c")) name.remove_suffix(2);
      method_ = number_of(name);
    }
    return method_;
  }
  int operator()(const void* caller, Arguments... arguments) noexcept {
    const auto pointer = this->resolved(caller);
    if (pointer != nullptr) return pointer(arguments...);
    if constexpr ((kIsLarge<Arguments> || ...))
      return call_narrowed(this->name(), caller, arguments...);
    else
      return kNoFunction;
  }

 private:
  std::uint16_t method_ = 0;
};

class Call {
 public:
  Call(std::uint16_t method, const void* caller) noexcept;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether the call is one of the program that went well. Takes the time of its end.
  bool ended(int error) noexcept;

  // What the call did, after ended().
  void sent(std::int64_t count, Handle type, int to, Handle comm) noexcept;
  // A receive into this status, of at most so many elements; `from` as the program wrote it.
  void received(std::int64_t count, Handle type, int from, Handle comm, const void* status) noexcept;
  // A receive that has only begun.
  void will_receive(std::int64_t count, Handle type, int from, Handle comm) noexcept;
  void one_sided(What what, std::int64_t count, Handle type, int rank, Handle window) noexcept;
  void collective(std::int64_t bytes, Handle comm, bool in_place = false) noexcept;
  void met(Handle comm) noexcept;  // at a barrier
  void waited() noexcept;

  // Of a rooted collective: whether this process is the root, and whether it takes part at all.
  static bool is_root(int root, Handle comm) noexcept;
  static bool takes_part(int root) noexcept { return abi() != nullptr && root != abi()->no_process; }

 private:
  void add(Key& key, const Times& times) noexcept;
  void add_collective(std::int64_t bytes, Handle comm, bool in_place, const Times& times) noexcept;
  Times times() noexcept;

  const void* const caller_;
  const std::uint16_t method_;
  bool counted_, timed_ = false;
  std::int64_t start_ = 0, end_ = 0;
};

// Bytes of so many elements; none needs no type.
inline std::int64_t bytes_of(std::int64_t count, Handle type) noexcept {
  return count <= 0 ? 0 : count * type_bytes(type);
}

}  // namespace byteways::watch::mpi
