// See call.hpp.
#include "watch/mpi/call.hpp"

#include <iterator>

#include "watch/clock.hpp"
#include "watch/host_buffers.hpp"
#include "watch/site.hpp"

namespace byteways::watch::mpi {
namespace {

// Calls that MPI makes of its own functions are not the program's. What remembers the call that the program
// made is its place on the stack: a call in a place above it is no part of it, so that the program has left
// that one by longjmp(). The library is loaded with the program, so that its thread-local variables need no
// allocation.
[[gnu::tls_model("initial-exec")]] thread_local std::uintptr_t outermost = 0;

bool begin_outermost(const void* call) {
  const auto place = reinterpret_cast<std::uintptr_t>(call);
  if (outermost != 0 && place < outermost) return false;
  outermost = place;
  return true;
}

int own_rank() {
  static int rank = -1;
  if (rank < 0 && has_world()) rank = members_of(abi()->world).own;
  return rank;
}

std::uint64_t size_of(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes < 0 ? 0 : bytes); }

constexpr std::string_view kDetails[] = {"",
                                         R"({"direction":"send"})",
                                         R"({"direction":"receive"})",
                                         R"({"size":"posted"})",
                                         R"({"direction":"receive","size":"posted"})",
                                         R"({"in_place":"yes"})",
                                         R"({"requests":"messages"})",
                                         R"({"requests":"collectives"})",
                                         R"({"requests":"one-sided"})",
                                         R"({"requests":"unknown"})",
                                         R"({"requests":"several"})"};

std::uint16_t number_of(Detail detail) {
  static std::uint16_t numbers[std::size(kDetails)]{};  // written with one value only, whoever writes
  if (detail == Detail::kNone) return 0;
  std::uint16_t& number = numbers[static_cast<std::size_t>(detail)];
  if (number == 0) number = byteways::watch::number_of(kDetails[static_cast<std::size_t>(detail)]);
  return number;
}

// MPI gives no memory: what its buffers are is known of the process alone.
void note_memory(Key& key) { key.source = key.destination = memory_of_buffers(); }

}  // namespace

std::uint16_t method_of(const char* function) noexcept {
  std::string_view name(function);
  if (name.starts_with('P')) name.remove_prefix(1);
  if (name.ends_with("_c")) name.remove_suffix(2);
  return byteways::watch::number_of(name);
}

Call::Call(std::uint16_t method, const void* caller) noexcept
    : caller_(caller),
      method_(method),
      outermost_(begin_outermost(this)),
      counted_(outermost_ && is_watching()) {
  if (!counted_) return;
  find_library(caller);
  counted_ = !is_of_library(caller);
  start_ = now();
}

Call::~Call() {
  if (outermost_) outermost = 0;
}

bool Call::ended(int error) noexcept {
  if (!counted_) return false;
  end_ = now();
  counted_ = error == 0 && abi() != nullptr;
  return counted_;
}

Times Call::times() noexcept {
  if (timed_) return {};  // a call that does several things has one time
  timed_ = true;
  return {kUnknownTime, time_between(start_, end_)};
}

Key Call::key(What what, std::uint64_t size) const noexcept {
  Key key;
  key.what = what;
  key.method = method_;
  key.site = site_of(caller_);
  key.size = size;
  return key;
}

void Call::add(const Key& key, const Times& times) noexcept { histogram().add(key, 1, times, end_); }

// ---- Messages ----

Key Call::to_rank(std::int64_t count, Handle type, int to, Handle comm) const noexcept {
  Key made = key(What::kMessage, size_of(bytes_of(count, type)));
  note_memory(made);
  made.source_rank = own_rank();
  made.destination_rank = members_of(comm).world_rank(to);
  return made;
}

Key Call::from_rank(int from, Handle comm) const noexcept {
  Key made = key(What::kMessage, 0);
  note_memory(made);
  made.source_rank = comm == abi()->no_comm ? -1 : members_of(comm).world_rank(from);
  made.destination_rank = own_rank();
  return made;
}

void Call::sent(std::int64_t count, Handle type, int to, Handle comm, Detail detail) noexcept {
  if (to == abi()->no_process) return;
  Key made = to_rank(count, type, to, comm);
  made.detail = number_of(detail);
  add(made, times());
}

void Call::received(std::int64_t count, Handle type, int from, Handle comm, const void* status,
                    Detail detail) noexcept {
  if (from == abi()->no_process || source_in(status) == abi()->no_process) return;
  Key made = from_rank(source_in(status), comm);
  const std::int64_t bytes = arrived_bytes(status);
  made.size = size_of(bytes >= 0 ? bytes : bytes_of(count, type));
  made.detail = number_of(detail);
  add(made, times());
}

void Call::will_receive(std::int64_t count, Handle type, int from, Handle comm,
                        const void* request) noexcept {
  if (from == abi()->no_process) return;
  Request begun;
  begun.key = from_rank(from, comm);
  begun.comm = from == abi()->any_source ? comm : 0;
  begun.call = times().call;
  begun.room = size_of(bytes_of(count, type));
  begun.counts = Request::Counts::kAtEnd;
  begun.active = true;
  if (!remember(handle_at(request), begun)) arrived(begun, nullptr);
}

