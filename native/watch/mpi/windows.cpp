// Entries of one-sided communication.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace
using byteways::watch::What;

#define MOVE(name, N, kind)                                                                                  \
  BYTEWAYS_ENTRY name(void* data, N count, Handle type, int rank, Aint at, N other_count, Handle other_type, \
                      Handle window) {                                                                       \
    BYTEWAYS_CALL(name, void*, N, Handle, int, Aint, N, Handle, Handle);                                     \
    const int error = real(caller, data, count, type, rank, at, other_count, other_type, window);            \
    if (call.ended(error)) call.one_sided(kind, count, type, rank, window);                                  \
    return error;                                                                                            \
  }
#define BEGIN_MOVE(name, N, kind)                                                                            \
  BYTEWAYS_ENTRY name(void* data, N count, Handle type, int rank, Aint at, N other_count, Handle other_type, \
                      Handle window, void* request) {                                                        \
    BYTEWAYS_CALL(name, void*, N, Handle, int, Aint, N, Handle, Handle, void*);                              \
    const int error = real(caller, data, count, type, rank, at, other_count, other_type, window, request);   \
    if (call.ended(error)) call.one_sided(kind, count, type, rank, window);                                  \
    return error;                                                                                            \
  }
#define ACCUMULATE(name, N)                                                                                  \
  BYTEWAYS_ENTRY name(const void* data, N count, Handle type, int rank, Aint at, N other_count,              \
                      Handle other_type, Handle operation, Handle window) {                                  \
    BYTEWAYS_CALL(name, const void*, N, Handle, int, Aint, N, Handle, Handle, Handle);                       \
    const int error = real(caller, data, count, type, rank, at, other_count, other_type, operation, window); \
    if (call.ended(error)) call.one_sided(What::kPut, count, type, rank, window);                            \
    return error;                                                                                            \
  }
#define BOTH(kind, name, ...) \
  kind(name, int __VA_OPT__(, ) __VA_ARGS__) kind(name##_c, Count __VA_OPT__(, ) __VA_ARGS__)

BOTH(MOVE, MPI_Put, What::kPut)
BOTH(MOVE, MPI_Get, What::kGet)
BOTH(BEGIN_MOVE, MPI_Rput, What::kPut)
BOTH(BEGIN_MOVE, MPI_Rget, What::kGet)
BOTH(ACCUMULATE, MPI_Accumulate)

#define SYNCHRONISE(name, types, declared, passed) \
  BYTEWAYS_ENTRY name declared {                   \
    BYTEWAYS_CALL(name, BYTEWAYS_PASS types);      \
    const int error = real(BYTEWAYS_PASS passed);  \
    if (call.ended(error)) call.waited();          \
    return error;                                  \
  }
#define BYTEWAYS_PASS(...) __VA_ARGS__
#define OF_RANK(name) SYNCHRONISE(name, (int, Handle), (int rank, Handle window), (caller, rank, window))
#define OF_WINDOW(name) SYNCHRONISE(name, (Handle), (Handle window), (caller, window))

SYNCHRONISE(MPI_Win_fence, (int, Handle), (int assertions, Handle window), (caller, assertions, window))
SYNCHRONISE(MPI_Win_lock, (int, int, int, Handle), (int kind, int rank, int assertions, Handle window),
            (caller, kind, rank, assertions, window))
SYNCHRONISE(MPI_Win_lock_all, (int, Handle), (int assertions, Handle window), (caller, assertions, window))
OF_RANK(MPI_Win_unlock)
OF_RANK(MPI_Win_flush)
OF_RANK(MPI_Win_flush_local)
OF_WINDOW(MPI_Win_unlock_all)
OF_WINDOW(MPI_Win_flush_all)
OF_WINDOW(MPI_Win_flush_local_all)
OF_WINDOW(MPI_Win_complete)
OF_WINDOW(MPI_Win_wait)
SYNCHRONISE(MPI_Win_start, (Handle, int, Handle), (Handle group, int assertions, Handle window),
            (caller, group, assertions, window))

// The handle may become another window's.
BYTEWAYS_ENTRY MPI_Win_free(Handle* window) {
  BYTEWAYS_CALL(MPI_Win_free, Handle*);
  forget_window(handle_at(window));
  return real(caller, window);
}
