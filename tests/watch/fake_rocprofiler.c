// A rocprofiler-sdk that delivers records of known content, with the sizes and numbers of a version; for
// tests without a GPU. The program (hip_program.c) says what is delivered. Written after the library's
// documentation.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  uint64_t handle;
} Id;
typedef struct {
  uint32_t category, kind;
  void* payload;
} Header;
typedef void (*Callback)(Id, Id, Header**, size_t, void*, uint64_t);

enum { kCalls, kCopies, kAllocations, kKinds, kMost = 1 << 16 };
// A collector flushes from a thread of its own.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Callback callback;
static int started, traced[kKinds], chosen[8];
static uint8_t* kept[kMost];
static Header headers[kMost];
static size_t count;
static uint64_t dropped;

static int version(void) { return atoi(getenv("FAKE_ROCPROFILER")); }
// Numbers moved: before 1.0 others came first here.
static uint32_t number_of(int kind) { return (uint32_t[]){5, 10, 16}[kind] + (version() < 10000 ? 3 : 0); }
static int kind_of(uint32_t number) {
  for (int kind = 0; kind < kKinds; ++kind)
    if (number_of(kind) == number) return kind;
  return -1;
}
static const char* const names[] = {"HIP_RUNTIME_API", "MEMORY_COPY", "MEMORY_ALLOCATION"};
static const char* const calls[] = {"hipGetDevice",         "hipMemcpyAsync", "hipMalloc",
                                    "hipHostMalloc",        "hipHostFree",    "hipHostRegister",
                                    "hipDeviceSynchronize", "hipInit"};
static const char* const allocations[] = {"MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE",
                                          "MEMORY_ALLOCATION_VMEM_ALLOCATE", "MEMORY_ALLOCATION_FREE"};

int rocprofiler_get_timestamp(uint64_t* time) { return *time = 1000000, 0; }
int rocprofiler_create_context(Id* context) { return context->handle = 7, 0; }
int rocprofiler_start_context(Id context) { return started = context.handle == 7, started ? 0 : 2; }
int rocprofiler_create_buffer(Id context, size_t bytes, size_t mark, uint32_t policy, Callback act,
                              void* data, Id* buffer) {
  if (getenv("FAKE_ROCPROFILER_REFUSES") != NULL) return 19;
  callback = act;
  return buffer->handle = 9, context.handle == 7 && mark <= bytes && policy == 2 && data == NULL ? 0 : 19;
}
int rocprofiler_configure_buffer_tracing_service(Id context, uint32_t number, const int32_t* operations,
                                                 size_t many, Id buffer) {
  const int kind = kind_of(number);
  if (kind < 0 || context.handle != 7 || buffer.handle != 9) return 4;
  for (size_t at = 0; at < many; ++at) chosen[operations[at]] = 1;
  return traced[kind] = 1, 0;
}
int rocprofiler_query_buffer_tracing_kind_name(uint32_t number, const char** name, uint64_t* length) {
  const int kind = kind_of(number);
  if (length != NULL) *length = 0;
  return *name = kind < 0 ? NULL : names[kind], kind < 0 ? 4 : 0;
}
int rocprofiler_query_buffer_tracing_kind_operation_name(uint32_t number, int32_t operation,
                                                         const char** name, uint64_t* length) {
  const int kind = kind_of(number);
  if (length != NULL) *length = 0;
  return *name = kind == kCalls ? calls[operation] : allocations[operation], 0;
}
int rocprofiler_iterate_buffer_tracing_kinds(int (*act)(uint32_t, void*), void* data) {
  // 0.4 had no allocations.
  for (int kind = 0; kind < (version() < 500 ? kAllocations : kKinds); ++kind) act(number_of(kind), data);
  return 0;
}
int rocprofiler_iterate_buffer_tracing_kind_operations(uint32_t number, int (*act)(uint32_t, int32_t, void*),
                                                       void* data) {
  for (int32_t at = 0; at < (kind_of(number) == kCalls ? 8 : 4); ++at) act(number, at, data);
  return 0;
}
// Two NUMA domains, then two GPUs; identifiers are no numbers.
int rocprofiler_query_available_agents(uint32_t of, int (*act)(uint32_t, const void**, size_t, void*),
                                       size_t bytes, void* data) {
  static uint64_t agents[4][40];
  const void* all[4];
  for (int at = 0; at < 4; ++at) {
    agents[at][0] = sizeof agents[at], agents[at][1] = 1000 + 10 * at, agents[at][2] = at < 2 ? 1 : 2;
    all[at] = agents[at];
  }
  return of == 1 && bytes <= sizeof agents[0] ? act(of, all, 4, data) : 18;
}
int rocprofiler_flush_buffer(Id buffer) {
  static Header* places[kMost];  // the caller may have a small stack
  pthread_mutex_lock(&lock);
  for (size_t at = 0; at < count; ++at) places[at] = &headers[at];
  const size_t many = count;
  count = 0;
  if (many != 0 || dropped != 0) callback((Id){7}, buffer, places, many, NULL, dropped);
  for (size_t at = 0; at < many; ++at) free(kept[at]);
  dropped = 0;
  pthread_mutex_unlock(&lock);
  return buffer.handle == 9 ? 0 : 3;
}