void Call::received_unseen(std::int64_t count, Handle type, int from, Handle comm) noexcept {
  if (from == abi()->no_process) return;
  Key made = from_rank(from, comm);
  made.size = size_of(bytes_of(count, type));
  made.detail = number_of(Detail::kReceivedPosted);
  add(made, times());
}

void Call::arrived(const Request& request, const void* status) noexcept {
  Key made = request.key;
  const std::int64_t bytes = status == nullptr ? -1 : arrived_bytes(status);
  if (bytes < 0) made.detail = number_of(Detail::kPosted);
  made.size = bytes < 0 ? request.room : size_of(bytes);
  if (status != nullptr && request.comm != 0)
    made.source_rank = members_known_of(request.comm).world_rank(source_in(status));
  add(made, {kUnknownTime, request.call});
}

// ---- Collectives, one-sided operations, waits ----

Key Call::of_collective(std::int64_t bytes, Handle comm, bool in_place) const noexcept {
  Key made = key(What::kCollective, size_of(bytes));
  if (in_place) made.detail = number_of(Detail::kInPlace);
  if (bytes > 0) note_memory(made);
  made.ranks = members_of(comm).count;
  return made;
}

void Call::collective(std::int64_t bytes, Handle comm, bool in_place, const void* request) noexcept {
  const Key made = of_collective(bytes, comm, in_place);
  add(made, times());
  if (request != nullptr) keep(made, Request::Counts::kNever, Waited::kCollectives, request, false);
}

void Call::met(Handle comm) noexcept {
  Times spent = times();
  spent.waiting = spent.call;
  add(of_collective(0, comm, false), spent);
}

void Call::one_sided(What what, std::int64_t count, Handle type, int rank, Handle window,
                     const void* request) noexcept {
  if (rank == abi()->no_process) return;
  Key made = key(what, size_of(bytes_of(count, type)));
  note_memory(made);
  const int other = members_of_window(window).world_rank(rank);
  made.source_rank = what == What::kGet ? other : own_rank();
  made.destination_rank = what == What::kGet ? own_rank() : other;
  add(made, times());
  if (request != nullptr) keep(made, Request::Counts::kNever, Waited::kOneSided, request, false);
}

void Call::waited(Detail detail) noexcept {
  Key made = key(What::kSynchronisation, 0);
  made.detail = number_of(detail);
  Times spent = times();
  spent.waiting = spent.call;
  add(made, spent);
}

void Call::made(What what, const void* request) noexcept {
  const Key row = key(what, 0);
  add(row, times());
  if (request != nullptr) keep(row, Request::Counts::kNever, Waited::kUnknown, request, false);
}

// ---- Persistent requests ----

void Call::keep(const Key& key, Request::Counts counts, Waited waited, const void* request,
                bool persistent) noexcept {
  Request made;
  made.key = key;
  made.counts = counts;
  made.waited = waited;
  made.persistent = persistent;
  if (!remember(handle_at(request), made) && persistent) histogram().lose(1);
}

void Call::will_send(std::int64_t count, Handle type, int to, Handle comm, const void* request) noexcept {
  if (to != abi()->no_process)
    keep(to_rank(count, type, to, comm), Request::Counts::kAtStart, Waited::kMessages, request);
}

void Call::will_receive_often(std::int64_t count, Handle type, int from, Handle comm,
                              const void* request) noexcept {
  if (from == abi()->no_process) return;
  Request made;
  made.key = from_rank(from, comm);
  made.comm = from == abi()->any_source ? comm : 0;
  made.room = size_of(bytes_of(count, type));
  made.counts = Request::Counts::kAtEnd;
  made.persistent = true;
  if (!remember(handle_at(request), made)) histogram().lose(1);
}

void Call::will_receive_parts(std::int64_t count, Handle type, int from, Handle comm,
                              const void* request) noexcept {
  if (from == abi()->no_process) return;
  Key made = from_rank(from, comm);
  made.size = size_of(bytes_of(count, type));
  keep(made, Request::Counts::kAtStart, Waited::kMessages, request);
}

void Call::will_meet(std::int64_t bytes, Handle comm, bool in_place, const void* request) noexcept {
  keep(of_collective(bytes, comm, in_place), Request::Counts::kAtStart, Waited::kCollectives, request);
}

void Call::started(Handle request) noexcept {
  Request* const known = known_request(request);
  if (known == nullptr || !known->persistent) return;
  known->active = true;
  if (known->counts == Request::Counts::kAtStart) add(known->key, times());
  if (known->counts == Request::Counts::kAtEnd) known->call = times().call;
}

void Call::completed(Handle request, const void* status) noexcept {
  Request ended;
  if (!take(request, ended) || ended.counts != Request::Counts::kAtEnd) return;
  if (status != nullptr && (is_cancelled(status) || source_in(status) == abi()->no_process)) return;
  arrived(ended, status);
}

// A receive goes on without its request: when it arrives nobody sees.
void Call::freed(const Request& request) noexcept {
  if (request.counts == Request::Counts::kAtEnd && request.active) arrived(request, nullptr);
}

bool Call::is_root(int root, Handle comm) noexcept { return root < 0 || root == members_of(comm).own; }

}  // namespace byteways::watch::mpi
