// Entries that wait for requests and messages, or ask for them. Of a receive that has ended the status says
// what arrived; where the program takes no statuses, the library writes them into ours.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace

namespace {

// A list in its place, of any length; null where memory lacks.
template <class Element, std::size_t kUsual>
class Room {
 public:
  Element* of(std::size_t length) noexcept {
    if (length <= kUsual) return usual_;
    many_ = list_of<Element>(length);
    return many_.get();
  }

 private:
  Element usual_[kUsual];
  List<Element> many_;
};

constexpr Detail kDetails[] = {Detail::kMessages, Detail::kCollectives, Detail::kOneSided, Detail::kUnknown};
// Of more requests the first ones say what is waited for.
constexpr std::size_t kMostLookedAt = 64;

// The requests that a call waits for, as they were before: the library overwrites those that end. Does
// nothing for calls that do not count.
class Requests {
 public:
  // At most `most` of them write a status.
  Requests(const Call& call, int count, const void* requests, void* statuses, int most) noexcept
      : statuses_(statuses) {
    if (!call.is_counted() || count <= 0) return;
    const auto length = static_cast<std::size_t>(count);
    before_ = handles_.of(length);
    if (before_ == nullptr) {
      note_missing();
      return;
    }
    count_ = length;
    for (std::size_t at = 0; at < length; ++at) before_[at] = handle_at(requests, at);
    if (!is_ignored(statuses)) return;
    char* const own = own_.of(static_cast<std::size_t>(most) * abi()->status_bytes);
    own != nullptr ? static_cast<void>(statuses_ = own) : note_missing();
  }

  void* statuses() const noexcept { return statuses_; }

  // What is waited for. A request that nothing is known of is that of a send, which ends with its call for
  // us.
  Detail look() noexcept {
    Detail found = Detail::kNone;
    for (std::size_t at = 0; at < count_ && at < kMostLookedAt; ++at) {
      if (before_[at] == abi()->no_request) continue;
      const auto* const known = known_request(before_[at]);
      const Detail one =
          known == nullptr ? Detail::kMessages : kDetails[static_cast<std::size_t>(known->waited)];
      if (known != nullptr) known_ |= std::uint64_t{1} << at;
      found = found == Detail::kNone || found == one ? one : any(found, one);
    }
    return found;
  }

  void completed(Call& call, int request, int status = 0) const noexcept {
    const auto at = static_cast<std::size_t>(request);
    if (request < 0 || at >= count_ || (at < kMostLookedAt && (known_ >> at & 1) == 0)) return;
    const bool none = is_ignored(statuses_);
    call.completed(before_[at], none ? nullptr
                                     : static_cast<const char*>(statuses_) +
                                           static_cast<std::size_t>(status) * abi()->status_bytes);
  }

 private:
  static constexpr std::size_t kUsual = 16;
  static Detail any(Detail one, Detail other) noexcept {
    return one == Detail::kUnknown || other == Detail::kUnknown ? Detail::kUnknown : Detail::kSeveral;
  }

  void* statuses_;
  std::uint64_t known_ = 0;  // of the requests that were looked at
  std::size_t count_ = 0;
  Handle* before_ = nullptr;
  Room<Handle, kUsual> handles_;
  alignas(8) Room<char, kUsual * 32> own_;
};

}  // namespace

// Waits for several of `count` requests at `requests`; at most `most` statuses are written.
#define WAIT(name, declared, passed, count, requests, statuses, most, ...)                \
  BYTEWAYS_ENTRY(name, declared, Requests waiting(call, count, requests, statuses, most); \
                 const Detail detail = waiting.look();                                    \
                 BYTEWAYS_DO(passed, call.waited(detail); __VA_ARGS__))

WAIT(Wait, (void* request, void* status), (request, waiting.statuses()), 1, request, status, 1,
     waiting.completed(call, 0))
WAIT(Waitall, (int count, void* requests, void* statuses), (count, requests, waiting.statuses()), count,
     requests, statuses, count, for (int at = 0; at < count; ++at) waiting.completed(call, at, at))
WAIT(Waitany, (int count, void* requests, int* which, void* status),
     (count, requests, which, waiting.statuses()), count, requests, status, 1,
     waiting.completed(call, *which))
WAIT(Waitsome, (int count, void* requests, int* number, int* which, void* statuses),
     (count, requests, number, which, waiting.statuses()), count, requests, statuses, count,
     for (int at = 0; at < *number; ++at) waiting.completed(call, which[at], at))
WAIT(Test, (void* request, int* flag, void* status), (request, flag, waiting.statuses()), 1, request, status,
     1, if (*flag != 0) waiting.completed(call, 0))
WAIT(Testall, (int count, void* requests, int* flag, void* statuses),
     (count, requests, flag, waiting.statuses()), count, requests, statuses, count,
     for (int at = 0; *flag != 0 && at < count; ++at) waiting.completed(call, at, at))
WAIT(Testany, (int count, void* requests, int* which, int* flag, void* status),
     (count, requests, which, flag, waiting.statuses()), count, requests, status, 1,
     if (*flag != 0) waiting.completed(call, *which))
WAIT(Testsome, (int count, void* requests, int* number, int* which, void* statuses),
     (count, requests, number, which, waiting.statuses()), count, requests, statuses, count,
     for (int at = 0; at < *number; ++at) waiting.completed(call, which[at], at))

#define LOOK(name, declared, passed) BYTEWAYS_ENTRY(name, declared, BYTEWAYS_DO(passed, call.waited()))

LOOK(Probe, (int from, int tag, Handle comm, void* status), (from, tag, comm, status))
LOOK(Iprobe, (int from, int tag, Handle comm, int* flag, void* status), (from, tag, comm, flag, status))
LOOK(Mprobe, (int from, int tag, Handle comm, void* message, void* status),
     (from, tag, comm, message, status))
LOOK(Improbe, (int from, int tag, Handle comm, int* flag, void* message, void* status),
     (from, tag, comm, flag, message, status))
LOOK(Parrived, (Handle request, int part, int* flag), (request, part, flag))
