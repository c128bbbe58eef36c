// See call.hpp.
#include "watch/mpi/call.hpp"

#include <cstring>

#include "watch/clock.hpp"
#include "watch/host_buffers.hpp"
#include "watch/site.hpp"

namespace byteways::watch::mpi {
namespace {

// Calls that MPI makes of its own functions are not the program's. The library is loaded with the program, so
// that its thread-local variables need no allocation.
[[gnu::tls_model("initial-exec")]] thread_local int depth = 0;

int own_rank() {
  static int rank = -1;
  if (rank < 0 && has_world()) rank = members_of(abi()->world).own;
  return rank;
}

int source_in(const void* status) {
  int source = -1;
  std::memcpy(&source, static_cast<const char*>(status) + abi()->source_offset, sizeof source);
  return source;
}

}  // namespace

Call::Call(std::uint16_t method, const void* caller) noexcept
    : caller_(caller), method_(method), counted_(depth++ == 0 && is_watching()) {
  if (!counted_) return;
  find_library(caller);
  start_ = now();
}

Call::~Call() { --depth; }

bool Call::ended(int error) noexcept {
  if (!counted_) return false;
  end_ = now();
  counted_ = error == 0 && abi() != nullptr;
  return counted_;
}

Times Call::times() noexcept {
  if (timed_) return {};  // a call that does two things has one time
  timed_ = true;
  return {kUnknownTime, time_between(start_, end_)};
}

void Call::add(Key& key, const Times& times) noexcept {
  key.method = method_;
  key.site = site_of(caller_);
  histogram().add(key, 1, times, end_);
}

void Call::sent(std::int64_t count, Handle type, int to, Handle comm) noexcept {
  if (to == abi()->no_process) return;
  Key key;
  key.what = What::kMessage;
  key.source = key.destination = memory_of_buffers();
  key.source_rank = own_rank();
  key.destination_rank = members_of(comm).world_rank(to);
  key.size = static_cast<std::uint64_t>(bytes_of(count, type));
  add(key, times());
}

void Call::received(std::int64_t count, Handle type, int from, Handle comm, const void* status) noexcept {
  if (from == abi()->no_process) return;
  const std::int64_t arrived = mpi::received(status, type);
  will_receive(arrived >= 0 ? arrived : count, type, source_in(status), comm);
}

void Call::will_receive(std::int64_t count, Handle type, int from, Handle comm) noexcept {
  if (from == abi()->no_process) return;
  Key key;
  key.what = What::kMessage;
  key.source = key.destination = memory_of_buffers();
  key.source_rank = comm == abi()->no_comm ? -1 : members_of(comm).world_rank(from);
  key.destination_rank = own_rank();
  key.size = static_cast<std::uint64_t>(bytes_of(count, type));
  add(key, times());
}

void Call::one_sided(What what, std::int64_t count, Handle type, int rank, Handle window) noexcept {
  if (rank == abi()->no_process) return;
  Key key;
  key.what = what;
  key.source = key.destination = memory_of_buffers();
  const int other = members_of_window(window).world_rank(rank);
  key.source_rank = what == What::kGet ? other : own_rank();
  key.destination_rank = what == What::kGet ? own_rank() : other;
  key.size = static_cast<std::uint64_t>(bytes_of(count, type));
  add(key, times());
}

void Call::add_collective(std::int64_t bytes, Handle comm, bool in_place, const Times& times) noexcept {
  static const std::uint16_t kInPlace = number_of(R"({"in_place":"yes"})");
  Key key;
  key.what = What::kCollective;
  if (in_place) key.detail = kInPlace;
  if (bytes > 0) key.source = key.destination = memory_of_buffers();
  key.ranks = members_of(comm).count;
  key.size = static_cast<std::uint64_t>(bytes < 0 ? 0 : bytes);
  add(key, times);
}

void Call::collective(std::int64_t bytes, Handle comm, bool in_place) noexcept {
  add_collective(bytes, comm, in_place, times());
}

void Call::met(Handle comm) noexcept {
  Times spent = times();
  spent.waiting = spent.call;
  add_collective(0, comm, false, spent);
}

void Call::waited() noexcept {
  Key key;
  key.what = What::kSynchronisation;
  Times spent = times();
  spent.waiting = spent.call;
  add(key, spent);
}

bool Call::is_root(int root, Handle comm) noexcept { return root < 0 || root == members_of(comm).own; }

}  // namespace byteways::watch::mpi
