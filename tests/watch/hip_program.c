// A program of HIP as rocprofiler-register makes it: loads the tools, and has calls that the fake
// rocprofiler-sdk records.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  uint64_t handle;
} Id;
typedef struct {
  const char* name;
  uint32_t handle;
} Client;
typedef struct {
  size_t size;
  int (*initialize)(void (*)(Client), void*);
  void (*finalize)(void*);
  void* data;
} Configured;
void fake_call(int32_t operation, uint64_t correlation, uint64_t start, uint64_t end);
void fake_copy(uint64_t correlation, uint64_t from, uint64_t to, uint64_t bytes, uint64_t source,
               uint64_t start, uint64_t end);
void fake_allocation(int32_t operation, uint64_t correlation, uint64_t agent, uint64_t address,
                     uint64_t bytes);
void fake_drop(uint64_t many);
int rocprofiler_flush_buffer(Id buffer);

enum { kCopyCall = 1, kHostMalloc = 3, kHostFree = 4, kRegister = 5, kSynchronize = 6 };
enum { kCpu1 = 1010, kGpu0 = 1020, kGpu1 = 1030, kPinned = 1 << 20, kElsewhere = 1 << 28 };
static const Configured* tool;
static uint64_t next = 10;  // number of a call
static void finish(void) { tool->finalize(tool->data); }

// Calls that a kernel of the runtime serves.
static void blits(int count) {
  for (uint64_t at = 0; at < (uint64_t)count; ++at) fake_call(kCopyCall, next++, 100, 140);
}

static void work(int count) {
  fake_call(kHostMalloc, 1, 1000, 1600);
  fake_allocation(1, 1, kCpu1, kPinned, 1 << 16);
  fake_allocation(1, 0, kCpu1, kPinned << 4, 1 << 16);  // of the runtime itself
  for (uint64_t at = 0; at < (uint64_t)count; ++at) {
    const uint64_t call = next, time = 2000 * at + 10000;
    // An asynchronous copy ends after its call has, a blocking one before.
    next += 2;
    fake_call(kCopyCall, call, time, time + 200);
    fake_copy(call, kCpu1, kGpu1, 4096, kPinned + 64, time + 100, time + 600);
    fake_copy(call + 1, kCpu1, kGpu0, 8192, kElsewhere, time + 100, time + 800);
    if (at % 2 == 1) rocprofiler_flush_buffer((Id){9});
    fake_call(kCopyCall, call + 1, time, time + 900);
  }
  fake_copy(5, kGpu0, kGpu1, 1 << 20, 0, 5000, 5900);  // of a call that is not traced
  fake_call(kSynchronize, 6, 7000, 9000);
  fake_call(kHostFree, 7, 9000, 9100);
  fake_allocation(3, 7, 0, kPinned, 0);
}

int main(int count, char** words) {
  void* const library = dlopen(getenv("ROCP_TOOL_LIBRARIES"), RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return fprintf(stderr, "%s\n", dlerror()), 9;
  Client client = {NULL, 1};
  Configured* (*const configure)(uint32_t, const char*, uint32_t, Client*) =
      (Configured * (*)(uint32_t, const char*, uint32_t, Client*)) dlsym(library, "rocprofiler_configure");
  tool = configure(10000, "fake", 0, &client);
  if (tool == NULL || client.name == NULL || tool->size != sizeof *tool) return 8;
  if (tool->initialize(NULL, tool->data) != 0) return 0;
  atexit(finish);
  for (int at = 1; at + 1 < count; at += 2) {
    const int number = atoi(words[at + 1]);
    if (strcmp(words[at], "work") == 0) work(number);
    if (strcmp(words[at], "blits") == 0) blits(number);
    if (strcmp(words[at], "register") == 0) fake_call(kRegister, 3, 100, 200);
    if (strcmp(words[at], "drop") == 0) fake_drop((uint64_t)number);
    if (strcmp(words[at], "sleep") == 0) usleep((useconds_t)number * 1000);
    if (strcmp(words[at], "kill") == 0) kill(getpid(), number);
  }
  return 0;
}
