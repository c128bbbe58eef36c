// A program of CUDA as its driver makes it: loads the injected library, and has copies that the fake CUPTI
// records.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PACKED __attribute__((packed))
struct PACKED Copy {
  uint32_t kind;
  uint8_t copy_kind, source, destination, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation, runtime;
};
struct PACKED Peer {
  uint32_t kind;
  uint8_t copy_kind, source, destination, flags;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, from, from_context, to, to_context, correlation;
};
struct PACKED Set {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t device, context, stream, correlation;
  uint16_t flags, memory;
};
struct PACKED Unified {
  uint32_t kind, counter;
  uint64_t value, start, end, address;
  uint32_t from, to, stream, process, flags;
};
struct PACKED Kernel {
  uint32_t kind, registers[3];
  uint64_t start, end, completed;
  uint32_t device, context, stream;
};
struct PACKED Memory {
  uint32_t kind, operation, memory, correlation;
  uint64_t address, bytes, time, counter;
  uint32_t process, device, context, stream;
  const char* name;
  uint32_t async;
};
struct PACKED Wait {
  uint32_t kind, type;
  uint64_t start, end;
  uint32_t correlation, context, stream, event;
};

static void (*record)(const void*, size_t);
#define RECORD(type, ...) record(&(struct type){__VA_ARGS__}, sizeof(struct type))

static void copies(int count) {
  for (int at = 0; at < count; ++at) {
    const uint64_t start = 2000000 + 1000 * (uint64_t)at;
    RECORD(Copy, 1, 1, 1, 3, 0, 4096, start, start + 500, 1);     // pageable to GPU 1
    RECORD(Copy, 1, 2, 3, 2, 1, 1 << 20, start, start + 700, 0);  // GPU 0 to pinned, asynchronous
  }
  RECORD(Peer, 22, 10, 3, 3, 1, 1 << 16, 5000000, 5000900, 0, 0, 0, 0, 0, 1);
  RECORD(Set, 2, 0, 256, 5000000, 5000050, 1, 0, 0, 0, 0, 3);
  RECORD(Unified, 25, 1, 65536, 6000000, 6000300, 0, 0, 1);
  RECORD(Unified, 25, 4, 3, 6000000, 6000300, 0, 1, 0);
  RECORD(Memory, 49, 1, 3, 0, 0, 1 << 21, 7000000, 0, 0, 1);
  RECORD(Memory, 49, 2, 2, 0, 0, 1 << 21, 7000000, 0, 0, 0);
  RECORD(Wait, 38, 3, 8000000, 8002000);
  RECORD(Wait, 38, 2, 8000000, 8002000);
}

// Each copies() has copies of 500 ns to GPU 1 and of 700 ns from GPU 0, every 1,000 ns.
static void kernels(int count) {
  for (int at = 0; at < count; ++at) {
    const uint64_t start = 2000000 + 1000 * (uint64_t)at;
    RECORD(Kernel, 10, {1, 1, 1}, start + 300, start + 400, 0, 1);
    RECORD(Kernel, 10, {1, 1, 1}, start + 350, start + 600, 0, 1);  // beside the other
  }
}

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

// Copies that this program and a library make one after the other, through a runtime; prints how many were
// heard of, and how long all took.
static void moves(void* cupti, int count, int of_driver) {
  void* const runtime = dlopen(getenv("FAKE_CUDART"), RTLD_NOW | RTLD_GLOBAL);
  void* const mover = dlopen(getenv("FAKE_MOVER"), RTLD_NOW);
  if (runtime == NULL || mover == NULL) return;
  ((void (*)(void*, void*))dlsym(runtime, "fake_begin"))(dlsym(cupti, "fake_call"),
                                                         dlsym(cupti, "fake_record"));
  int (*const copy)(size_t, int) = (int (*)(size_t, int))dlsym(runtime, "cudaMemcpyAsync");
  int (*const move)(int, int) = (int (*)(int, int))dlsym(mover, "move");
  const long long begin = now_ns();
  int heard = 0;
  for (int at = 0; at < count; ++at) heard += copy(4096, of_driver);
  heard += move(count, of_driver);
  printf("%d %lld\n", heard, now_ns() - begin);
}

static void say(void* cupti, const char* name, int number) {
  printf("%d\n", ((int (*)(int))dlsym(cupti, name))(number));
  fflush(stdout);
}

int main(int count, char** words) {
  void* const injected = dlopen(getenv("CUDA_INJECTION64_PATH"), RTLD_NOW | RTLD_LOCAL);
  if (injected == NULL) return fprintf(stderr, "%s\n", dlerror()), 9;
  int (*const start)(void) = (int (*)(void))dlsym(injected, "InitializeInjection");
  if (start == NULL || start() != 1) return 8;
  void* const cupti =
      getenv("FAKE_CUPTI") == NULL ? NULL : dlopen(getenv("FAKE_CUPTI"), RTLD_NOW | RTLD_NOLOAD);
  if (cupti == NULL) return 0;
  record = (void (*)(const void*, size_t))dlsym(cupti, "fake_record");
  for (int at = 1; at + 1 < count; at += 2) {
    const int number = atoi(words[at + 1]);
    if (strcmp(words[at], "copies") == 0) copies(number);
    if (strcmp(words[at], "kernels") == 0) kernels(number);
    if (strcmp(words[at], "moves") == 0) moves(cupti, number, 0);
    if (strcmp(words[at], "moves-of-driver") == 0) moves(cupti, number, 1);
    if (strcmp(words[at], "moves-by-driver") == 0) moves(cupti, number, 2);
    if (strcmp(words[at], "hold") == 0) say(cupti, "fake_hold", number);
    if (strcmp(words[at], "give-back") == 0) say(cupti, "fake_give_back", number);
    if (strcmp(words[at], "sleep") == 0) usleep((useconds_t)number * 1000);
    if (strcmp(words[at], "kill") == 0) kill(getpid(), number);
  }
  return 0;
}
