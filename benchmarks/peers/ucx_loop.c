// The plain loop that byteways' figures of UCX are compared with: the same calls in the same order on the
// same cores. MPI starts the ranks and carries addresses and keys; the library is the one that this process
// has loaded.
//
// measure() (loop.h) knows "ucx-pong BYTES" (a round trip of tagged messages), "ucx-window BYTES" (64
// messages, one acknowledgement; an operation is a message), "ucx-put BYTES" and "ucx-get BYTES" (one and its
// flush).
#include <dlfcn.h>
#include <ucp/api/ucp.h>

#include "loop.h"

enum { kWindow = 64, kMostBytesInFlight = 64 << 20, kMessage = 1, kWord = 2 };

// Every function that is used, by its own name.
#define FUNCTIONS(X)                                                                                         \
  X(ucp_init_version)                                                                                        \
  X(ucp_worker_create) X(ucp_worker_get_address) X(ucp_worker_progress) X(ucp_ep_create) X(ucp_mem_map)      \
      X(ucp_mem_unmap) X(ucp_rkey_pack) X(ucp_rkey_buffer_release) X(ucp_ep_rkey_unpack) X(ucp_rkey_destroy) \
          X(ucp_put_nbx) X(ucp_get_nbx) X(ucp_ep_flush_nbx) X(ucp_tag_send_nbx) X(ucp_tag_recv_nbx)          \
              X(ucp_request_check_status) X(ucp_request_free)
#define DECLARED(name) static __typeof__(&name) p_##name;
FUNCTIONS(DECLARED)

static ucp_context_h context;
static ucp_worker_h worker;
static ucp_ep_h endpoint;
static ucp_rkey_h key;
static ucp_request_param_t plain;  // zeros: bytes, nothing to call
static char *source, *destination;
static uint64_t exposed;  // address in the other rank
static size_t size;
static int window;

static void must(int status) {
  if (status != UCS_OK) MPI_Abort(MPI_COMM_WORLD, 2);
}

static void complete(void* request) {
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) MPI_Abort(MPI_COMM_WORLD, 3);
  ucs_status_t status;
  while ((status = p_ucp_request_check_status(request)) == UCS_INPROGRESS) p_ucp_worker_progress(worker);
  p_ucp_request_free(request);
  must(status);
}

static void* find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL) MPI_Abort(MPI_COMM_WORLD, 4);
  return found;
}

// Sends `mine` to the other rank and returns its own, with its length.
static void* traded(const void* mine, size_t bytes, int rank, size_t* other) {
  MPI_Sendrecv(&bytes, sizeof bytes, MPI_BYTE, 1 - rank, 3, other, sizeof *other, MPI_BYTE, 1 - rank, 3,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  void* theirs = malloc(*other);
  MPI_Sendrecv(mine, bytes, MPI_BYTE, 1 - rank, 4, theirs, *other, MPI_BYTE, 1 - rank, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  return theirs;
}

static void connect_ranks(int rank) {
  void* library = dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD);
  if (library == NULL) MPI_Abort(MPI_COMM_WORLD, 5);
#define FOUND(name) p_##name = find(library, #name);
  FUNCTIONS(FOUND)
  const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
                               .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA};
  must(p_ucp_init_version(1, 10, &params, NULL, &context));
  const ucp_worker_params_t single = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                      .thread_mode = UCS_THREAD_MODE_SINGLE};
  must(p_ucp_worker_create(context, &single, &worker));
  ucp_address_t* address;
  size_t bytes, other;
  must(p_ucp_worker_get_address(worker, &address, &bytes));
  const ucp_ep_params_t to = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
                              .address = traded(address, bytes, rank, &other)};
  must(p_ucp_ep_create(worker, &to, &endpoint));
}

