// See members.hpp. Only local calls of MPI: no other rank takes part.
#include "watch/mpi/members.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "watch/mpi/list.hpp"
#include "watch/snapshot.hpp"

namespace byteways::watch::mpi {
namespace {

constexpr Members kNobody;

// Whether MPI has answered. A program never hears of it, and what is missing is said.
bool good(int error) noexcept {
  if (error != 0) note_missing();
  return error == 0;
}

// Of handles of one kind: communicators, or windows. Without locks, which a thread could hold while another
// one forks; what is remembered stays where it is, and a place is used again when its handle was freed.
class Known {
 public:
  // Each thread remembers the last one: most programs use one communicator for long.
  struct Last {
    Handle handle = 0;
    std::uint64_t forgotten = 0;
    const Members* members = nullptr;
  };

  // Null: there was no memory.
  template <class Find>
  const Members* of(Handle handle, Last& last, Find find) {
    const std::uint64_t forgotten = forgotten_.load(std::memory_order_acquire);
    if (last.members == nullptr || last.handle != handle || last.forgotten != forgotten)
      last = {handle, forgotten, found(handle, find)};
    return last.members;
  }
  const Members* known(Handle handle) const {
    for (const Place* place = first_.load(std::memory_order_acquire); place != nullptr; place = place->next)
      if (place->handle.load(std::memory_order_acquire) == handle) return &place->members;
    return nullptr;
  }
  void forget(Handle handle) {
    for (Place* place = first_.load(std::memory_order_acquire); place != nullptr; place = place->next) {
      Handle had = handle;
      if (place->handle.compare_exchange_strong(had, kNone)) place->taken.store(false);
    }
    forgotten_.fetch_add(1, std::memory_order_release);
  }

 private:
  static constexpr Handle kNone = ~Handle{0};
  struct Place {
    std::atomic<Handle> handle{kNone};  // what it is about, once its members are complete
    std::atomic<bool> taken{true};
    Members members;
    Place* next = nullptr;
  };

  template <class Find>
  const Members* found(Handle handle, Find find) {
    if (const Members* const members = known(handle)) return members;
    const Members made = find(handle);
    Place* const place = free_place();
    if (place == nullptr) {
      std::free(made.in_world);
      return nullptr;
    }
    std::free(place->members.in_world);
    place->members = made;
    place->handle.store(handle, std::memory_order_release);
    return &place->members;
  }
  Place* free_place() {
    for (Place* place = first_.load(std::memory_order_acquire); place != nullptr; place = place->next)
      if (!place->taken.load(std::memory_order_relaxed) && !place->taken.exchange(true)) return place;
    void* const memory = std::malloc(sizeof(Place));
    if (memory == nullptr) return nullptr;
    Place* const place = new (memory) Place;
    place->next = first_.load();
    while (!first_.compare_exchange_weak(place->next, place)) {
    }
    return place;
  }

