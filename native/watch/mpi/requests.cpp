// See requests.hpp.
#include "watch/mpi/requests.hpp"

#include <atomic>
#include <initializer_list>

namespace byteways::watch::mpi {
namespace {

// A bucket's handles fill a line of a cache. A handle has two buckets: nearly all places can be used.
constexpr std::size_t kBuckets = 2048, kPlaces = 8;
constexpr Handle kEmpty = 0, kTaken = ~Handle{0};

struct alignas(64) Bucket {
  std::atomic<Handle> handles[kPlaces]{};
};
constinit Bucket buckets[kBuckets]{};
// All zero until it is used: its pages take no memory, here and in the file.
union Place {
  constexpr Place() : unused{} {}
  char unused;
  Request request;
};
constinit Place places[kBuckets * kPlaces]{};

std::uint64_t hash_of(Handle handle) {
  return handle * 0x9e3779b97f4a7c15u;  // the golden ratio, as of Fibonacci hashing
}

// Whether a handle has ever been in its second bucket. Until then nobody looks there.
constinit std::atomic<bool> overflowed{false};

template <class Act>
bool any_place_of(std::size_t bucket, Act act) {
  for (std::size_t place = 0; place < kPlaces; ++place)
    if (act(buckets[bucket].handles[place], bucket * kPlaces + place)) return true;
  return false;
}

// Calls act(handle's place, index) for the places that a handle may have, until it returns true.
template <class Act>
bool any_place(Handle handle, Act act) {
  const std::uint64_t hash = hash_of(handle);
  return any_place_of((hash >> 32) % kBuckets, act) ||
         (overflowed.load(std::memory_order_relaxed) && any_place_of((hash >> 48) % kBuckets, act));
}

bool claim(std::atomic<Handle>& place, Handle from) {
  return place.load(std::memory_order_relaxed) == from &&
         place.compare_exchange_strong(from, kTaken, std::memory_order_acquire);
}

}  // namespace

bool remember(Handle handle, const Request& request) noexcept {
  handle = comparable(handle);
  const auto put = [&](std::atomic<Handle>& place, std::size_t at) {
    if (!claim(place, kEmpty)) return false;
    places[at].request = request;
    place.store(handle, std::memory_order_release);
    return true;
  };
  if (any_place(handle, put)) return true;
  // The thread that completes the request has heard of it from this one, and so of this.
  return !overflowed.exchange(true, std::memory_order_relaxed) && any_place(handle, put);
}

Request* known_request(Handle handle) noexcept {
  handle = comparable(handle);
  Request* found = nullptr;
  any_place(handle, [&](std::atomic<Handle>& place, std::size_t at) {
    if (place.load(std::memory_order_acquire) != handle) return false;
    found = &places[at].request;
    return true;
  });
  return found;
}

bool take(Handle handle, Request& ended) noexcept {
  Request* const known = known_request(handle);
  if (known == nullptr) return false;
  if (!known->persistent) return forget_request(handle, ended);
  ended = *known;
  known->active = false;
  return ended.active;
}

bool forget_request(Handle handle, Request& freed) noexcept {
  handle = comparable(handle);
  return any_place(handle, [&](std::atomic<Handle>& place, std::size_t at) {
    if (!claim(place, handle)) return false;
    freed = places[at].request;
    place.store(kEmpty, std::memory_order_release);
    return true;
  });
}

}  // namespace byteways::watch::mpi
