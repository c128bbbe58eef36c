// A call of the program to MPI, from its beginning to what is counted of it. Nothing here is `noexcept`
// between the program and MPI: exceptions of its error handlers and cancellation pass through.
#pragma once
#include <string_view>

#include "watch/histogram.hpp"
#include "watch/mpi/library.hpp"
#include "watch/mpi/members.hpp"
#include "watch/mpi/narrow.hpp"
#include "watch/mpi/requests.hpp"
#include "watch/names.hpp"
#include "watch/snapshot.hpp"

namespace byteways::watch::mpi {

// The number of a function's name. The profiling name, and the function with large counts, are the same
// operation.
std::uint16_t method_of(const char* name) noexcept;

// What an entry of the layer remembers: the function of the library behind it, and the number of its name.
// All zero before its first call: a process that calls no MPI pays nothing for it.
template <class Signature>
struct Remembered {
  Signature* pointer = nullptr;  // both written with one value only, whoever writes
  std::uint16_t method = 0;
};

// An entry of the layer, during a call.
template <class Signature>
class Entry;
template <class... Arguments>
class Entry<int(Arguments...)> {
 public:
  Entry(Remembered<int(Arguments...)>& remembered, const char* name) noexcept
      : remembered_(remembered), name_(name) {}
  std::uint16_t method() noexcept {
    if (remembered_.method == 0) remembered_.method = method_of(name_);
    return remembered_.method;
  }
  int operator()(const void* caller, Arguments... arguments) {
    return with_lists([] { return Lists{}; }, caller, arguments...);
  }
  // Of a function with lists of numbers; `lists` says how many each has, should they have to be narrowed.
  template <class MakeLists>
  int with_lists(MakeLists lists, const void* caller, Arguments... arguments) {
    if (remembered_.pointer == nullptr)
      remembered_.pointer = reinterpret_cast<int (*)(Arguments...)>(function(name_, caller));
    if (remembered_.pointer != nullptr) return remembered_.pointer(arguments...);
    if constexpr ((kIsLarge<Arguments> || ...)) {
      return call_narrowed(name_, lists, caller, arguments...);
    } else {
      find_library(caller);
      return no_function();
    }
  }

 private:
  Remembered<int(Arguments...)>& remembered_;
  const char* const name_;
};

// What a row says beside its method.
enum class Detail : std::uint8_t {
  kNone,
  kSent,      // the half of a call that does both
  kReceived,  // the other half
  kPosted,    // a receive of which only the room is known
  kReceivedPosted,
  kInPlace,
  kMessages,  // what a wait is for
  kCollectives,
  kOneSided,
  kUnknown,
  kSeveral
};

class Call {
 public:
  Call(std::uint16_t method, const void* caller) noexcept;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether the call is one of the program, of a known MPI.
  bool is_counted() const noexcept { return counted_ && abi() != nullptr; }
  // Whether it is one that went well. Takes the time of its end.
  bool ended(int error) noexcept;

  // What the call did, after ended().
  void sent(std::int64_t count, Handle type, int to, Handle comm, Detail detail = Detail::kNone) noexcept;
  // A receive into this status, of at most so many elements; `from` as the program wrote it.
  void received(std::int64_t count, Handle type, int from, Handle comm, const void* status,
                Detail detail = Detail::kNone) noexcept;
  // A receive that has only begun; it counts when it has ended.
  void will_receive(std::int64_t count, Handle type, int from, Handle comm, const void* request) noexcept;
  // The receiving half of a call that only begins both: MPICH says nothing of what arrives.
  void received_unseen(std::int64_t count, Handle type, int from, Handle comm) noexcept;
  void one_sided(What what, std::int64_t count, Handle type, int rank, Handle window,
                 const void* request = nullptr) noexcept;
  void collective(std::int64_t bytes, Handle comm, bool in_place = false,
                  const void* request = nullptr) noexcept;
  void met(Handle comm) noexcept;  // at a barrier
  void waited(Detail detail = Detail::kNone) noexcept;
  // A call that moves no bytes that are known: MPI's start and end, and what is not interpreted.
  void made(What what, const void* request = nullptr) noexcept;

  // A persistent request was made, which counts at each start.
  void will_send(std::int64_t count, Handle type, int to, Handle comm, const void* request) noexcept;
  void will_receive_often(std::int64_t count, Handle type, int from, Handle comm,
                          const void* request) noexcept;
  void will_receive_parts(std::int64_t count, Handle type, int from, Handle comm,
                          const void* request) noexcept;
  void will_meet(std::int64_t bytes, Handle comm, bool in_place, const void* request) noexcept;
  void started(Handle request) noexcept;
  // A request of this handle has ended with this status; null: nothing is known of its end.
  void completed(Handle request, const void* status) noexcept;
  // What this request stood for has been freed.
  void freed(const Request& request) noexcept;

  // Of a rooted collective: whether this process is the root, and whether it takes part at all.
  static bool is_root(int root, Handle comm) noexcept;
  static bool takes_part(int root) noexcept { return abi() != nullptr && root != abi()->no_process; }

 private:
  Key key(What what, std::uint64_t size) const noexcept;
  Key to_rank(std::int64_t count, Handle type, int to, Handle comm) const noexcept;
  Key from_rank(int from, Handle comm) const noexcept;
  Key of_collective(std::int64_t bytes, Handle comm, bool in_place) const noexcept;
  void add(const Key& key, const Times& times) noexcept;
  void arrived(const Request& request, const void* status) noexcept;
  void keep(const Key& key, Request::Counts counts, Waited waited, const void* request,
            bool persistent = true) noexcept;
  Times times() noexcept;

  const void* const caller_;
  const std::uint16_t method_;
  bool outermost_, counted_, timed_ = false;
  std::int64_t start_ = 0, end_ = 0;
};

// Bytes of so many elements; none needs no type.
inline std::int64_t bytes_of(std::int64_t count, Handle type) noexcept {
  return count <= 0 ? 0 : count * type_bytes(type);
}

}  // namespace byteways::watch::mpi
