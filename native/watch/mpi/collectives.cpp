// Entries of collectives. Bytes are those of the data of each rank, or of all blocks together where blocks
// are exchanged, as the size of a collective is defined in suites; of blocks of different sizes, those that
// this rank's arguments name. Each has a blocking, a nonblocking and a persistent entry.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace

namespace {

// How many numbers a list of counts, places or types has, and where MPI reads it (MPI 4.1, chapters 6 and 8):
//
// function              lists of blocks given      lists of blocks got
// Gatherv               -                          kNamed, at the root
// Scatterv              kNamed, at the root        -
// Allgatherv            -                          kNamed
// Alltoallv, Alltoallw  kNamed, not in place       kNamed
// Reduce_scatter        -                          kOwn
// Neighbor_allgatherv   -                          kSources
// Neighbor_alltoallv/w  kDestinations              kSources
//
// Between two groups a rank names those of the other one. Only the root gives the root's arguments, and where
// `root` is MPI_PROC_NULL nothing means anything.
enum class Length { kNone, kNamed, kOwn, kSources, kDestinations };

std::int64_t number(Length length, Handle comm) {
  const Members& members = members_of(comm);
  switch (length) {
    case Length::kNamed:
      return members.count;
    case Length::kOwn:
      return members.own_count;
    case Length::kSources:
      return members.sources;
    case Length::kDestinations:
      return members.destinations;
    case Length::kNone:
      break;
  }
  return 0;
}

Lists lists(Length given, Length got, Handle comm) {
  return {static_cast<std::size_t>(number(given, comm)), static_cast<std::size_t>(number(got, comm))};
}
Length at_root(int root, Handle comm) {
  return abi() != nullptr && Call::takes_part(root) && Call::is_root(root, comm) ? Length::kNamed
                                                                                 : Length::kNone;
}

// Bytes of so many blocks of one type, and of one type each.
template <class N>
std::int64_t blocks(const N* counts, Handle type, Length length, Handle comm) {
  std::int64_t total = 0;
  for (std::int64_t at = 0, end = number(length, comm); at < end; ++at) total += counts[at];
  return bytes_of(total, type);
}
template <class N>
std::int64_t typed_blocks(const N* counts, const void* types, Length length, Handle comm) {
  std::int64_t total = 0;
  for (std::int64_t at = 0, end = number(length, comm); at < end; ++at)
    total += bytes_of(counts[at], handle_at(types, static_cast<std::size_t>(at)));
  return total;
}

}  // namespace

// What an entry is, beside its name and lists: where its arguments mean nothing, whether the result takes the
// place of what a rank gives (where suites measure that, too), its arguments, and its bytes.
#define BLOCKING(name, needed, takes_part, whole, declared, passed, bytes)                                \
  BYTEWAYS_ENTRY(name, (BYTEWAYS_PASS declared),                                                          \
                 const int error = real.with_lists([&] { return needed; }, caller, BYTEWAYS_PASS passed); \
                 if (call.ended(error) && takes_part) call.collective(bytes, comm, whole); return error;)
#define NONBLOCKING(name, needed, takes_part, whole, declared, passed, bytes)                           \
  BYTEWAYS_ENTRY(                                                                                       \
      name, (BYTEWAYS_PASS declared, void* request),                                                    \
      const int error = real.with_lists([&] { return needed; }, caller, BYTEWAYS_PASS passed, request); \
      if (call.ended(error) && takes_part) call.collective(bytes, comm, whole, request); return error;)
#define PERSISTENT(name, needed, takes_part, whole, declared, passed, bytes)                               \
  BYTEWAYS_ENTRY(name, (BYTEWAYS_PASS declared, Handle info, void* request),                               \
                 const int error =                                                                         \
                     real.with_lists([&] { return needed; }, caller, BYTEWAYS_PASS passed, info, request); \
                 if (call.ended(error) && takes_part) call.will_meet(bytes, comm, whole, request);         \
                 return error;)
#define NO_LISTS \
  Lists {}
#define LISTS(given, got) lists(given, got, comm)
#define ROOTED Call::takes_part(root)

#define BROADCAST(how, name, N, A)                                                              \
  how(name, NO_LISTS, ROOTED, false, (void* data, N count, Handle type, int root, Handle comm), \
      (data, count, type, root, comm), bytes_of(count, type))
#define REDUCE(how, name, N, A)                                                                      \
  how(name, NO_LISTS, ROOTED, false,                                                                 \
      (const void* from, void* into, N count, Handle type, Handle operation, int root, Handle comm), \
      (from, into, count, type, operation, root, comm), bytes_of(count, type))
#define REDUCE_ALL(how, name, N, A)                                                        \
  how(name, NO_LISTS, true, in_place(from),                                                \
      (const void* from, void* into, N count, Handle type, Handle operation, Handle comm), \
      (from, into, count, type, operation, comm), bytes_of(count, type))
