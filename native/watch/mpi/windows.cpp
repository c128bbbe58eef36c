// Entries of one-sided communication. Operations that bring something back count as what they bring.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace
using byteways::watch::What;

#define MOVE(name, N, kind)                                                                              \
  BYTEWAYS_ENTRY(name,                                                                                   \
                 (void* data, N count, Handle type, int rank, Aint at, N other_count, Handle other_type, \
                  Handle window),                                                                        \
                 BYTEWAYS_DO((data, count, type, rank, at, other_count, other_type, window),             \
                             call.one_sided(kind, count, type, rank, window)))
#define BEGIN_MOVE(name, N, kind)                                                                        \
  BYTEWAYS_ENTRY(name,                                                                                   \
                 (void* data, N count, Handle type, int rank, Aint at, N other_count, Handle other_type, \
                  Handle window, void* request),                                                         \
                 BYTEWAYS_DO((data, count, type, rank, at, other_count, other_type, window, request),    \
                             call.one_sided(kind, count, type, rank, window, request)))
#define ACCUMULATE(name, N)                                                                             \
  BYTEWAYS_ENTRY(name,                                                                                  \
                 (const void* data, N count, Handle type, int rank, Aint at, N other_count,             \
                  Handle other_type, Handle operation, Handle window),                                  \
                 BYTEWAYS_DO((data, count, type, rank, at, other_count, other_type, operation, window), \
                             call.one_sided(What::kPut, count, type, rank, window)))
#define BEGIN_ACCUMULATE(name, N)                                                                     \
  BYTEWAYS_ENTRY(                                                                                     \
      name,                                                                                           \
      (const void* data, N count, Handle type, int rank, Aint at, N other_count, Handle other_type,   \
       Handle operation, Handle window, void* request),                                               \
      BYTEWAYS_DO((data, count, type, rank, at, other_count, other_type, operation, window, request), \
                  call.one_sided(What::kPut, count, type, rank, window, request)))
#define FETCH_MANY(name, N)                                                                                \
  BYTEWAYS_ENTRY(name,                                                                                     \
                 (const void* data, N count, Handle type, void* into, N room, Handle into_type, int rank,  \
                  Aint at, N other_count, Handle other_type, Handle operation, Handle window),             \
                 BYTEWAYS_DO((data, count, type, into, room, into_type, rank, at, other_count, other_type, \
                              operation, window),                                                          \
                             call.one_sided(What::kGet, room, into_type, rank, window)))
#define BEGIN_FETCH_MANY(name, N)                                                                          \
  BYTEWAYS_ENTRY(                                                                                          \
      name,                                                                                                \
      (const void* data, N count, Handle type, void* into, N room, Handle into_type, int rank, Aint at,    \
       N other_count, Handle other_type, Handle operation, Handle window, void* request),                  \
      BYTEWAYS_DO((data, count, type, into, room, into_type, rank, at, other_count, other_type, operation, \
                   window, request),                                                                       \
                  call.one_sided(What::kGet, room, into_type, rank, window, request)))
#define BOTH(kind, name, ...) \
  kind(name, int __VA_OPT__(, ) __VA_ARGS__) kind(name##_c, Count __VA_OPT__(, ) __VA_ARGS__)

BOTH(MOVE, Put, What::kPut)
BOTH(MOVE, Get, What::kGet)
BOTH(BEGIN_MOVE, Rput, What::kPut)
BOTH(BEGIN_MOVE, Rget, What::kGet)
BOTH(ACCUMULATE, Accumulate)
BOTH(BEGIN_ACCUMULATE, Raccumulate)
BOTH(FETCH_MANY, Get_accumulate)
BOTH(BEGIN_FETCH_MANY, Rget_accumulate)

BYTEWAYS_ENTRY(Fetch_and_op,
               (const void* data, void* into, Handle type, int rank, Aint at, Handle operation,
                Handle window),
               BYTEWAYS_DO((data, into, type, rank, at, operation, window),
                           call.one_sided(What::kGet, 1, type, rank, window)))
BYTEWAYS_ENTRY(Compare_and_swap,
               (const void* data, const void* compared, void* into, Handle type, int rank, Aint at,
                Handle window),
               BYTEWAYS_DO((data, compared, into, type, rank, at, window),
                           call.one_sided(What::kGet, 1, type, rank, window)))

#define SYNCHRONISE(name, declared, passed) BYTEWAYS_ENTRY(name, declared, BYTEWAYS_DO(passed, call.waited()))
#define OF_RANK(name) SYNCHRONISE(name, (int rank, Handle window), (rank, window))
#define OF_WINDOW(name) SYNCHRONISE(name, (Handle window), (window))
#define OF_GROUP(name) \
  SYNCHRONISE(name, (Handle group, int assertions, Handle window), (group, assertions, window))

SYNCHRONISE(Win_fence, (int assertions, Handle window), (assertions, window))
SYNCHRONISE(Win_lock, (int kind, int rank, int assertions, Handle window), (kind, rank, assertions, window))
SYNCHRONISE(Win_lock_all, (int assertions, Handle window), (assertions, window))
SYNCHRONISE(Win_test, (Handle window, int* flag), (window, flag))
OF_RANK(Win_unlock)
OF_RANK(Win_flush)
OF_RANK(Win_flush_local)
OF_WINDOW(Win_unlock_all)
OF_WINDOW(Win_flush_all)
OF_WINDOW(Win_flush_local_all)
OF_WINDOW(Win_complete)
OF_WINDOW(Win_wait)
OF_GROUP(Win_start)
OF_GROUP(Win_post)

// The handle may become another window's.
BYTEWAYS_ENTRY(Win_free, (Handle * window), if (call.is_counted()) forget_window(handle_at(window));
               return real(caller, window);)