  std::atomic<Place*> first_{nullptr};
  std::atomic<std::uint64_t> forgotten_{0};
};

constinit Known comms, windows;

void find_in_world(Handle group, Members& members) {
  static Function<int(Handle, int*)> size("PMPI_Group_size");
  static Function<int(Handle, Handle*)> group_of("PMPI_Comm_group");
  static Function<int(Handle, int, const int*, Handle, int*)> translate("PMPI_Group_translate_ranks");
  static Function<int(Handle*)> free_group("PMPI_Group_free");
  int count = 0;
  Handle world = 0;
  if (!good(size(nullptr, group, &count)) || !good(group_of(nullptr, abi()->world, &world))) return;
  const auto length = static_cast<std::size_t>(count);
  List<int> ranks = list_of<int>(length), found = list_of<int>(length);
  const bool has_memory = ranks != nullptr && found != nullptr;
  if (has_memory) std::iota(ranks.get(), ranks.get() + length, 0);
  if (!has_memory) note_missing();
  if (has_memory && good(translate(nullptr, group, count, ranks.get(), world, found.get()))) {
    for (std::size_t at = 0; at < length; ++at)
      if (found[at] < 0) found[at] = -1;  // MPI_UNDEFINED: of another world
    members.in_world = found.release();
    members.known_in_world = length;
  }
  good(free_group(nullptr, &world));
}

// Numbers of neighbours; 0 without a topology.
void note_neighbours(Handle comm, Members& found) {
  static Function<int(Handle, int*)> topology("PMPI_Topo_test"), dimensions("PMPI_Cartdim_get");
  static Function<int(Handle, int, int*)> of_graph("PMPI_Graph_neighbors_count");
  static Function<int(Handle, int*, int*, int*)> of_dist_graph("PMPI_Dist_graph_neighbors_count");
  int kind = abi()->undefined, weighted = 0;
  if (!good(topology(nullptr, comm, &kind)) || kind == abi()->undefined) return;
  if (kind == abi()->cartesian) {
    good(dimensions(nullptr, comm, &found.sources));
    found.sources *= 2;
    found.destinations = found.sources;
  } else if (kind == abi()->graph) {
    good(of_graph(nullptr, comm, found.own, &found.sources));
    found.destinations = found.sources;
  } else {
    good(of_dist_graph(nullptr, comm, &found.sources, &found.destinations, &weighted));
  }
}

Members members_of_comm(Handle comm) {
  static Function<int(Handle, int*)> inter("PMPI_Comm_test_inter"), rank("PMPI_Comm_rank"),
      size("PMPI_Comm_size"), remote_size("PMPI_Comm_remote_size");
  static Function<int(Handle, Handle*)> group_of("PMPI_Comm_group"), remote_group("PMPI_Comm_remote_group");
  static Function<int(Handle*)> free_group("PMPI_Group_free");
  Members found;
  int between = 0;
  // Whom lists of a call are for is not known then: none is read.
  if (!good(inter(nullptr, comm, &between))) return found;
  good(rank(nullptr, comm, &found.own));
  good(size(nullptr, comm, &found.own_count));
  if (between == 0) {
    found.count = found.own_count;
    note_neighbours(comm, found);
  } else {
    good(remote_size(nullptr, comm, &found.count));
    found.own = -1;
  }
  Handle group = 0;
  if (has_world() && good((between != 0 ? remote_group : group_of)(nullptr, comm, &group))) {
    find_in_world(group, found);
    good(free_group(nullptr, &group));
  }
  return found;
}

Members members_of_win(Handle window) {
  static Function<int(Handle, Handle*)> group_of("PMPI_Win_get_group");
  static Function<int(Handle*)> free_group("PMPI_Group_free");
  static Function<int(Handle, int*)> size("PMPI_Group_size"), rank("PMPI_Group_rank");
  Members found;
  Handle group = 0;
  if (!good(group_of(nullptr, window, &group))) return found;
  good(size(nullptr, group, &found.count));
  found.own_count = found.count;
  good(rank(nullptr, group, &found.own));
  if (has_world()) find_in_world(group, found);
  good(free_group(nullptr, &group));
  return found;
}

template <class Find>
const Members& remembered(Known& known, Known::Last& last, Handle handle, Find find) noexcept {
  if (const Members* const members = known.of(comparable(handle), last, find)) return *members;
  note_missing();
  return kNobody;
}

}  // namespace

void note_missing() noexcept { note_failure("mpi-partial"); }

bool has_world() noexcept {
  static Function<int(int*)> initialized("PMPI_Initialized"), finalized("PMPI_Finalized");
  int started = 0, ended = 0;
  good(initialized(nullptr, &started));
  good(finalized(nullptr, &ended));
  return abi() != nullptr && started != 0 && ended == 0;
}

const Members& members_of(Handle comm) noexcept {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Known::Last last;
  return remembered(comms, last, comm, members_of_comm);
}
const Members& members_known_of(Handle comm) noexcept {
  const Members* const known = comms.known(comparable(comm));
  return known == nullptr ? kNobody : *known;
}
const Members& members_of_window(Handle window) noexcept {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Known::Last last;
  return remembered(windows, last, window, members_of_win);
}
void forget(Handle comm) noexcept { comms.forget(comparable(comm)); }
void forget_window(Handle window) noexcept { windows.forget(comparable(window)); }

std::int64_t type_bytes(Handle type) noexcept {
  static Function<int(Handle, int*)> size("PMPI_Type_size");
  static Function<int(Handle, Count*)> long_size("PMPI_Type_size_x");
  int bytes = 0;
  if (size(nullptr, type, &bytes) == 0 && bytes >= 0) return bytes;
  Count many = 0;
  return good(long_size(nullptr, type, &many)) && many > 0 ? many : 0;
}

// Both libraries divide the bytes that arrived by the size of the type, so that the receive's own type, which
// the program may have freed, is not needed.
std::int64_t arrived_bytes(const void* status) noexcept {
  static Function<int(const void*, Handle, int*)> count_of("PMPI_Get_count");
  static Function<int(const void*, Handle, Count*)> elements_of("PMPI_Get_elements_x");
  int bytes = 0;
  if (count_of(nullptr, status, abi()->byte, &bytes) == 0 && bytes >= 0) return bytes;
  Count many = -1;  // more than an int holds
  return good(elements_of(nullptr, status, abi()->byte, &many)) ? many : -1;
}

int source_in(const void* status) noexcept {
  int source = -1;
  std::memcpy(&source, static_cast<const char*>(status) + abi()->source_offset, sizeof source);
  return source;
}

bool is_cancelled(const void* status) noexcept {
  static Function<int(const void*, int*)> ask("PMPI_Test_cancelled");
  int flag = 0;
  return !good(ask(nullptr, status, &flag)) || flag != 0;
}

int note_world() noexcept {
  if (!has_world()) return 0;
  const Members& world = members_of(abi()->world);
  note_rank(world.own, world.count);
  return world.count;
}

}  // namespace byteways::watch::mpi