#define REDUCE_BLOCKS(how, name, N, A)                                                     \
  how(name, NO_LISTS, true, in_place(from),                                                \
      (const void* from, void* into, N count, Handle type, Handle operation, Handle comm), \
      (from, into, count, type, operation, comm), bytes_of(count* number(Length::kOwn, comm), type))
#define REDUCE_SCATTER(how, name, N, A)                                                            \
  how(name, LISTS(Length::kNone, Length::kOwn), true, in_place(from),                              \
      (const void* from, void* into, const N* counts, Handle type, Handle operation, Handle comm), \
      (from, into, counts, type, operation, comm), blocks(counts, type, Length::kOwn, comm))
// Blocks are those of the group that gives them, or gets them: not the root's between two groups.
#define GATHER(how, name, N, A)                                                                              \
  how(name, NO_LISTS, ROOTED, false,                                                                         \
      (const void* from, N sent, Handle type, void* into, N count, Handle into_type, int root, Handle comm), \
      (from, sent, type, into, count, into_type, root, comm),                                                \
      Call::is_root(root, comm) ? bytes_of(count * number(Length::kNamed, comm), into_type)                  \
                                : bytes_of(sent * number(Length::kOwn, comm), type))
#define SCATTER(how, name, N, A)                                                                             \
  how(name, NO_LISTS, ROOTED, false,                                                                         \
      (const void* from, N sent, Handle type, void* into, N count, Handle into_type, int root, Handle comm), \
      (from, sent, type, into, count, into_type, root, comm),                                                \
      Call::is_root(root, comm) ? bytes_of(sent * number(Length::kNamed, comm), type)                        \
                                : bytes_of(count * number(Length::kOwn, comm), into_type))
#define GATHER_BLOCKS(how, name, N, A)                                                      \
  how(name, LISTS(Length::kNone, at_root(root, comm)), ROOTED, false,                       \
      (const void* from, N sent, Handle type, void* into, const N* counts, const A* places, \
       Handle into_type, int root, Handle comm),                                            \
      (from, sent, type, into, counts, places, into_type, root, comm),                      \
      Call::is_root(root, comm) ? blocks(counts, into_type, Length::kNamed, comm) : bytes_of(sent, type))
#define SCATTER_BLOCKS(how, name, N, A)                                                      \
  how(name, LISTS(at_root(root, comm), Length::kNone), ROOTED, false,                        \
      (const void* from, const N* counts, const A* places, Handle type, void* into, N count, \
       Handle into_type, int root, Handle comm),                                             \
      (from, counts, places, type, into, count, into_type, root, comm),                      \
      Call::is_root(root, comm) ? blocks(counts, type, Length::kNamed, comm) : bytes_of(count, into_type))
#define EXCHANGE(how, name, N, A)                                                                  \
  how(name, NO_LISTS, true, in_place(from),                                                        \
      (const void* from, N sent, Handle type, void* into, N count, Handle into_type, Handle comm), \
      (from, sent, type, into, count, into_type, comm),                                            \
      bytes_of(count* number(Length::kNamed, comm), into_type))
#define GATHER_ALL_BLOCKS(how, name, N, A)                                                  \
  how(name, LISTS(Length::kNone, Length::kNamed), true, false,                              \
      (const void* from, N sent, Handle type, void* into, const N* counts, const A* places, \
       Handle into_type, Handle comm),                                                      \
      (from, sent, type, into, counts, places, into_type, comm),                            \
      blocks(counts, into_type, Length::kNamed, comm))
#define EXCHANGE_BLOCKS(how, name, N, A)                                                           \
  how(name, LISTS(in_place(from) ? Length::kNone : Length::kNamed, Length::kNamed), true, false,   \
      (const void* from, const N* sent, const A* places, Handle type, void* into, const N* counts, \
       const A* into_places, Handle into_type, Handle comm),                                       \
      (from, sent, places, type, into, counts, into_places, into_type, comm),                      \
      in_place(from) ? blocks(counts, into_type, Length::kNamed, comm)                             \
                     : blocks(sent, type, Length::kNamed, comm))
#define EXCHANGE_TYPED(how, name, N, A)                                                                  \
  how(name, LISTS(in_place(from) ? Length::kNone : Length::kNamed, Length::kNamed), true, false,         \
      (const void* from, const N* sent, const A* places, const void* types, void* into, const N* counts, \
       const A* into_places, const void* into_types, Handle comm),                                       \
      (from, sent, places, types, into, counts, into_places, into_types, comm),                          \
      in_place(from) ? typed_blocks(counts, into_types, Length::kNamed, comm)                            \
                     : typed_blocks(sent, types, Length::kNamed, comm))
