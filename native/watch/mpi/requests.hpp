// What the program's requests stand for, by their handles, until they end: what a receive brings is known
// when it has arrived, and a persistent request moves something at each start. A table of fixed size, without
// locks.
//
// MPI lets one thread at a time complete a request, so that an entry has one owner. A library may give a
// handle away again before the thread that completed it has looked here: then two entries have one handle for
// a moment, and either may be taken. Their requests have both ended, so that no count is lost.
#pragma once
#include "watch/histogram.hpp"
#include "watch/mpi/library.hpp"

namespace byteways::watch::mpi {

// What the end of a request belongs to.
enum class Waited : std::uint8_t { kMessages, kCollectives, kOneSided, kUnknown };

struct Request {
  enum class Counts : std::uint8_t { kNever, kAtStart, kAtEnd };

  Key key;                 // of what it moves; of a receive without its size
  Handle comm = 0;         // of a receive from any source
  std::int64_t call = 0;   // ns that the call took which began the receive
  std::uint64_t room = 0;  // bytes that a receive has room for
  Counts counts = Counts::kNever;
  Waited waited = Waited::kMessages;
  bool persistent = false, active = false;
};

// False: there is no place.
bool remember(Handle handle, const Request& request) noexcept;

// What a request stands for; null: nothing is known. The pointer is valid until its owner takes or forgets
// it.
Request* known_request(Handle handle) noexcept;

// Copies what has ended, and forgets it unless it is persistent. False: nothing was known, or it was not
// active.
bool take(Handle handle, Request& ended) noexcept;

// Forgets a request that is freed. False: nothing was known.
bool forget_request(Handle handle, Request& freed) noexcept;

}  // namespace byteways::watch::mpi