void fake_drop(uint64_t many) {
  pthread_mutex_lock(&lock);
  dropped += many;
  pthread_mutex_unlock(&lock);
}

static uint8_t* add(int kind, size_t size, int32_t operation, uint64_t correlation) {
  static uint8_t nowhere[96];
  if (!started || !traced[kind] || (kind == kCalls && !chosen[operation]) || count == kMost) return nowhere;
  uint8_t* const record = calloc(1, size);
  memcpy(record, &(uint64_t){size}, 8);
  memcpy(record + 8, &(uint32_t){number_of(kind)}, 4);
  memcpy(record + 12, &operation, 4);
  memcpy(record + 16, &correlation, 8);
  headers[count] = (Header){1, number_of(kind), record};
  return kept[count++] = record;
}
static void put(uint8_t* record, size_t place, uint64_t value) { memcpy(record + place, &value, 8); }

void fake_call(int32_t operation, uint64_t correlation, uint64_t start, uint64_t end) {
  pthread_mutex_lock(&lock);
  const int is_new = version() >= 10000;
  uint8_t* const record = add(kCalls, is_new ? 64 : 56, operation, correlation);
  put(record, is_new ? 40 : 32, start), put(record, is_new ? 48 : 40, end);
  pthread_mutex_unlock(&lock);
}
void fake_copy(uint64_t correlation, uint64_t from, uint64_t to, uint64_t bytes, uint64_t source,
               uint64_t start, uint64_t end) {
  pthread_mutex_lock(&lock);
  const int v = version();
  const size_t size = v < 500 ? 72 : v < 600 ? 80 : 96, at = v < 500 ? 32 : 40;
  uint8_t* const record = add(kCopies, size, 2, correlation);
  put(record, at, start), put(record, at + 8, end), put(record, at + 16, to), put(record, at + 24, from);
  put(record, at + 32, bytes);
  if (size == 96) put(record, 88, source);
  pthread_mutex_unlock(&lock);
}
void fake_allocation(int32_t operation, uint64_t correlation, uint64_t agent, uint64_t address,
                     uint64_t bytes) {
  pthread_mutex_lock(&lock);
  const int is_new = version() >= 10000;
  uint8_t* const record = add(kAllocations, is_new ? 88 : 80, operation, correlation);
  const size_t at = is_new ? 48 : 40;
  put(record, at, 1000), put(record, at + 8, 1500), put(record, at + 16, agent),
      put(record, at + 24, address);
  put(record, at + 32, bytes);
  pthread_mutex_unlock(&lock);
}
