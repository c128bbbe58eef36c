// A CUPTI that delivers records of known content, with the sizes that the records of a version have; for
// tests without a GPU. The program (cuda_program.c) says what is delivered.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*Request)(uint8_t**, size_t*, size_t*);
typedef void (*Complete)(void*, uint32_t, uint8_t*, size_t, size_t);

enum { FAKE_CALL_NS = 2000 };  // of a call

enum {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 10,
  kPeer = 22,
  kUnified = 25,
  kWait = 38,
  kMemory = 49,
  kKinds = 64
};

struct Info {
  uint32_t site;
  const char* function;
  const void* parameters;
  void* returned;
  const char* symbol;
  void* context;
  uint32_t number;
  uint64_t* data;
  uint32_t correlation;
};
typedef void (*Callback)(void*, uint32_t, uint32_t, const struct Info*);

static Callback call_back;
static int calls_enabled[2][1500];
static Request request;
static Complete complete;
static int enabled[kKinds], subscribed;
static uint32_t version;
static size_t dropped;
static uint8_t* buffer;
static size_t room, filled;
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

// Sizes by version of CUPTI: 12.4, 12.9, 13.0, 13.5 (docs of CUpti_ActivityMemcpy5 … 7 and others).
static size_t size_of(uint32_t kind) {
  const int newest = version >= 130500, new = version >= 28;
  switch (kind) {
    case kMemcpy:
      return newest ? 112 : new ? 96 : 88;
    case kKernel:
      return newest ? 224 : new ? 216 : 208;
    case kPeer:
      return newest ? 96 : 88;
    case kMemset:
      return newest ? 104 : 80;
    case kUnified:
      return newest ? 104 : 64;
    case kWait:
      return new ? 56 : 40;
    case kMemory:
      return version >= 130001 ? 128 : 120;
  }
  abort();
}

static int number(const char* name) { return getenv(name) == NULL ? 0 : atoi(getenv(name)); }

int cuptiGetVersion(uint32_t* found) { return *found = version = (uint32_t)number("FAKE_CUPTI_VERSION"), 0; }
int cuptiSubscribe(void** subscriber, void* callback, void* data) {
  call_back = (Callback)callback;
  const int error = number("FAKE_CUPTI_SUBSCRIBE");
  return *subscriber = &version, subscribed = error == 0, error;
}
int cuptiUnsubscribe(void* subscriber) { return 0; }
int cuptiActivityRegisterCallbacks(Request one, Complete other) {
  return request = one, complete = other, subscribed ? 0 : 1;
}
int cuptiActivityEnable(uint32_t kind) {
  if (kind == kKernel && getenv("FAKE_CUPTI_NO_KERNELS") != NULL) return 2;
  return enabled[kind] = 1, 0;
}
int cuptiActivityConfigureUnifiedMemoryCounter(void* choices, uint32_t count) { return count != 5; }
int cuptiGetTimestamp(uint64_t* time) { return *time = 1000000, 0; }
int cuptiActivityGetNumDroppedRecords(void* context, uint32_t stream, size_t* count) {
  return *count = dropped, dropped = 0, 0;
}
int cuptiActivityGetNextRecord(uint8_t* from, size_t valid, uint8_t** record) {
  uint8_t* const next = *record == NULL ? from : *record + size_of(*(uint32_t*)*record);
  return next >= from + valid ? 12 : (*record = next, 0);  // CUPTI_ERROR_MAX_LIMIT_REACHED
}
int cuptiActivityFlushAll(uint32_t flags) {
  pthread_mutex_lock(&lock);
  if (buffer != NULL) complete(NULL, 0, buffer, room, filled);
  buffer = NULL;
  return pthread_mutex_unlock(&lock);
}

// Adds a record whose first bytes are these; the rest of it are ones, as fields of other versions may be.
static void add(const void* fields, size_t bytes) {
  const uint32_t kind = *(const uint32_t*)fields;
  if (!enabled[kind]) return;
  const size_t size = size_of(kind);
  if (buffer != NULL && filled + size > room) cuptiActivityFlushAll(0);
  if (buffer == NULL) {
    size_t most = 1;
    request(&buffer, &room, &most);
    filled = 0;
    if (buffer == NULL) {
      ++dropped;
      return;
    }
  }
  memset(buffer + filled, 0x11, size);
  memcpy(buffer + filled, fields, bytes < size ? bytes : size);
  if (kind == kMemcpy && version >= 28 && number("FAKE_CUPTI_BATCH") == 0)
    *(uint64_t*)(buffer + filled + 88) = 1;  // copyCount
  if (kind == kMemcpy && version >= 28 && number("FAKE_CUPTI_BATCH") != 0)
    *(uint64_t*)(buffer + filled + 88) = (uint64_t)number("FAKE_CUPTI_BATCH");
  filled += size;
}

void fake_record(const void* fields, size_t bytes) {
  pthread_mutex_lock(&lock);
  add(fields, bytes);
  pthread_mutex_unlock(&lock);
}

static uint8_t* held[256];
static int holding;

// Asks for so many buffers and keeps them, as if nobody read their records in time. Returns how many it got.
int fake_hold(int count) {
  const int before = holding;
  for (int at = 0; at < count; ++at) {
    size_t bytes, most;
    request(&held[holding], &bytes, &most);
    holding += held[holding] != NULL;
  }
  return holding - before;
}

// Gives so many back, without records.
int fake_give_back(int count) {
  for (int at = 0; at < count; ++at) complete(NULL, 0, held[--holding], 1 << 20, 0);
  return holding;
}

// Calls of the driver (domain 1) and the runtime (2): the numbers of some, as a version may have them.
static const char* name_of_call(uint32_t domain, uint32_t id) {
  if (domain == 1 && id == 32) return "cuMemcpyHtoD_v2";
  if (domain == 1 && id == 3) return "cuDeviceGet";
  if (domain == 2 && id == 41) return "cudaMemcpyAsync_v3020";
  if (domain == 2 && id == 211) return "cudaLaunchKernel_v7000";
  return NULL;
}
int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char** name) {
  return *name = name_of_call(domain, id), *name == NULL ? 1 : 0;
}
int cuptiEnableCallback(uint32_t enable, void* subscriber, uint32_t domain, uint32_t id) {
  return calls_enabled[domain - 1][id] = (int)enable, subscriber == &version ? 0 : 1;
}
// A call as CUDA makes it: CUPTI sees its begin and its end. Returns whether a callback is enabled.
int fake_call(uint32_t domain, uint32_t id, uint32_t correlation) {
  struct Info info = {0, name_of_call(domain, id), NULL, NULL, NULL, NULL, 1, NULL, correlation};
  if (!calls_enabled[domain - 1][id]) return 0;
  call_back(NULL, domain, id, &info);
  struct timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < FAKE_CALL_NS);
  info.site = 1;
  call_back(NULL, domain, id, &info);
  return 1;
}