static ucp_mem_h expose(int rank, char* memory) {
  const ucp_mem_map_params_t map = {
      .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
      .address = memory,
      .length = size};
  ucp_mem_h mapped;
  void* packed;
  size_t bytes, other;
  must(p_ucp_mem_map(context, &map, &mapped));
  must(p_ucp_rkey_pack(context, mapped, &packed, &bytes));
  void* theirs = traded(packed, bytes, rank, &other);
  must(p_ucp_ep_rkey_unpack(endpoint, theirs, &key));
  free(theirs);
  p_ucp_rkey_buffer_release(packed);
  theirs = traded(&memory, sizeof memory, rank, &other);
  memcpy(&exposed, theirs, sizeof exposed);
  free(theirs);
  return mapped;
}

static void send_message(void) { complete(p_ucp_tag_send_nbx(endpoint, source, size, kMessage, &plain)); }
static void* receive(void* data, size_t bytes, ucp_tag_t tag) {
  return p_ucp_tag_recv_nbx(worker, data, bytes, tag, ~0ull, &plain);
}

static void pong(int rank, long count) {
  for (long k = 0; k < count; ++k) {
    if (rank == 0) send_message();
    complete(receive(destination, size, kMessage));
    if (rank == 1) send_message();
  }
}

static void tell(int tells) {
  uint64_t word = 0;
  complete(tells ? p_ucp_tag_send_nbx(endpoint, &word, sizeof word, kWord, &plain)
                 : receive(&word, sizeof word, kWord));
}

static void windows(int rank, long count) {
  static void* pending[kWindow];
  for (long done = 0; done < count; done += window) {
    for (int k = 0; k < window; ++k)
      pending[k] = rank == 0 ? p_ucp_tag_send_nbx(endpoint, source, size, kMessage, &plain)
                             : receive(destination, size, kMessage);
    for (int k = 0; k < window; ++k) complete(pending[k]);
    tell(rank == 1);
  }
}

static void begun(void* request) {
  if (request == NULL) return;
  if (UCS_PTR_IS_ERR(request)) MPI_Abort(MPI_COMM_WORLD, 6);
  p_ucp_request_free(request);
}

static void puts_and_flushes(int rank, long count) {
  for (long k = 0; rank == 0 && k < count; ++k) {
    begun(p_ucp_put_nbx(endpoint, source, size, exposed, key, &plain));
    complete(p_ucp_ep_flush_nbx(endpoint, &plain));
  }
  tell(rank == 0);
}

static void gets_and_flushes(int rank, long count) {
  for (long k = 0; rank == 1 && k < count; ++k) {
    begun(p_ucp_get_nbx(endpoint, destination, size, exposed, key, &plain));
    complete(p_ucp_ep_flush_nbx(endpoint, &plain));
  }
  tell(rank == 1);
}

int measure(const char* what, long* count, double seconds, double* times, int most) {
  char name[16];
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (sscanf(what, "%15s %zu", name, &size) < 2) MPI_Abort(MPI_COMM_WORLD, 1);
  if (worker == NULL) connect_ranks(rank);
  source = pages(size);
  destination = pages(size);
  window = kMostBytesInFlight / size;
  if (window > kWindow) window = kWindow;
  if (window < 1) window = 1;
  Operations operations = windows;
  ucp_mem_h mapped = NULL;
  if (strcmp(name, "ucx-pong") == 0) operations = pong;
  if (strcmp(name, "ucx-put") == 0) operations = puts_and_flushes;
  if (strcmp(name, "ucx-get") == 0) operations = gets_and_flushes;
  if (operations == puts_and_flushes) mapped = expose(rank, destination);
  if (operations == gets_and_flushes) mapped = expose(rank, source);
  const int found = time_batches(operations, operations == windows ? window : 1, count, seconds, times, most);
  if (mapped != NULL) {
    p_ucp_rkey_destroy(key);
    must(p_ucp_mem_unmap(context, mapped));
  }
  munmap(source, size);
  munmap(destination, size);
  return found;
}
