/* Counts the MPI calls of a program, as plainly as MPI's profiling interface allows: what `byteways watch`
 * says is compared with it. Built by any mpicc, for this MPI alone:
 *
 *   mpicc -shared -fPIC -O1 -o libpmpi_counter.so pmpi_counter.c
 *   PMPI_COUNTER=/tmp/counts mpiexec -n 4 env LD_PRELOAD=$PWD/libpmpi_counter.so ./program
 *
 * MPI_Finalize writes /tmp/counts.RANK: a line `function calls bytes` for each function. Rules, which are
 * those of the watch as its guide has them, written here once more from the standard:
 *
 * - A message is of the sender at its call, of a receiver when it has arrived, with the bytes that arrived.
 * Receives that were cancelled, and messages to or from MPI_PROC_NULL, do not count.
 * - MPI_Sendrecv is its send; `MPI_Sendrecv:receive` is its receive.
 * - A persistent request counts at each start, under the name of the function that made it.
 * - Bytes of a collective: the data of a rank, or all blocks together; of lists what this rank's arguments
 * name.
 * - MPI_Isendrecv receives what it has room for: MPICH writes no status for it.
 * - A receive whose request is freed has brought what it has room for: when it arrives nobody sees.
 * - Calls that MPI makes inside of its own functions do not count.
 *
 * Both names of a function are counted, MPI_Send and PMPI_Send: a binding of Fortran calls the second. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_MPI_4 1
#else
#define HAS_MPI_4 0
#endif
#define HAS_LARGE (MPI_VERSION >= 4 && !defined(OMPI_MAJOR_VERSION))

typedef long long Long;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside; /* of a function of MPI */

/* ---- What was counted ---- */

static struct Row {
  char name[64];
  Long calls, bytes;
} rows[512];

static void add(const char* name, Long bytes) {
  pthread_mutex_lock(&lock);
  for (int at = 0; at < 512; ++at) {
    if (rows[at].name[0] == 0) snprintf(rows[at].name, sizeof rows[at].name, "%s", name);
    if (strcmp(rows[at].name, name) != 0) continue;
    rows[at].calls += 1;
    rows[at].bytes += bytes;
    break;
  }
  pthread_mutex_unlock(&lock);
}

static void write_rows(void) {
  const char* base = getenv("PMPI_COUNTER");
  int rank;
  char path[4096];
  if (base == NULL) return;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s.%d", base, rank);
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  for (int at = 0; at < 512 && rows[at].name[0]; ++at)
    fprintf(file, "%s %lld %lld\n", rows[at].name, rows[at].calls, rows[at].bytes);
  fclose(file);
}

/* ---- Whether a call comes from MPI's own library, as those of its files do ---- */

static char *library, *library_end;

static int note_library(struct dl_phdr_info* one, size_t size, void* data) {
  (void)size;
  if ((char*)one->dlpi_addr != (char*)data) return 0;
  library_end = data;
  for (int at = 0; at < one->dlpi_phnum; ++at) {
    char* end = (char*)data + one->dlpi_phdr[at].p_vaddr + one->dlpi_phdr[at].p_memsz;
    if (one->dlpi_phdr[at].p_type == PT_LOAD && end > library_end) library_end = end;
  }
  library = data;
  return 1;
}

static int is_of_library(void* caller) {
  Dl_info found;
  if (library == NULL && dladdr(dlsym(RTLD_NEXT, "PMPI_Finalize"), &found) != 0)
    dl_iterate_phdr(note_library, found.dli_fbase);
  return (char*)caller >= library && (char*)caller < library_end;
}

/* ---- Requests whose end, or whose start, counts ---- */

enum Kind { RECEIVE, START, RECEIVE_AT_START };
static struct Made {
  struct Made* next;
  MPI_Request request;
  enum Kind kind;
  int persistent, active;
  char name[64];
  Long bytes;
}* made;

static void remember(MPI_Request request, enum Kind kind, const char* name, Long bytes) {
  struct Made* one = calloc(1, sizeof *one);
  one->request = request;
  one->kind = kind;
  one->persistent = kind != RECEIVE;
  one->active = kind == RECEIVE;
  one->bytes = bytes;
  snprintf(one->name, sizeof one->name, "%s", name);
  pthread_mutex_lock(&lock);
  one->next = made;
  made = one;
  pthread_mutex_unlock(&lock);
}

static struct Made* find(MPI_Request request) {
  struct Made* one;
  pthread_mutex_lock(&lock);
  for (one = made; one != NULL && one->request != request; one = one->next) {
  }
  pthread_mutex_unlock(&lock);
  return one;
}

static void drop(struct Made* dropped) {
  pthread_mutex_lock(&lock);
  for (struct Made** at = &made; *at != NULL; at = &(*at)->next)
    if (*at == dropped) {
      *at = dropped->next;
      break;
    }
  pthread_mutex_unlock(&lock);
  free(dropped);
}

