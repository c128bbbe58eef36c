// Entries of collectives. Bytes are those of the data of each rank, or of all blocks together where blocks
// are exchanged, as the size of a collective is defined in suites; of blocks of different sizes, those that
// this rank's arguments name.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace

namespace {

std::int64_t ranks_of(Handle comm) { return members_of(comm).count; }

template <class N>
std::int64_t sum(const N* counts, Handle comm) {
  std::int64_t total = 0;
  for (std::int64_t rank = 0; rank < ranks_of(comm); ++rank) total += counts[rank];
  return total;
}

template <class N>
std::int64_t blocks(const N* counts, Handle type, Handle comm) {
  return bytes_of(sum(counts, comm), type);
}

}  // namespace

#define BYTEWAYS_PASS(...) __VA_ARGS__
// An entry and its nonblocking twin, which has a request behind its arguments.
#define COLLECTIVE(name, low, inner, whole, types, declared, passed, bytes)         \
  BYTEWAYS_ENTRY MPI_##name(BYTEWAYS_PASS declared) {                               \
    BYTEWAYS_CALL(MPI_##name, BYTEWAYS_PASS types);                                 \
    const int error = real(caller, BYTEWAYS_PASS passed);                           \
    if (call.ended(error) BYTEWAYS_PASS inner) call.collective(bytes, comm, whole); \
    return error;                                                                   \
  }                                                                                 \
  BYTEWAYS_ENTRY MPI_I##low(BYTEWAYS_PASS declared, void* request) {                \
    BYTEWAYS_CALL(MPI_I##low, BYTEWAYS_PASS types, void*);                          \
    const int error = real(caller, BYTEWAYS_PASS passed, request);                  \
    if (call.ended(error) BYTEWAYS_PASS inner) call.collective(bytes, comm, whole); \
    return error;                                                                   \
  }
#define ALWAYS ()
// Whether the result takes the place of what a rank gives, where suites measure that, too.
#define IN_PLACE in_place(from)
#define OUT_OF_PLACE false
// A rank of the other group, of which the arguments say nothing, takes no part.
#define ROOTED (&&Call::takes_part(root))

#define BROADCAST(name, low, N)                                                                          \
  COLLECTIVE(name, low, ROOTED, OUT_OF_PLACE, (void*, N, Handle, int, Handle),                           \
             (void* data, N count, Handle type, int root, Handle comm), (data, count, type, root, comm), \
             bytes_of(count, type))
#define REDUCE(name, low, N)                                                                                \
  COLLECTIVE(name, low, ROOTED, OUT_OF_PLACE, (const void*, void*, N, Handle, Handle, int, Handle),         \
             (const void* from, void* into, N count, Handle type, Handle operation, int root, Handle comm), \
             (from, into, count, type, operation, root, comm), bytes_of(count, type))
#define REDUCE_ALL(name, low, N)                                                                  \
  COLLECTIVE(name, low, ALWAYS, IN_PLACE, (const void*, void*, N, Handle, Handle, Handle),        \
             (const void* from, void* into, N count, Handle type, Handle operation, Handle comm), \
             (from, into, count, type, operation, comm), bytes_of(count, type))
#define REDUCE_BLOCKS(name, low, N)                                                               \
  COLLECTIVE(name, low, ALWAYS, IN_PLACE, (const void*, void*, N, Handle, Handle, Handle),        \
             (const void* from, void* into, N count, Handle type, Handle operation, Handle comm), \
             (from, into, count, type, operation, comm), bytes_of(count* ranks_of(comm), type))
#define REDUCE_SCATTER(name, low, N)                                                                      \
  COLLECTIVE(name, low, ALWAYS, IN_PLACE, (const void*, void*, const N*, Handle, Handle, Handle),         \
             (const void* from, void* into, const N* counts, Handle type, Handle operation, Handle comm), \
             (from, into, counts, type, operation, comm), blocks(counts, type, comm))
#define GATHER(name, low, N)                                                                                 \
  COLLECTIVE(                                                                                                \
      name, low, ROOTED, OUT_OF_PLACE, (const void*, N, Handle, void*, N, Handle, int, Handle),              \
      (const void* from, N sent, Handle type, void* into, N count, Handle into_type, int root, Handle comm), \
      (from, sent, type, into, count, into_type, root, comm),                                                \
      Call::is_root(root, comm) ? bytes_of(count * ranks_of(comm), into_type)                                \
                                : bytes_of(sent * ranks_of(comm), type))
#define GATHER_BLOCKS(name, low, N, A)                                                             \
  COLLECTIVE(name, low, ROOTED, OUT_OF_PLACE,                                                      \
             (const void*, N, Handle, void*, const N*, const A*, Handle, int, Handle),             \
             (const void* from, N sent, Handle type, void* into, const N* counts, const A* places, \
              Handle into_type, int root, Handle comm),                                            \
             (from, sent, type, into, counts, places, into_type, root, comm),                      \
             Call::is_root(root, comm) ? blocks(counts, into_type, comm) : bytes_of(sent, type))
