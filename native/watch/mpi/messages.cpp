// Entries of messages between two ranks.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace

#define SEND(name, N)                                                                         \
  BYTEWAYS_ENTRY name(const void* data, N count, Handle type, int to, int tag, Handle comm) { \
    BYTEWAYS_CALL(name, const void*, N, Handle, int, int, Handle);                            \
    const int error = real(caller, data, count, type, to, tag, comm);                         \
    if (call.ended(error)) call.sent(count, type, to, comm);                                  \
    return error;                                                                             \
  }
#define BEGIN_SEND(name, N)                                                                                  \
  BYTEWAYS_ENTRY name(const void* data, N count, Handle type, int to, int tag, Handle comm, void* request) { \
    BYTEWAYS_CALL(name, const void*, N, Handle, int, int, Handle, void*);                                    \
    const int error = real(caller, data, count, type, to, tag, comm, request);                               \
    if (call.ended(error)) call.sent(count, type, to, comm);                                                 \
    return error;                                                                                            \
  }
#define RECEIVE(name, N)                                                                                \
  BYTEWAYS_ENTRY name(void* data, N count, Handle type, int from, int tag, Handle comm, void* status) { \
    BYTEWAYS_CALL(name, void*, N, Handle, int, int, Handle, void*);                                     \
    Status into(status);                                                                                \
    const int error = real(caller, data, count, type, from, tag, comm, into.place());                   \
    if (call.ended(error)) call.received(count, type, from, comm, into.read());                         \
    return error;                                                                                       \
  }
#define BEGIN_RECEIVE(name, N)                                                                           \
  BYTEWAYS_ENTRY name(void* data, N count, Handle type, int from, int tag, Handle comm, void* request) { \
    BYTEWAYS_CALL(name, void*, N, Handle, int, int, Handle, void*);                                      \
    const int error = real(caller, data, count, type, from, tag, comm, request);                         \
    if (call.ended(error)) call.will_receive(count, type, from, comm);                                   \
    return error;                                                                                        \
  }
// Of a message that a matched probe has found: its sender is a rank of a communicator that the call does not
// name.
#define RECEIVE_MATCHED(name, N)                                                       \
  BYTEWAYS_ENTRY name(void* data, N count, Handle type, void* message, void* status) { \
    BYTEWAYS_CALL(name, void*, N, Handle, void*, void*);                               \
    Status into(status);                                                               \
    const int error = real(caller, data, count, type, message, into.place());          \
    if (call.ended(error)) call.received(count, type, 0, abi()->no_comm, into.read()); \
    return error;                                                                      \
  }
#define BEGIN_RECEIVE_MATCHED(name, N)                                                  \
  BYTEWAYS_ENTRY name(void* data, N count, Handle type, void* message, void* request) { \
    BYTEWAYS_CALL(name, void*, N, Handle, void*, void*);                                \
    const int error = real(caller, data, count, type, message, request);                \
    if (call.ended(error)) call.will_receive(count, type, 0, abi()->no_comm);           \
    return error;                                                                       \
  }
#define EXCHANGE(name, N)                                                                                  \
  BYTEWAYS_ENTRY name(const void* data, N count, Handle type, int to, int tag, void* buffer, N room,       \
                      Handle buffer_type, int from, int other_tag, Handle comm, void* status) {            \
    BYTEWAYS_CALL(name, const void*, N, Handle, int, int, void*, N, Handle, int, int, Handle, void*);      \
    Status into(status);                                                                                   \
    const int error = real(caller, data, count, type, to, tag, buffer, room, buffer_type, from, other_tag, \
                           comm, into.place());                                                            \
    if (call.ended(error)) {                                                                               \
      call.sent(count, type, to, comm);                                                                    \
      call.received(room, buffer_type, from, comm, into.read());                                           \
    }                                                                                                      \
    return error;                                                                                          \
  }
#define REPLACE(name, N)                                                                             \
  BYTEWAYS_ENTRY name(void* data, N count, Handle type, int to, int tag, int from, int other_tag,    \
                      Handle comm, void* status) {                                                   \
    BYTEWAYS_CALL(name, void*, N, Handle, int, int, int, int, Handle, void*);                        \
    Status into(status);                                                                             \
    const int error = real(caller, data, count, type, to, tag, from, other_tag, comm, into.place()); \
    if (call.ended(error)) {                                                                         \
      call.sent(count, type, to, comm);                                                              \
      call.received(count, type, from, comm, into.read());                                           \
    }                                                                                                \
    return error;                                                                                    \
  }
#define BOTH(kind, name) kind(name, int) kind(name##_c, Count)

BOTH(SEND, MPI_Send)
BOTH(SEND, MPI_Ssend)
BOTH(SEND, MPI_Bsend)
BOTH(SEND, MPI_Rsend)
BOTH(BEGIN_SEND, MPI_Isend)
BOTH(BEGIN_SEND, MPI_Issend)
BOTH(BEGIN_SEND, MPI_Ibsend)
BOTH(BEGIN_SEND, MPI_Irsend)
BOTH(RECEIVE, MPI_Recv)
BOTH(BEGIN_RECEIVE, MPI_Irecv)
BOTH(RECEIVE_MATCHED, MPI_Mrecv)
BOTH(BEGIN_RECEIVE_MATCHED, MPI_Imrecv)
BOTH(EXCHANGE, MPI_Sendrecv)
BOTH(REPLACE, MPI_Sendrecv_replace)
