// Loads the plugin that NCCL_PROFILER_PLUGIN names as NCCL of a version of the interface does, and has
// operations of known content. Arguments: the version, and how many of each operation.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Event {
  union {
    uint8_t type_v4;
    uint64_t type;
  };
  void* parent;
  int rank;
  union {
    struct {
      uint64_t sequence;
      const char* func;
      const void* send;
      void* recv;
      size_t count;
      int root;
      const char* datatype;
      uint8_t channels, warps;
      const char *algo, *proto;
      void* group;
    } coll;
    struct {
      const char* func;
      void* buff;
      const char* datatype;
      size_t count;
      int peer;
      uint8_t channels;
      void* group;
    } p2p;
    struct {
      uint8_t channel;
      uint64_t timer;
    } kernel;
  };
};
union State {
  struct {
    uint64_t timer;
  } kernel;
};
struct Profiler {
  const char* name;
  void* init;
  int (*start)(void*, void**, struct Event*);
  int (*stop)(void*);
  int (*state)(void*, int, union State*);
  int (*finalize)(void*);
};

enum { kRanks = 8, kChannels = 4, kStopped = 22 };

static const struct Profiler* profiler;
static void* context;
static int version;

static void* started(uint64_t type, struct Event event) {
  void* handle = NULL;
  memset(&event.type, 0xa5, sizeof event.type);  // what is no part of a small type may be anything
  if (version == 4)
    event.type_v4 = (uint8_t)type;
  else
    event.type = type;
  if (profiler->start(context, &handle, &event) != 0) puts("WRONG start");
  return handle;
}

// Kernels of the channels, staggered by 10 ns, which take 1000 ns each; `channels` of them tell their end.
static void kernels(void* parent, uint64_t at, int channels) {
  void* handles[kChannels];
  for (int channel = 0; channel < channels; ++channel) {
    struct Event event = {.parent = parent, .kernel = {(uint8_t)channel, at + 10 * (uint64_t)channel}};
    handles[channel] = started(1 << 6, event);
  }
  for (int channel = 0; channel < channels; ++channel) {
    union State state = {{at + 10 * (uint64_t)channel + 1000}};
    if (profiler->state(handles[channel], kStopped, &state) != 0) puts("WRONG state");
    profiler->stop(handles[channel]);
  }
}

static void* operations(void* count) {
  for (int at = 0; at < *(int*)count; ++at) {
    void* const group = started(1 << 0, (struct Event){0});
    struct Event reduce = {
        .parent = group,
        .coll = {1, "AllReduce", NULL, NULL, 1000, 0, "ncclFloat32", kChannels, 8, "RING", "LL", NULL}};
    struct Event gather = {
        .parent = group,
        .coll = {2, "AllGather", NULL, NULL, 512, 0, "ncclInt8", kChannels, 8, "NVLS", "SIMPLE", NULL}};
    struct Event send = {.parent = group, .p2p = {"Send", NULL, "ncclBfloat16", 300, 3, kChannels, NULL}};
    void* const handles[] = {started(1 << 1, reduce), started(1 << 1, gather), started(1 << 2, send)};
    void* const proxy = started(1 << 3, (struct Event){.parent = handles[0]});
    for (int one = 0; one < 3; ++one) profiler->stop(handles[one]);
    kernels(handles[0], 1000000, kChannels);
    kernels(handles[1], 2000000, kChannels - 1);  // one is lost: no time
    kernels(handles[2], 3000000, kChannels);
    profiler->state(proxy, 19, NULL);
    profiler->stop(proxy);
    profiler->stop(group);
  }
  return NULL;
}

int main(int count, char** words) {
  char name[32];
  void* const plugin = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  if (plugin == NULL) return fprintf(stderr, "%s\n", dlerror()), 9;
  version = atoi(words[1]);
  int number = atoi(words[2]), mask = 0, error;
  snprintf(name, sizeof name, "ncclProfiler_v%d", version);
  profiler = dlsym(plugin, name);
  if (profiler == NULL) return 8;
  if (version == 4)
    error = ((int (*)(void**, int*, const char*, uint64_t, int, int, int, void*))profiler->init)(
        &context, &mask, "comm", 7, 1, kRanks, 2, NULL);
  else
    error = ((int (*)(void**, uint64_t, int*, const char*, int, int, int, void*))profiler->init)(
        &context, 7, &mask, "comm", 1, kRanks, 2, NULL);
  printf("%d %d\n", error, mask);
  if (mask == 0) return 0;
  pthread_t other;
  pthread_create(&other, NULL, operations, &number);
  operations(&number);
  pthread_join(other, NULL);
  if (profiler->finalize(context) != 0) puts("WRONG finalize");
  dlclose(plugin);
  return 0;
}
