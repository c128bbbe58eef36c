// The table of requests: exact with threads that give each other handles, and when it is full.
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "watch/mpi/requests.hpp"

using namespace byteways::watch::mpi;

namespace byteways::watch::mpi {
Handle comparable(Handle handle) noexcept { return handle; }
}  // namespace byteways::watch::mpi

namespace {

constexpr std::size_t kPlaces = 2048 * 8;

Request of_room(std::uint64_t room) {
  Request made;
  made.room = room;
  made.active = true;
  return made;
}

// Threads that use the same handles, as where a library gives one away while another thread looks at its end.
bool threads() {
  constexpr int kThreads = 4, kTurns = 20000, kHandles = 5;
  std::atomic<std::uint64_t> sum{0}, lost{0};
  std::vector<std::thread> all;
  for (int thread = 0; thread < kThreads; ++thread)
    all.emplace_back([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        const Handle handle = 64 * static_cast<Handle>(turn % kHandles + 1);
        Request ended;
        if (!remember(handle, of_room(3))) lost += 1;
        if (take(handle, ended))
          sum += ended.room;
        else
          lost += 1;
      }
    });
  for (std::thread& one : all) one.join();
  Request none;
  for (Handle at = 1; at <= kHandles; ++at)
    if (forget_request(64 * at, none)) return false;
  return lost == 0 && sum == 3ull * kThreads * kTurns;
}

bool full() {
  std::size_t kept = 0;
  for (Handle at = 1; at <= 2 * kPlaces; ++at) kept += remember(16 * at, of_room(at));
  if (kept < kPlaces * 3 / 4 || kept > kPlaces) return false;
  std::size_t found = 0;
  Request ended;
  for (Handle at = 1; at <= 2 * kPlaces; ++at)
    if (take(16 * at, ended)) {
      if (ended.room != at) return false;
      ++found;
    }
  return found == kept && !take(16, ended);
}

bool persistent() {
  Request made = of_room(7), ended;
  made.persistent = true;
  made.active = false;
  remember(16, made);
  if (take(16, ended)) return false;  // not started
  for (int turn = 0; turn < 3; ++turn) {
    known_request(16)->active = true;
    if (!take(16, ended) || take(16, ended)) return false;
  }
  return forget_request(16, ended) && known_request(16) == nullptr;
}

}  // namespace

int main() {
  const bool good = threads() && full() && persistent();
  std::puts(good ? "GOOD" : "WRONG");
  return good ? 0 : 1;
}