static Long arrived(MPI_Status* status) {
  int bytes = 0;
  PMPI_Get_count(status, MPI_BYTE, &bytes);
  return bytes;
}

static void finished(MPI_Request request, MPI_Status* status) {
  struct Made* one = find(request);
  int cancelled = 0;
  if (one == NULL || one->kind == START || !one->active) return;
  PMPI_Test_cancelled(status, &cancelled);
  if (!cancelled && status->MPI_SOURCE != MPI_PROC_NULL) add(one->name, arrived(status));
  one->active = 0;
  if (!one->persistent) drop(one);
}

static void started(MPI_Request request) {
  struct Made* one = find(request);
  if (one == NULL) return;
  if (one->kind == START) add(one->name, one->bytes);
  one->active = 1;
}

/* ---- What arguments mean ---- */

static Long bytes_of(Long count, MPI_Datatype type) {
  MPI_Count size = 0;
  if (count <= 0) return 0;
  PMPI_Type_size_x(type, &size);
  return count * size;
}

static int group_size(MPI_Comm comm, int remote) {
  int size, inter;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter && remote)
    PMPI_Comm_remote_size(comm, &size);
  else
    PMPI_Comm_size(comm, &size);
  return size;
}
#define NAMED(comm) group_size(comm, 1) /* ranks that a rank names: of the other group, if there is one */
#define OWN(comm) group_size(comm, 0)

static int at_root(int root, MPI_Comm comm) {
  int rank, inter;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_rank(comm, &rank);
  return inter ? root == MPI_ROOT : root == rank;
}

static int neighbours(MPI_Comm comm, int out) {
  int topology, sources = 0, destinations = 0, weighted, rank;
  PMPI_Topo_test(comm, &topology);
  if (topology == MPI_CART) {
    PMPI_Cartdim_get(comm, &sources);
    return 2 * sources;
  }
  if (topology == MPI_GRAPH) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Graph_neighbors_count(comm, rank, &sources);
    return sources;
  }
  PMPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted);
  return out ? destinations : sources;
}
#define SOURCES(comm) neighbours(comm, 0)
#define DESTINATIONS(comm) neighbours(comm, 1)

#define SUM_OF_LIST(name, N)                                 \
  static Long name(const N* counts, int number) {            \
    Long total = 0;                                          \
    for (int at = 0; at < number; ++at) total += counts[at]; \
    return total;                                            \
  }
SUM_OF_LIST(sum_int, int)
SUM_OF_LIST(sum_count, MPI_Count)
#define SUM(counts, number) \
  _Generic(*(counts), int: sum_int, const int: sum_int, default: sum_count)((const void*)(counts), number)

#define SUM_OF_TYPES(name, N)                                                     \
  static Long name(const N* counts, const MPI_Datatype* types, int number) {      \
    Long total = 0;                                                               \
    for (int at = 0; at < number; ++at) total += bytes_of(counts[at], types[at]); \
    return total;                                                                 \
  }
SUM_OF_TYPES(bytes_int, int)
SUM_OF_TYPES(bytes_count, MPI_Count)
#define BYTES(counts, types, number)                                                                     \
  _Generic(*(counts), int: bytes_int, const int: bytes_int, default: bytes_count)((const void*)(counts), \
                                                                                  types, number)

/* ---- Functions: not laid out by clang-format, which takes them for one declaration. ---- */
/* clang-format off */

/* Both names of a function. The body may use `real`, and ends with DONE(...): the call, and what counts if it
 * is one of the program and went well. */
#define FUNCTION(name, declared, ...) \
  int MPI_##name declared {           \
    RESOLVE(name);                    \
    __VA_ARGS__                       \
  }                                   \
  int PMPI_##name declared {          \
    RESOLVE(name);                    \
    __VA_ARGS__                       \
  }