#define NEIGHBOUR_GATHER(how, name, N, A)                                                          \
  how(name, NO_LISTS, true, false,                                                                 \
      (const void* from, N sent, Handle type, void* into, N count, Handle into_type, Handle comm), \
      (from, sent, type, into, count, into_type, comm),                                            \
      bytes_of(count* number(Length::kSources, comm), into_type))
#define NEIGHBOUR_EXCHANGE(how, name, N, A)                                                        \
  how(name, NO_LISTS, true, false,                                                                 \
      (const void* from, N sent, Handle type, void* into, N count, Handle into_type, Handle comm), \
      (from, sent, type, into, count, into_type, comm),                                            \
      bytes_of(sent* number(Length::kDestinations, comm), type))
#define NEIGHBOUR_GATHER_BLOCKS(how, name, N, A)                                            \
  how(name, LISTS(Length::kNone, Length::kSources), true, false,                            \
      (const void* from, N sent, Handle type, void* into, const N* counts, const A* places, \
       Handle into_type, Handle comm),                                                      \
      (from, sent, type, into, counts, places, into_type, comm),                            \
      blocks(counts, into_type, Length::kSources, comm))
#define NEIGHBOUR_EXCHANGE_BLOCKS(how, name, N, A)                                                 \
  how(name, LISTS(Length::kDestinations, Length::kSources), true, false,                           \
      (const void* from, const N* sent, const A* places, Handle type, void* into, const N* counts, \
       const A* into_places, Handle into_type, Handle comm),                                       \
      (from, sent, places, type, into, counts, into_places, into_type, comm),                      \
      blocks(sent, type, Length::kDestinations, comm))
// Places are addresses in both functions, which nothing narrows.
#define NEIGHBOUR_EXCHANGE_TYPED(how, name, N, A)                                                           \
  how(name, LISTS(Length::kDestinations, Length::kSources), true, false,                                    \
      (const void* from, const N* sent, const void* places, const void* types, void* into, const N* counts, \
       const void* into_places, const void* into_types, Handle comm),                                       \
      (from, sent, places, types, into, counts, into_places, into_types, comm),                             \
      typed_blocks(sent, types, Length::kDestinations, comm))

// The three kinds of entries, with counts of both sizes.
#define ALL(what, name, low)                                                                                 \
  what(BLOCKING, name, int, int) what(NONBLOCKING, I##low, int, int) what(PERSISTENT, name##_init, int, int) \
      what(BLOCKING, name##_c, Count, Aint) what(NONBLOCKING, I##low##_c, Count, Aint)                       \
          what(PERSISTENT, name##_init_c, Count, Aint)

ALL(BROADCAST, Bcast, bcast)
ALL(REDUCE, Reduce, reduce)
ALL(REDUCE_ALL, Allreduce, allreduce)
ALL(REDUCE_ALL, Scan, scan)
ALL(REDUCE_ALL, Exscan, exscan)
ALL(REDUCE_BLOCKS, Reduce_scatter_block, reduce_scatter_block)
ALL(REDUCE_SCATTER, Reduce_scatter, reduce_scatter)
ALL(GATHER, Gather, gather)
ALL(GATHER_BLOCKS, Gatherv, gatherv)
ALL(SCATTER, Scatter, scatter)
ALL(SCATTER_BLOCKS, Scatterv, scatterv)
ALL(EXCHANGE, Allgather, allgather)
ALL(GATHER_ALL_BLOCKS, Allgatherv, allgatherv)
ALL(EXCHANGE, Alltoall, alltoall)
ALL(EXCHANGE_BLOCKS, Alltoallv, alltoallv)
ALL(EXCHANGE_TYPED, Alltoallw, alltoallw)
ALL(NEIGHBOUR_GATHER, Neighbor_allgather, neighbor_allgather)
ALL(NEIGHBOUR_GATHER_BLOCKS, Neighbor_allgatherv, neighbor_allgatherv)
ALL(NEIGHBOUR_EXCHANGE, Neighbor_alltoall, neighbor_alltoall)
ALL(NEIGHBOUR_EXCHANGE_BLOCKS, Neighbor_alltoallv, neighbor_alltoallv)
ALL(NEIGHBOUR_EXCHANGE_TYPED, Neighbor_alltoallw, neighbor_alltoallw)

BYTEWAYS_ENTRY(Barrier, (Handle comm), BYTEWAYS_DO((comm), call.met(comm)))
BYTEWAYS_ENTRY(Ibarrier, (Handle comm, void* request),
               BYTEWAYS_DO((comm, request), call.collective(0, comm, false, request)))
BYTEWAYS_ENTRY(Barrier_init, (Handle comm, Handle info, void* request),
               BYTEWAYS_DO((comm, info, request), call.will_meet(0, comm, false, request)))
