// The simulated MPI's functions: the table of runtimes/mpi/table.hpp, which shims give over real libraries.
#include "simulator/vendors/api.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "runtimes/mpi/table.hpp"
#include "simulator/machine/world.hpp"
#include "simulator/mpi/collectives.hpp"

namespace byteways::sim::mpi {

Rank rank_of_thread() {
  const int domains = World::get().model().cpu.domains;
  const int domain = std::clamp(thread_domain(), 0, domains - 1);
  return {std::max(0, Timeline::actor()), {Place::Kind::cpu, domain}};
}

namespace {

Mpi& library() { return Mpi::of_process(); }

std::uint64_t bytes_of(std::int64_t count, int element) {
  const std::uint64_t each = element_bytes(element);
  if (count < 0 || each == 0) throw Failure(Code::invalid, "no count, or no element");
  return static_cast<std::uint64_t>(count) * each;
}

template <class Body>
int local(const char* name, Body body) {
  return library().run(name, CallKind::local, 0, body);
}

template <class Body>
int collective(const char* name, BytewaysComm comm, Body body) {
  return library().run(name, CallKind::collective, comm, [&](Call& call) {
    Collective ranks(library(), call);
    body(ranks);
  });
}

Route route_of(const Comm& comm, BytewaysComm handle, int tag, int source, int destination) {
  const auto member = [&](int rank) {
    if (rank < 0 || rank >= static_cast<int>(comm.members.size()))
      throw Failure(Code::invalid, "there is no rank " + std::to_string(rank));
    return comm.members[static_cast<std::size_t>(rank)];
  };
  return {2 * handle, static_cast<std::uint64_t>(tag), member(source), member(destination)};
}

std::shared_ptr<Request> send_in(Call& call, const void* data, std::int64_t count, int element, int to,
                                 int tag, BytewaysComm comm) {
  const Route route = route_of(library().comm(call, comm), comm, tag, library().rank(call, comm), to);
  return library().start_send(call, route, data, bytes_of(count, element));
}

std::shared_ptr<Request> receive_in(Call& call, void* data, std::int64_t count, int element, int from,
                                    int tag, BytewaysComm comm) {
  const Route route = route_of(library().comm(call, comm), comm, tag, from, library().rank(call, comm));
  return library().start_receive(call, route, data, bytes_of(count, element));
}

// --- the library, and communicators

int init(int) {
  return local("init", [](Call&) {});
}
int finalize() {
  return local("finalize", [](Call&) {});
}
int abort_all(int code) { std::_Exit(code); }

int library_version(char* text, int room) {
  return local("library_version", [&](Call&) {
    write_text("simulated MPI of byteways", text, static_cast<std::size_t>(std::max(0, room)));
  });
}

// Also for a rank that is dead.
int describe(int error, char* text, int room) {
  const std::string words = library().describe(error);
  return answer([&] { write_text(words, text, static_cast<std::size_t>(std::max(0, room))); });
}

int device_support(const char* vendor, int* support) {
  return local("device_support", [&](Call&) {
    const Model& model = World::get().model();
    const std::string_view runtime = model.vendor == "amd" ? "hip" : "cuda";
    *support = model.mpi.gpu_aware && vendor == runtime ? kYes : kNo;
  });
}

BytewaysComm world() { return Mpi::kWorld; }
BytewaysComm plain_world() { return 0; }  // a part is as fast

int rank(BytewaysComm comm, int* rank) {
  return local("rank", [&](Call& call) { *rank = library().rank(call, comm); });
}
int size(BytewaysComm comm, int* size) {
  return local("size",
               [&](Call& call) { *size = static_cast<int>(library().comm(call, comm).members.size()); });
}

// Everybody learns everybody's colour and key, and works out the same parts.
void split_ranks(Call& call, Collective& ranks, int color, int key, BytewaysComm* part) {
  using Entry = std::array<std::int64_t, 2>;
  const Entry own{color, key};
  std::vector<Entry> all(static_cast<std::size_t>(ranks.size()));
  ranks.allgather(own.data(), all.data(), sizeof(Entry));
  *part = 0;
  if (color < 0) return;
  std::vector<std::pair<std::int64_t, int>> chosen;  // key and rank there
  for (int each = 0; each < ranks.size(); ++each)
    if (all[static_cast<std::size_t>(each)][0] == color)
      chosen.emplace_back(all[static_cast<std::size_t>(each)][1], each);
  std::sort(chosen.begin(), chosen.end());
  std::vector<int> members;
  for (const auto& [order, each] : chosen)
    members.push_back(ranks.comm().members[static_cast<std::size_t>(each)]);
  *part = library().part(call.comm, call.number, color, std::move(members));
}

int split_as(const char* name, BytewaysComm comm, int color, int key, BytewaysComm* part) {
  return library().run(name, CallKind::collective, comm, [&](Call& call) {
    Collective ranks(library(), call);
    split_ranks(call, ranks, color, key, part);
  });
}
int split(BytewaysComm comm, int color, int key, BytewaysComm* part) {
  return split_as("split", comm, color, key, part);
}
// All ranks are on the one host that is simulated.
int split_by_host(BytewaysComm comm, BytewaysComm* part) {
  return split_as("split_by_host", comm, 0, 0, part);
}

// Parts are kept: another rank may still be using its own.
int free_comm(BytewaysComm comm) {
  return local("free_comm", [&](Call& call) { library().comm(call, comm); });
}

// --- point to point

int send(const void* data, std::int64_t count, int element, int to, int tag, BytewaysComm comm) {
  return library().run("send", CallKind::message, comm, [&](Call& call) {
    library().wait(call, {send_in(call, data, count, element, to, tag, comm)});
  });
}
int receive(void* data, std::int64_t count, int element, int from, int tag, BytewaysComm comm) {
  return library().run("receive", CallKind::message, comm, [&](Call& call) {
    library().wait(call, {receive_in(call, data, count, element, from, tag, comm)});
  });
}
int start_send(const void* data, std::int64_t count, int element, int to, int tag, BytewaysComm comm,
               void* request) {
  return library().run("start_send", CallKind::message, comm, [&](Call& call) {
    *static_cast<RequestHandle*>(request) =
        library().keep(send_in(call, data, count, element, to, tag, comm));
  });
}
int start_receive(void* data, std::int64_t count, int element, int from, int tag, BytewaysComm comm,
                  void* request) {
  return library().run("start_receive", CallKind::message, comm, [&](Call& call) {
    *static_cast<RequestHandle*>(request) =
        library().keep(receive_in(call, data, count, element, from, tag, comm));
  });
}

std::vector<std::shared_ptr<Request>> take_all(int count, const RequestHandle* requests) {
  std::vector<std::shared_ptr<Request>> known;
  for (int each = 0; each < count; ++each)
    if (requests[each] != 0) known.push_back(library().known(requests[each]));
  return known;
}
void forget_all(int count, RequestHandle* requests) {
  for (int each = 0; each < count; ++each) library().forget(std::exchange(requests[each], 0));
}

int wait_all(int count, void* requests) {
  auto* const handles = static_cast<RequestHandle*>(requests);
  return library().run("wait_all", CallKind::message, 0, [&](Call& call) {
    Timeline::of_process().enter(call.lock, Call::transfers().model().calls.clock_ns);
    const auto known = take_all(count, handles);
    forget_all(count, handles);
    library().wait(call, known);
  });
}
int test_all(int count, void* requests, int* done) {
  auto* const handles = static_cast<RequestHandle*>(requests);
  return library().run("test_all", CallKind::message, 0, [&](Call& call) {
    Timeline::of_process().enter(call.lock, Call::transfers().model().calls.query_ns);
    Timeline::of_process().catch_up();
    const auto known = take_all(count, handles);
    const bool all = std::all_of(known.begin(), known.end(), [](const auto& each) { return each->done; });
    *done = all ? 1 : 0;
    if (!all) return;
    forget_all(count, handles);
    library().wait(call, known);
  });
}
int unfinished(int count, void* requests) {
  auto* const handles = static_cast<RequestHandle*>(requests);
  return static_cast<int>(std::remove(handles, handles + count, RequestHandle{0}) - handles);
}

// --- collectives

int barrier(BytewaysComm comm) {
  return collective("barrier", comm, [](Collective& ranks) { ranks.barrier(); });
}
int broadcast(void* data, std::int64_t count, int element, int root, BytewaysComm comm) {
  return collective("broadcast", comm,
                    [&](Collective& ranks) { ranks.broadcast(data, bytes_of(count, element), root); });
}
int reduce(const void* source, void* destination, std::int64_t count, int element, int root,
           BytewaysComm comm) {
  return collective("reduce", comm, [&](Collective& ranks) {
    ranks.reduce(source, destination, bytes_of(count, element), element, root);
  });
}
int allreduce(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm) {
  return collective("allreduce", comm, [&](Collective& ranks) {
    ranks.allreduce(source, destination, bytes_of(count, element), element);
  });
}
int reduce_scatter(const void* source, void* destination, std::int64_t count, int element,
                   BytewaysComm comm) {
  return collective("reduce_scatter", comm, [&](Collective& ranks) {
    ranks.reduce_scatter(source, destination, bytes_of(count, element), element);
  });
}
int allgather(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm) {
  return collective("allgather", comm, [&](Collective& ranks) {
    ranks.allgather(source, destination, bytes_of(count, element));
  });
}
int gather(const void* source, void* destination, std::int64_t count, int element, int root,
           BytewaysComm comm) {
  return collective("gather", comm, [&](Collective& ranks) {
    ranks.gather(source, destination, bytes_of(count, element), root);
  });
}
int scatter(const void* source, void* destination, std::int64_t count, int element, int root,
            BytewaysComm comm) {
  return collective("scatter", comm, [&](Collective& ranks) {
    ranks.scatter(source, destination, bytes_of(count, element), root);
  });
}
int alltoall(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm) {
  return collective("alltoall", comm, [&](Collective& ranks) {
    ranks.alltoall(source, destination, bytes_of(count, element));
  });
}

// --- one-sided

int create_window(void* memory, std::int64_t bytes, BytewaysComm comm, BytewaysWindow* window) {
  return collective("create_window", comm, [&](Collective& ranks) {
    const Rank me = rank_of_thread();
    const Exposed own{reinterpret_cast<std::uintptr_t>(memory), static_cast<std::uint64_t>(bytes), me.number,
                      me.place.index};
    std::vector<Exposed> all(static_cast<std::size_t>(ranks.size()));
    ranks.allgather(&own, all.data(), sizeof own);
    *window = library().one_sided().create(comm, ranks.number(), std::move(all));
  });
}
// Windows are kept: another rank may still be using its own.
int free_window(BytewaysWindow window) {
  return local("free_window", [&](Call&) { library().one_sided().window(window); });
}

int put(const void* data, std::int64_t count, int element, int to, std::int64_t offset,
        BytewaysWindow window) {
  return library().run("put", CallKind::message, 0, [&](Call& call) {
    library().start_one_sided(call, window, to, static_cast<std::uint64_t>(offset), const_cast<void*>(data),
                              bytes_of(count, element), true);
  });
}
int get(void* data, std::int64_t count, int element, int from, std::int64_t offset, BytewaysWindow window) {
  return library().run("get", CallKind::message, 0, [&](Call& call) {
    library().start_one_sided(call, window, from, static_cast<std::uint64_t>(offset), data,
                              bytes_of(count, element), false);
  });
}

int lock_all(BytewaysWindow window) { return free_window(window); }
int unlock_all(BytewaysWindow window) { return free_window(window); }
int sync(BytewaysWindow window) { return free_window(window); }

void complete(Call& call, BytewaysWindow window, int rank) {
  Timeline::of_process().enter(call.lock, Call::transfers().model().calls.clock_ns);
  OneSided& transfers = library().one_sided();
  library().wait(call, transfers.take(transfers.window(window), call.me.number, rank));
}
int flush(int rank, BytewaysWindow window) {
  return library().run("flush", CallKind::message, 0, [&](Call& call) { complete(call, window, rank); });
}
int fence(BytewaysWindow window) {
  BytewaysComm comm = 0;
  const int error = local("fence", [&](Call&) { comm = library().one_sided().window(window).comm; });
  if (error != 0) return error;
  return library().run("fence", CallKind::collective, comm, [&](Call& call) {
    complete(call, window, -1);
    Collective(library(), call).barrier();
  });
}

}  // namespace
}  // namespace byteways::sim::mpi

extern "C" BYTEWAYS_EXPORTED const BytewaysMpi* byteways_mpi_table() {
  using namespace byteways::sim::mpi;
  static constexpr BytewaysMpi table{kMpiTableVersion,
                                     sizeof(RequestHandle),
                                     init,
                                     finalize,
                                     abort_all,
                                     library_version,
                                     describe,
                                     device_support,
                                     world,
                                     plain_world,
                                     rank,
                                     size,
                                     split,
                                     split_by_host,
                                     free_comm,
                                     send,
                                     receive,
                                     start_send,
                                     start_receive,
                                     wait_all,
                                     test_all,
                                     unfinished,
                                     barrier,
                                     broadcast,
                                     reduce,
                                     allreduce,
                                     reduce_scatter,
                                     allgather,
                                     gather,
                                     scatter,
                                     alltoall,
                                     create_window,
                                     free_window,
                                     put,
                                     get,
                                     lock_all,
                                     unlock_all,
                                     flush,
                                     sync,
                                     fence};
  return &table;
}