#define SCATTER(name, low, N)                                                                                \
  COLLECTIVE(                                                                                                \
      name, low, ROOTED, OUT_OF_PLACE, (const void*, N, Handle, void*, N, Handle, int, Handle),              \
      (const void* from, N sent, Handle type, void* into, N count, Handle into_type, int root, Handle comm), \
      (from, sent, type, into, count, into_type, root, comm),                                                \
      Call::is_root(root, comm) ? bytes_of(sent * ranks_of(comm), type)                                      \
                                : bytes_of(count * ranks_of(comm), into_type))
#define SCATTER_BLOCKS(name, low, N, A)                                                             \
  COLLECTIVE(name, low, ROOTED, OUT_OF_PLACE,                                                       \
             (const void*, const N*, const A*, Handle, void*, N, Handle, int, Handle),              \
             (const void* from, const N* counts, const A* places, Handle type, void* into, N count, \
              Handle into_type, int root, Handle comm),                                             \
             (from, counts, places, type, into, count, into_type, root, comm),                      \
             Call::is_root(root, comm) ? blocks(counts, type, comm) : bytes_of(count, into_type))
#define EXCHANGE(name, low, N)                                                                            \
  COLLECTIVE(name, low, ALWAYS, IN_PLACE, (const void*, N, Handle, void*, N, Handle, Handle),             \
             (const void* from, N sent, Handle type, void* into, N count, Handle into_type, Handle comm), \
             (from, sent, type, into, count, into_type, comm), bytes_of(count* ranks_of(comm), into_type))
#define GATHER_ALL_BLOCKS(name, low, N, A)                                                         \
  COLLECTIVE(name, low, ALWAYS, OUT_OF_PLACE,                                                      \
             (const void*, N, Handle, void*, const N*, const A*, Handle, Handle),                  \
             (const void* from, N sent, Handle type, void* into, const N* counts, const A* places, \
              Handle into_type, Handle comm),                                                      \
             (from, sent, type, into, counts, places, into_type, comm), blocks(counts, into_type, comm))
#define EXCHANGE_BLOCKS(name, low, N, A)                                                                  \
  COLLECTIVE(name, low, ALWAYS, OUT_OF_PLACE,                                                             \
             (const void*, const N*, const A*, Handle, void*, const N*, const A*, Handle, Handle),        \
             (const void* from, const N* sent, const A* places, Handle type, void* into, const N* counts, \
              const A* into_places, Handle into_type, Handle comm),                                       \
             (from, sent, places, type, into, counts, into_places, into_type, comm),                      \
             in_place(from) ? blocks(counts, into_type, comm) : blocks(sent, type, comm))

#define BOTH(kind, name, low) kind(name, low, int) kind(name##_c, low##_c, Count)
#define BOTH_WITH_PLACES(kind, name, low) kind(name, low, int, int) kind(name##_c, low##_c, Count, Aint)

BOTH(BROADCAST, Bcast, bcast)
BOTH(REDUCE, Reduce, reduce)
BOTH(REDUCE_ALL, Allreduce, allreduce)
BOTH(REDUCE_ALL, Scan, scan)
BOTH(REDUCE_ALL, Exscan, exscan)
BOTH(REDUCE_BLOCKS, Reduce_scatter_block, reduce_scatter_block)
BOTH(REDUCE_SCATTER, Reduce_scatter, reduce_scatter)
BOTH(GATHER, Gather, gather)
BOTH_WITH_PLACES(GATHER_BLOCKS, Gatherv, gatherv)
BOTH(SCATTER, Scatter, scatter)
BOTH_WITH_PLACES(SCATTER_BLOCKS, Scatterv, scatterv)
BOTH(EXCHANGE, Allgather, allgather)
BOTH_WITH_PLACES(GATHER_ALL_BLOCKS, Allgatherv, allgatherv)
BOTH(EXCHANGE, Alltoall, alltoall)
BOTH_WITH_PLACES(EXCHANGE_BLOCKS, Alltoallv, alltoallv)

BYTEWAYS_ENTRY MPI_Barrier(Handle comm) {
  BYTEWAYS_CALL(MPI_Barrier, Handle);
  const int error = real(caller, comm);
  if (call.ended(error)) call.met(comm);
  return error;
}

BYTEWAYS_ENTRY MPI_Ibarrier(Handle comm, void* request) {
  BYTEWAYS_CALL(MPI_Ibarrier, Handle, void*);
  const int error = real(caller, comm, request);
  if (call.ended(error)) call.collective(0, comm);
  return error;
}
