// Entries of messages between two ranks.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace

#define SEND(name, N)                                                                          \
  BYTEWAYS_ENTRY(name, (const void* data, N count, Handle type, int to, int tag, Handle comm), \
                 BYTEWAYS_DO((data, count, type, to, tag, comm), call.sent(count, type, to, comm)))
#define BEGIN_SEND(name, N)                                                                             \
  BYTEWAYS_ENTRY(name,                                                                                  \
                 (const void* data, N count, Handle type, int to, int tag, Handle comm, void* request), \
                 BYTEWAYS_DO((data, count, type, to, tag, comm, request), call.sent(count, type, to, comm)))
#define PREPARE_SEND(name, N)                                                                           \
  BYTEWAYS_ENTRY(name,                                                                                  \
                 (const void* data, N count, Handle type, int to, int tag, Handle comm, void* request), \
                 BYTEWAYS_DO((data, count, type, to, tag, comm, request),                               \
                             call.will_send(count, type, to, comm, request)))
#define RECEIVE(name, N)                                                                                 \
  BYTEWAYS_ENTRY(name, (void* data, N count, Handle type, int from, int tag, Handle comm, void* status), \
                 Status into(status);                                                                    \
                 BYTEWAYS_DO((data, count, type, from, tag, comm, into.place()),                         \
                             call.received(count, type, from, comm, into.read())))
#define BEGIN_RECEIVE(name, N)                                                                            \
  BYTEWAYS_ENTRY(name, (void* data, N count, Handle type, int from, int tag, Handle comm, void* request), \
                 BYTEWAYS_DO((data, count, type, from, tag, comm, request),                               \
                             call.will_receive(count, type, from, comm, request)))
#define PREPARE_RECEIVE(name, N)                                                                          \
  BYTEWAYS_ENTRY(name, (void* data, N count, Handle type, int from, int tag, Handle comm, void* request), \
                 BYTEWAYS_DO((data, count, type, from, tag, comm, request),                               \
                             call.will_receive_often(count, type, from, comm, request)))
// Of a message that a matched probe has found: its sender is a rank of a communicator that the call does not
// name.
#define RECEIVE_MATCHED(name, N)                                                                             \
  BYTEWAYS_ENTRY(name, (void* data, N count, Handle type, void* message, void* status), Status into(status); \
                 BYTEWAYS_DO((data, count, type, message, into.place()),                                     \
                             call.received(count, type, 0, abi()->no_comm, into.read())))
#define BEGIN_RECEIVE_MATCHED(name, N)                                                   \
  BYTEWAYS_ENTRY(name, (void* data, N count, Handle type, void* message, void* request), \
                 BYTEWAYS_DO((data, count, type, message, request),                      \
                             call.will_receive(count, type, 0, abi()->no_comm, request)))
#define EXCHANGE(name, N)                                                                                   \
  BYTEWAYS_ENTRY(name,                                                                                      \
                 (const void* data, N count, Handle type, int to, int tag, void* buffer, N room,            \
                  Handle buffer_type, int from, int other_tag, Handle comm, void* status),                  \
                 Status into(status);                                                                       \
                 BYTEWAYS_DO((data, count, type, to, tag, buffer, room, buffer_type, from, other_tag, comm, \
                              into.place()),                                                                \
                             call.sent(count, type, to, comm, Detail::kSent);                               \
                             call.received(room, buffer_type, from, comm, into.read(), Detail::kReceived)))
#define REPLACE(name, N)                                                                                   \
  BYTEWAYS_ENTRY(name,                                                                                     \
                 (void* data, N count, Handle type, int to, int tag, int from, int other_tag, Handle comm, \
                  void* status),                                                                           \
                 Status into(status);                                                                      \
                 BYTEWAYS_DO((data, count, type, to, tag, from, other_tag, comm, into.place()),            \
                             call.sent(count, type, to, comm, Detail::kSent);                              \
                             call.received(count, type, from, comm, into.read(), Detail::kReceived)))