#define RESOLVE(name)                                                                     \
  static __typeof__(MPI_##name)* real;                                                    \
  static const char called[] __attribute__((unused)) = "MPI_" #name;                      \
  const int foreign __attribute__((unused)) = is_of_library(__builtin_return_address(0)); \
  if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "PMPI_" #name)
#define DONE(passed, ...)                                \
  ++inside;                                              \
  int error = real passed;                               \
  --inside;                                              \
  if (inside == 0 && !foreign && error == MPI_SUCCESS) { \
    ++inside; /* what counting asks of MPI */            \
    __VA_ARGS__                                          \
    --inside;                                            \
  }                                                      \
  return error;

FUNCTION(Init, (int* count, char*** words), DONE((count, words), add(called, 0);))
FUNCTION(Init_thread, (int* count, char*** words, int wanted, int* given), DONE((count, words, wanted,
         given), add(called, 0);))
FUNCTION(Finalize, (void), if (inside == 0) add(called, 0); write_rows(); DONE((), ))

#define SEND(name, N)                                                                            \
  FUNCTION(name, (const void* data, N count, MPI_Datatype type, int to, int tag, MPI_Comm comm), \
           DONE((data, count, type, to, tag, comm),                                              \
                if (to != MPI_PROC_NULL) add(called, bytes_of(count, type));))
#define ISEND(name, N)                                                                                      \
  FUNCTION(                                                                                                 \
      name,                                                                                                 \
      (const void* data, N count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request), \
      DONE((data, count, type, to, tag, comm, request),                                                     \
           if (to != MPI_PROC_NULL) add(called, bytes_of(count, type));))
#define SEND_INIT(name, N)                                                                                  \
  FUNCTION(                                                                                                 \
      name,                                                                                                 \
      (const void* data, N count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request), \
      DONE((data, count, type, to, tag, comm, request),                                                     \
           if (to != MPI_PROC_NULL) remember(*request, START, "MPI_" #name, bytes_of(count, type));))
#define RECV(name, N)                                                                                      \
  FUNCTION(name,                                                                                           \
           (void* data, N count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status), \
           MPI_Status own;                                                                                 \
           if (status == MPI_STATUS_IGNORE) status = &own;                                                 \
           DONE((data, count, type, from, tag, comm, status),                                              \
                if (from != MPI_PROC_NULL) add(called, arrived(status));))
#define IRECV(name, N, how)                                                                                  \
  FUNCTION(name,                                                                                             \
           (void* data, N count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request), \
           DONE((data, count, type, from, tag, comm, request),                                               \
                if (from != MPI_PROC_NULL) remember(*request, how, called, bytes_of(count, type));))
#define MRECV(name, N)                                                                               \
  FUNCTION(name, (void* data, N count, MPI_Datatype type, MPI_Message* message, MPI_Status* status), \
           MPI_Status own;                                                                           \
           if (status == MPI_STATUS_IGNORE) status = &own;                                           \
           DONE((data, count, type, message, status),                                                \
                if (status->MPI_SOURCE != MPI_PROC_NULL) add(called, arrived(status));))
#define IMRECV(name, N)                                                                                \
  FUNCTION(name, (void* data, N count, MPI_Datatype type, MPI_Message* message, MPI_Request* request), \
           DONE((data, count, type, message, request),                                                         \
                remember(*request, RECEIVE, called, bytes_of(count, type));))
#define SENDRECV(name, N)                                                                       \
  FUNCTION(name,                                                                                \
           (const void* data, N count, MPI_Datatype type, int to, int tag, void* into, N room,  \
            MPI_Datatype other, int from, int other_tag, MPI_Comm comm, MPI_Status* status),    \
           MPI_Status own;                                                                      \
           if (status == MPI_STATUS_IGNORE) status = &own;                                      \
           DONE((data, count, type, to, tag, into, room, other, from, other_tag, comm, status), \
                if (to != MPI_PROC_NULL) add(called, bytes_of(count, type));                    \
                if (from != MPI_PROC_NULL) add("MPI_" #name ":receive", arrived(status));))
#define SENDRECV_REPLACE(name, N)                                                                            \
  FUNCTION(name,                                                                                             \
           (void* data, N count, MPI_Datatype type, int to, int tag, int from, int other_tag, MPI_Comm comm, \
            MPI_Status* status),                                                                             \
           MPI_Status own;                                                                                   \
           if (status == MPI_STATUS_IGNORE) status = &own;                                                   \
           DONE((data, count, type, to, tag, from, other_tag, comm, status),                                 \
                if (to != MPI_PROC_NULL) add(called, bytes_of(count, type));                                 \
                if (from != MPI_PROC_NULL) add("MPI_" #name ":receive", arrived(status));))
#define ISENDRECV(name, N)                                                                       \
  FUNCTION(name,                                                                                 \
           (const void* data, N count, MPI_Datatype type, int to, int tag, void* into, N room,   \
            MPI_Datatype other, int from, int other_tag, MPI_Comm comm, MPI_Request* request),   \
           DONE((data, count, type, to, tag, into, room, other, from, other_tag, comm, request), \
                if (to != MPI_PROC_NULL) add(called, bytes_of(count, type));                     \
                if (from != MPI_PROC_NULL) add("MPI_" #name ":receive", bytes_of(room, other));))
#define ISENDRECV_REPLACE(name, N)                                                                         \
  FUNCTION(name,                                                                                           \
           (void* data, N count, MPI_Datatype type, int to, int tag, int from, int other_tag,              \
            MPI_Comm comm, MPI_Request* request),                                                          \
           DONE((data, count, type, to, tag, from, other_tag, comm, request),                              \
                if (to != MPI_PROC_NULL) add(called, bytes_of(count, type));                               \
                if (from != MPI_PROC_NULL) add("MPI_" #name ":receive", bytes_of(count, type));))

SEND(Send, int) SEND(Ssend, int) SEND(Bsend, int) SEND(Rsend, int) ISEND(Isend, int)
ISEND(Issend, int) ISEND(Ibsend, int) ISEND(Irsend, int) SEND_INIT(Send_init, int)
SEND_INIT(Ssend_init, int) SEND_INIT(Bsend_init, int) SEND_INIT(Rsend_init, int) RECV(Recv, int)
IRECV(Irecv, int, RECEIVE) IRECV(Recv_init, int, RECEIVE_AT_START) MRECV(Mrecv, int)
IMRECV(Imrecv, int) SENDRECV(Sendrecv, int) SENDRECV_REPLACE(Sendrecv_replace, int)
#if HAS_MPI_4
ISENDRECV(Isendrecv, int) ISENDRECV_REPLACE(Isendrecv_replace, int)
FUNCTION(Psend_init, (const void* data, int parts, MPI_Count count, MPI_Datatype type, int to, int tag,
         MPI_Comm comm, MPI_Info info, MPI_Request* request), DONE((data, parts, count, type, to, tag, comm,
         info, request), if (to != MPI_PROC_NULL) remember(*request, START, called, bytes_of(parts* count,
         type));))
FUNCTION(Precv_init, (void* data, int parts, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm
         comm, MPI_Info info, MPI_Request* request), DONE((data, parts, count, type, from, tag, comm, info,
         request), if (from != MPI_PROC_NULL) remember(*request, START, called, bytes_of(parts* count,
         type));))
FUNCTION(Pready, (int part, MPI_Request request), DONE((part, request), add(called, 0);))
FUNCTION(Pready_range, (int first, int last, MPI_Request request), DONE((first, last, request),
         add(called, 0);))
#if defined(OMPI_MAJOR_VERSION) || MPICH_NUMVERSION < 40100000
#define PARTS int
#else
#define PARTS const int
#endif
FUNCTION(Pready_list, (int count, PARTS parts[], MPI_Request request),
         DONE((count, parts, request), add(called, 0);))
FUNCTION(Parrived, (MPI_Request request, int part, int* flag), DONE((request, part, flag), add(called, 0);))
#endif
#if HAS_LARGE
SEND(Send_c, MPI_Count) ISEND(Isend_c, MPI_Count) SEND_INIT(Send_init_c, MPI_Count)
RECV(Recv_c, MPI_Count) SEND(Ssend_c, MPI_Count) SEND(Bsend_c, MPI_Count) SEND(Rsend_c, MPI_Count)
ISEND(Issend_c, MPI_Count) IRECV(Irecv_c, MPI_Count, RECEIVE)
IRECV(Recv_init_c, MPI_Count, RECEIVE_AT_START)
MRECV(Mrecv_c, MPI_Count) IMRECV(Imrecv_c, MPI_Count) SENDRECV(Sendrecv_c, MPI_Count)
SENDRECV_REPLACE(Sendrecv_replace_c, MPI_Count)
ISENDRECV(Isendrecv_c, MPI_Count)
ISENDRECV_REPLACE(Isendrecv_replace_c, MPI_Count)
#endif

FUNCTION(Start, (MPI_Request* request), DONE((request), started(*request);))
FUNCTION(Startall, (int count, MPI_Request* requests), DONE((count, requests), for (int at = 0; at < count;
         ++at) started(requests[at]);))
FUNCTION(Request_free, (MPI_Request* request), struct Made* one = find(*request); if (one != NULL &&
         one->active && one->kind != START && inside == 0 && !foreign) add(one->name, one->bytes); if (one
         != NULL) drop(one); DONE((request), ))

/* ---- Waits. Completed handles are overwritten, so that a copy of them is looked up. ---- */

#define COPY(number)                                                        \
  MPI_Request* before = malloc(sizeof(MPI_Request) * (size_t)(number + 1)); \
  memcpy(before, requests, sizeof(MPI_Request) * (size_t)(number));         \
  MPI_Status* own = malloc(sizeof(MPI_Status) * (size_t)(number + 1));      \
  if (statuses == MPI_STATUSES_IGNORE) statuses = own;
#define DONE_WITH_COPY(passed, ...)                      \
  ++inside;                                              \
  int error = real passed;                               \
  --inside;                                              \
  if (inside == 0 && !foreign && error == MPI_SUCCESS) { \
    ++inside;                                            \
    add(called, 0);                                      \
    __VA_ARGS__                                          \
    --inside;                                            \
  }                                                      \
  free(before);                                          \
  free(own);                                             \
  return error;

FUNCTION(Wait, (MPI_Request* request, MPI_Status* status), MPI_Request before = *request; MPI_Status own;
         if (status == MPI_STATUS_IGNORE) status = &own; DONE((request, status), add(called, 0);
         finished(before, status);))
FUNCTION(Test, (MPI_Request* request, int* flag, MPI_Status* status), MPI_Request before = *request;
         MPI_Status own; if (status == MPI_STATUS_IGNORE) status = &own; DONE((request, flag, status),
         add(called, 0); if (*flag) finished(before, status);))
FUNCTION(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), COPY(count)
         DONE_WITH_COPY((count, requests, statuses), for (int at = 0; at < count; ++at) finished(before[at],
         &statuses[at]);))
FUNCTION(Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses), COPY(count)
         DONE_WITH_COPY((count, requests, flag, statuses), if (*flag) for (int at = 0; at < count; ++at)
         finished(before[at], &statuses[at]);))
FUNCTION(Waitany, (int count, MPI_Request* requests, int* which, MPI_Status* statuses), COPY(count)
         DONE_WITH_COPY((count, requests, which, statuses), if (*which >= 0 && *which < count)
         finished(before[*which], statuses);))
FUNCTION(Testany, (int count, MPI_Request* requests, int* which, int* flag, MPI_Status* statuses),
         COPY(count) DONE_WITH_COPY((count, requests, which, flag, statuses), if (*flag && *which >= 0 &&
         *which < count) finished(before[*which], statuses);))
FUNCTION(Waitsome, (int count, MPI_Request* requests, int* number, int* which, MPI_Status* statuses), COPY(
         count) DONE_WITH_COPY((count, requests, number, which, statuses), for (int at = 0; at < *number;
         ++at) finished(before[which[at]], &statuses[at]);))
FUNCTION(Testsome, (int count, MPI_Request* requests, int* number, int* which, MPI_Status* statuses),
         COPY(count) DONE_WITH_COPY((count, requests, number, which, statuses), for (int at = 0; at <
         *number; ++at) finished(before[which[at]], &statuses[at]);))
FUNCTION(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), DONE((from, tag, comm, status),
         add(called, 0);))
FUNCTION(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status), DONE((from, tag, comm,
         flag, status), add(called, 0);))
FUNCTION(Mprobe, (int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status), DONE((from,
         tag, comm, message, status), add(called, 0);))
FUNCTION(Improbe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status),
         DONE((from, tag, comm, flag, message, status), add(called, 0);))

/* ---- Collectives: blocking, nonblocking and persistent functions with the same arguments ---- */

#define ARGUMENTS(...) __VA_ARGS__
#define BLOCKING(name, declared, passed, takes_part, bytes) \
  FUNCTION(name, (ARGUMENTS declared), DONE((ARGUMENTS passed), if (takes_part) add(called, bytes);))
#define NONBLOCKING(name, declared, passed, takes_part, bytes) \
  FUNCTION(name, (ARGUMENTS declared, MPI_Request * request),  \
           DONE((ARGUMENTS passed, request), if (takes_part) add(called, bytes);))
#define PERSISTENT(name, declared, passed, takes_part, bytes)           \
  FUNCTION(                                                             \
      name, (ARGUMENTS declared, MPI_Info info, MPI_Request * request), \
      DONE((ARGUMENTS passed, info, request), if (takes_part) remember(*request, START, called, bytes);))
#if HAS_MPI_4
#define KINDS(kind, name, low, N, A) \
  kind(BLOCKING, name, N, A) kind(NONBLOCKING, I##low, N, A) kind(PERSISTENT, name##_init, N, A)
#else
#define KINDS(kind, name, low, N, A) kind(BLOCKING, name, N, A) kind(NONBLOCKING, I##low, N, A)
#endif
#if HAS_LARGE
#define ALL(kind, name, low) \
  KINDS(kind, name, low, int, int) LARGE_KINDS(kind, name, low, MPI_Count, MPI_Aint)
#define LARGE_KINDS(kind, name, low, N, A) \
  kind(BLOCKING, name##_c, N, A) kind(NONBLOCKING, I##low##_c, N, A) kind(PERSISTENT, name##_init_c, N, A)
#else
#define ALL(kind, name, low) KINDS(kind, name, low, int, int)
#endif

#define T MPI_Datatype
#define BCAST(how, name, N, A)                                                                       \
  how(name, (void* data, N count, T type, int root, MPI_Comm comm), (data, count, type, root, comm), \
      root != MPI_PROC_NULL, bytes_of(count, type))
#define REDUCE(how, name, N, A)                                                                  \
  how(name, (const void* from, void* into, N count, T type, MPI_Op op, int root, MPI_Comm comm), \
      (from, into, count, type, op, root, comm), root != MPI_PROC_NULL, bytes_of(count, type))
#define ALLREDUCE(how, name, N, A)                                                     \
  how(name, (const void* from, void* into, N count, T type, MPI_Op op, MPI_Comm comm), \
      (from, into, count, type, op, comm), 1, bytes_of(count, type))
#define REDUCE_SCATTER_BLOCK(how, name, N, A)                                          \
  how(name, (const void* from, void* into, N count, T type, MPI_Op op, MPI_Comm comm), \
      (from, into, count, type, op, comm), 1, bytes_of(count, type) * OWN(comm))
#define REDUCE_SCATTER(how, name, N, A)                                                         \
  how(name, (const void* from, void* into, const N counts[], T type, MPI_Op op, MPI_Comm comm), \
      (from, into, counts, type, op, comm), 1, bytes_of(SUM(counts, OWN(comm)), type))
#define GATHER(how, name, N, A)                                                                        \
  how(name, (const void* from, N sent, T type, void* into, N count, T other, int root, MPI_Comm comm), \
      (from, sent, type, into, count, other, root, comm), root != MPI_PROC_NULL,                       \
      NAMED_OR_OWN(root, comm) * (at_root(root, comm) ? bytes_of(count, other) : bytes_of(sent, type)))
#define SCATTER(how, name, N, A)                                                                       \
  how(name, (const void* from, N sent, T type, void* into, N count, T other, int root, MPI_Comm comm), \
      (from, sent, type, into, count, other, root, comm), root != MPI_PROC_NULL,                       \
      NAMED_OR_OWN(root, comm) * (at_root(root, comm) ? bytes_of(sent, type) : bytes_of(count, other)))
/* The ranks that have blocks: of the group that the root is not in, between two groups. */
#define NAMED_OR_OWN(root, comm) (at_root(root, comm) ? NAMED(comm) : OWN(comm))
#define GATHERV(how, name, N, A)                                                                            \
  how(name,                                                                                                 \
      (const void* from, N sent, T type, void* into, const N counts[], const A places[], T other, int root, \
       MPI_Comm comm),                                                                                      \
      (from, sent, type, into, counts, places, other, root, comm), root != MPI_PROC_NULL,                   \
      at_root(root, comm) ? bytes_of(SUM(counts, NAMED(comm)), other) : bytes_of(sent, type))
#define SCATTERV(how, name, N, A)                                                                            \
  how(name,                                                                                                  \
      (const void* from, const N counts[], const A places[], T type, void* into, N count, T other, int root, \
       MPI_Comm comm),                                                                                       \
      (from, counts, places, type, into, count, other, root, comm), root != MPI_PROC_NULL,                   \
      at_root(root, comm) ? bytes_of(SUM(counts, NAMED(comm)), type) : bytes_of(count, other))
#define EXCHANGE(how, name, N, A)                                                            \
  how(name, (const void* from, N sent, T type, void* into, N count, T other, MPI_Comm comm), \
      (from, sent, type, into, count, other, comm), 1, bytes_of(count, other) * NAMED(comm))
#define ALLGATHERV(how, name, N, A)                                                               \
  how(name,                                                                                       \
      (const void* from, N sent, T type, void* into, const N counts[], const A places[], T other, \
       MPI_Comm comm),                                                                            \
      (from, sent, type, into, counts, places, other, comm), 1, bytes_of(SUM(counts, NAMED(comm)), other))
#define ALLTOALLV(how, name, N, A)                                                               \
  how(name,                                                                                      \
      (const void* from, const N sent[], const A places[], T type, void* into, const N counts[], \
       const A others[], T other, MPI_Comm comm),                                                \
      (from, sent, places, type, into, counts, others, other, comm), 1,                          \
      from == MPI_IN_PLACE ? bytes_of(SUM(counts, NAMED(comm)), other)                           \
                           : bytes_of(SUM(sent, NAMED(comm)), type))
#define ALLTOALLW(how, name, N, A)                                                                        \
  how(name,                                                                                               \
      (const void* from, const N sent[], const A places[], const T types[], void* into, const N counts[], \
       const A others[], const T other_types[], MPI_Comm comm),                                           \
      (from, sent, places, types, into, counts, others, other_types, comm), 1,                            \
      from == MPI_IN_PLACE ? BYTES(counts, other_types, NAMED(comm)) : BYTES(sent, types, NAMED(comm)))
#define NEIGHBOR_ALLGATHER(how, name, N, A)                                                  \
  how(name, (const void* from, N sent, T type, void* into, N count, T other, MPI_Comm comm), \
      (from, sent, type, into, count, other, comm), 1, bytes_of(count, other) * SOURCES(comm))
#define NEIGHBOR_ALLTOALL(how, name, N, A)                                                   \
  how(name, (const void* from, N sent, T type, void* into, N count, T other, MPI_Comm comm), \
      (from, sent, type, into, count, other, comm), 1, bytes_of(sent, type) * DESTINATIONS(comm))
#define NEIGHBOR_ALLGATHERV(how, name, N, A)                                                      \
  how(name,                                                                                       \
      (const void* from, N sent, T type, void* into, const N counts[], const A places[], T other, \
       MPI_Comm comm),                                                                            \
      (from, sent, type, into, counts, places, other, comm), 1, bytes_of(SUM(counts, SOURCES(comm)), other))
#define NEIGHBOR_ALLTOALLV(how, name, N, A)                                                      \
  how(name,                                                                                      \
      (const void* from, const N sent[], const A places[], T type, void* into, const N counts[], \
       const A others[], T other, MPI_Comm comm),                                                \
      (from, sent, places, type, into, counts, others, other, comm), 1,                          \
      bytes_of(SUM(sent, DESTINATIONS(comm)), type))
#define NEIGHBOR_ALLTOALLW(how, name, N, A)                                                    \
  how(name,                                                                                    \
      (const void* from, const N sent[], const MPI_Aint places[], const T types[], void* into, \
       const N counts[], const MPI_Aint others[], const T other_types[], MPI_Comm comm),       \
      (from, sent, places, types, into, counts, others, other_types, comm), 1,                 \
      BYTES(sent, types, DESTINATIONS(comm)))
#define BARRIER(how, name, N, A) how(name, (MPI_Comm comm), (comm), 1, 0)

ALL(BCAST, Bcast, bcast) ALL(REDUCE, Reduce, reduce) ALL(ALLREDUCE, Allreduce, allreduce)
ALL(ALLREDUCE, Scan, scan) ALL(ALLREDUCE, Exscan, exscan)
ALL(REDUCE_SCATTER_BLOCK, Reduce_scatter_block, reduce_scatter_block)
ALL(REDUCE_SCATTER, Reduce_scatter, reduce_scatter)
ALL(GATHER, Gather, gather) ALL(SCATTER, Scatter, scatter) ALL(GATHERV, Gatherv, gatherv)
ALL(SCATTERV, Scatterv, scatterv) ALL(EXCHANGE, Allgather, allgather)
ALL(EXCHANGE, Alltoall, alltoall) ALL(ALLGATHERV, Allgatherv, allgatherv)
ALL(ALLTOALLV, Alltoallv, alltoallv) ALL(ALLTOALLW, Alltoallw, alltoallw)
ALL(NEIGHBOR_ALLGATHER, Neighbor_allgather, neighbor_allgather)
ALL(NEIGHBOR_ALLTOALL, Neighbor_alltoall, neighbor_alltoall)
ALL(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv, neighbor_allgatherv)
ALL(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv, neighbor_alltoallv)
ALL(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw, neighbor_alltoallw)
KINDS(BARRIER, Barrier, barrier, int, int)

/* ---- One-sided: of the elements here; fetches count what they bring ---- */

#define MOVE(name, data_type, N)                                                                        \
  FUNCTION(name,                                                                                        \
           (data_type data, N count, T type, int rank, MPI_Aint at, N others, T other, MPI_Win window), \
           DONE((data, count, type, rank, at, others, other, window),                                   \
                if (rank != MPI_PROC_NULL) add(called, bytes_of(count, type));))
#define RMOVE(name, data_type, N)                                                                      \
  FUNCTION(name,                                                                                       \
           (data_type data, N count, T type, int rank, MPI_Aint at, N others, T other, MPI_Win window, \
            MPI_Request* request),                                                                     \
           DONE((data, count, type, rank, at, others, other, window, request),                         \
                if (rank != MPI_PROC_NULL) add(called, bytes_of(count, type));))
MOVE(Put, const void*, int) MOVE(Get, void*, int) RMOVE(Rput, const void*, int)
RMOVE(Rget, void*, int)
FUNCTION(Accumulate, (const void* data, int count, T type, int rank, MPI_Aint at, int others, T other,
         MPI_Op op, MPI_Win window), DONE((data, count, type, rank, at, others, other, op, window), if (rank
         != MPI_PROC_NULL) add(called, bytes_of(count, type));))
FUNCTION(Raccumulate, (const void* data, int count, T type, int rank, MPI_Aint at, int others, T other,
         MPI_Op op, MPI_Win window, MPI_Request* request), DONE((data, count, type, rank, at, others, other,
         op, window, request), if (rank != MPI_PROC_NULL) add(called, bytes_of(count, type));))
FUNCTION(Get_accumulate, (const void* data, int count, T type, void* into, int room, T into_type, int rank,
         MPI_Aint at, int others, T other, MPI_Op op, MPI_Win window), DONE((data, count, type, into, room,
         into_type, rank, at, others, other, op, window), if (rank != MPI_PROC_NULL) add(called, bytes_of(
         room, into_type));))
FUNCTION(Rget_accumulate, (const void* data, int count, T type, void* into, int room, T into_type, int rank,
         MPI_Aint at, int others, T other, MPI_Op op, MPI_Win window, MPI_Request* request), DONE((data,
         count, type, into, room, into_type, rank, at, others, other, op, window, request), if (rank !=
         MPI_PROC_NULL) add(called, bytes_of(room, into_type));))
FUNCTION(Fetch_and_op, (const void* data, void* into, T type, int rank, MPI_Aint at, MPI_Op op, MPI_Win
         window), DONE((data, into, type, rank, at, op, window), if (rank != MPI_PROC_NULL) add(called,
         bytes_of(1, type));))
FUNCTION(Compare_and_swap, (const void* data, const void* compared, void* into, T type, int rank, MPI_Aint
         at, MPI_Win window), DONE((data, compared, into, type, rank, at, window), if (rank !=
         MPI_PROC_NULL) add(called, bytes_of(1, type));))
#if HAS_LARGE
MOVE(Put_c, const void*, MPI_Count) MOVE(Get_c, void*, MPI_Count)
RMOVE(Rput_c, const void*, MPI_Count) RMOVE(Rget_c, void*, MPI_Count)
#endif
FUNCTION(Win_fence, (int assertions, MPI_Win window), DONE((assertions, window), add(called, 0);))
FUNCTION(Win_lock, (int kind, int rank, int assertions, MPI_Win window), DONE((kind, rank, assertions,
         window), add(called, 0);))
FUNCTION(Win_lock_all, (int assertions, MPI_Win window), DONE((assertions, window), add(called, 0);))
FUNCTION(Win_unlock, (int rank, MPI_Win window), DONE((rank, window), add(called, 0);))
FUNCTION(Win_unlock_all, (MPI_Win window), DONE((window), add(called, 0);))
FUNCTION(Win_flush, (int rank, MPI_Win window), DONE((rank, window), add(called, 0);))
FUNCTION(Win_flush_all, (MPI_Win window), DONE((window), add(called, 0);))
FUNCTION(Win_flush_local, (int rank, MPI_Win window), DONE((rank, window), add(called, 0);))
FUNCTION(Win_flush_local_all, (MPI_Win window), DONE((window), add(called, 0);))
FUNCTION(Win_post, (MPI_Group group, int assertions, MPI_Win window),
         DONE((group, assertions, window), add(called, 0);))
FUNCTION(Win_test, (MPI_Win window, int* flag), DONE((window, flag), add(called, 0);))
FUNCTION(Win_start, (MPI_Group group, int assertions, MPI_Win window), DONE((group, assertions, window),
         add(called, 0);))
FUNCTION(Win_complete, (MPI_Win window), DONE((window), add(called, 0);))
FUNCTION(Win_wait, (MPI_Win window), DONE((window), add(called, 0);))

/* ---- Files: what MPI does inside of them is not the program's. They have at most six arguments, all words.
 * ---- */

#define FILE_BY_NAME(shown)                                                             \
  long counter_##shown(long a, long b, long c, long d, long e, long f) __asm__(#shown); \
  long counter_##shown(long a, long b, long c, long d, long e, long f) {                \
    static int (*real)(long, long, long, long, long, long);                             \
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #shown);                        \
    ++inside;                                                                           \
    const int error = real(a, b, c, d, e, f);                                           \
    --inside;                                                                           \
    return error;                                                                       \
  }
#define OF_FILE(name) FILE_BY_NAME(MPI_File_##name) FILE_BY_NAME(PMPI_File_##name)
#define BOTH_WAYS(name) OF_FILE(read_##name) OF_FILE(write_##name)
OF_FILE(open) OF_FILE(close) OF_FILE(set_size) OF_FILE(preallocate) OF_FILE(set_view) OF_FILE(sync)
OF_FILE(read) OF_FILE(write) OF_FILE(iread) OF_FILE(iwrite) OF_FILE(iread_at) OF_FILE(iwrite_at)
OF_FILE(iread_all) OF_FILE(iwrite_all) OF_FILE(iread_at_all) OF_FILE(iwrite_at_all)
OF_FILE(iread_shared) OF_FILE(iwrite_shared) BOTH_WAYS(at) BOTH_WAYS(at_all) BOTH_WAYS(all)
BOTH_WAYS(shared) BOTH_WAYS(ordered) BOTH_WAYS(at_all_begin) BOTH_WAYS(at_all_end)
BOTH_WAYS(all_begin) BOTH_WAYS(all_end) BOTH_WAYS(ordered_begin) BOTH_WAYS(ordered_end)