#define BEGIN_EXCHANGE(name, N)                                                                            \
  BYTEWAYS_ENTRY(                                                                                          \
      name,                                                                                                \
      (const void* data, N count, Handle type, int to, int tag, void* buffer, N room, Handle buffer_type,  \
       int from, int other_tag, Handle comm, void* request),                                               \
      BYTEWAYS_DO((data, count, type, to, tag, buffer, room, buffer_type, from, other_tag, comm, request), \
                  call.sent(count, type, to, comm, Detail::kSent);                                         \
                  call.received_unseen(room, buffer_type, from, comm)))
#define BEGIN_REPLACE(name, N)                                                                             \
  BYTEWAYS_ENTRY(name,                                                                                     \
                 (void* data, N count, Handle type, int to, int tag, int from, int other_tag, Handle comm, \
                  void* request),                                                                          \
                 BYTEWAYS_DO((data, count, type, to, tag, from, other_tag, comm, request),                 \
                             call.sent(count, type, to, comm, Detail::kSent);                              \
                             call.received_unseen(count, type, from, comm)))
#define BOTH(kind, name) kind(name, int) kind(name##_c, Count)

BOTH(SEND, Send)
BOTH(SEND, Ssend)
BOTH(SEND, Bsend)
BOTH(SEND, Rsend)
BOTH(BEGIN_SEND, Isend)
BOTH(BEGIN_SEND, Issend)
BOTH(BEGIN_SEND, Ibsend)
BOTH(BEGIN_SEND, Irsend)
BOTH(PREPARE_SEND, Send_init)
BOTH(PREPARE_SEND, Ssend_init)
BOTH(PREPARE_SEND, Bsend_init)
BOTH(PREPARE_SEND, Rsend_init)
BOTH(RECEIVE, Recv)
BOTH(BEGIN_RECEIVE, Irecv)
BOTH(PREPARE_RECEIVE, Recv_init)
BOTH(RECEIVE_MATCHED, Mrecv)
BOTH(BEGIN_RECEIVE_MATCHED, Imrecv)
BOTH(EXCHANGE, Sendrecv)
BOTH(REPLACE, Sendrecv_replace)
BOTH(BEGIN_EXCHANGE, Isendrecv)
BOTH(BEGIN_REPLACE, Isendrecv_replace)

// Messages in parts: each start moves all of them, in both directions as many bytes.
#define PREPARE_PARTS(name, data_type, what)                                                          \
  BYTEWAYS_ENTRY(name,                                                                                \
                 (data_type data, int parts, Aint count, Handle type, int rank, int tag, Handle comm, \
                  Handle info, void* request),                                                        \
                 BYTEWAYS_DO((data, parts, count, type, rank, tag, comm, info, request),              \
                             call.what(parts* count, type, rank, comm, request)))
PREPARE_PARTS(Psend_init, const void*, will_send)
PREPARE_PARTS(Precv_init, void*, will_receive_parts)

BYTEWAYS_ENTRY(Pready, (int part, Handle request),
               BYTEWAYS_DO((part, request), call.made(byteways::watch::What::kSynchronisation)))
BYTEWAYS_ENTRY(Pready_range, (int first, int last, Handle request),
               BYTEWAYS_DO((first, last, request), call.made(byteways::watch::What::kSynchronisation)))
BYTEWAYS_ENTRY(Pready_list, (int count, const int* parts, Handle request),
               BYTEWAYS_DO((count, parts, request), call.made(byteways::watch::What::kSynchronisation)))

BYTEWAYS_ENTRY(Start, (void* request), BYTEWAYS_DO((request), call.started(handle_at(request))))
BYTEWAYS_ENTRY(Startall, (int count, void* requests),
               BYTEWAYS_DO((count, requests),
                           for (int at = 0; at < count; ++at)
                               call.started(handle_at(requests, static_cast<std::size_t>(at)))))

// Forgotten before: the library may give the handle to another request of another thread at once.
BYTEWAYS_ENTRY(Request_free, (void* request), Request dropped;
               const bool known = call.is_counted() && forget_request(handle_at(request), dropped);
               BYTEWAYS_DO((request), if (known) call.freed(dropped)))
