/* A CUDA driver for tests: it counts what is registered, allocated and freed. Written anew after the driver's documentation. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static int is_active;
static _Atomic long registered, unregistered, pinned_now, managed_now;

/* Whether anybody has asked for devices: then the driver has been found. */
static _Atomic int is_found;
int fake_is_found(void) { return is_found; }

/* A capture in global mode: calls that may interfere make it invalid, unless their thread is in relaxed mode. */
static _Atomic int is_capturing, is_invalid;
static _Thread_local int mode; /* CU_STREAM_CAPTURE_MODE_GLOBAL; 2: relaxed */
void fake_begin_capture(void) { is_capturing = 1; }
int fake_end_capture(void) { return is_capturing = 0, is_invalid || mode != 0; }
static void interfere(void) {
  if (is_capturing && mode != 2) is_invalid = 1;
}
int cuThreadExchangeStreamCaptureMode(int* other) {
  const int before = mode;
  return mode = *other, *other = before, 0;
}

/* A registration that takes until fake_let_go(). */
static void* _Atomic held;
static _Atomic int is_holding;
void fake_hold(void* begin) { held = begin; }
int fake_is_holding(void) { return is_holding; }
void fake_let_go(void) { held = NULL; }

/* A driver allocates and frees within its calls, and refuses others meanwhile. */
static _Thread_local int busy;
static void work(void) {
  busy = 1;
  void* volatile some = malloc(1 << 20);
  free(some);
  busy = 0;
}

void fake_activate(void) {
  is_active = 1;
  work(); /* the rest of making a context */
}
void fake_counts(long counts[4]) {
  counts[0] = registered, counts[1] = unregistered, counts[2] = pinned_now, counts[3] = managed_now;
}

int cuDeviceGetCount(int* count) { return is_found = 1, *count = 1, 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  return (void)device, *flags = 0, *active = is_active, 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) { return (void)device, *context = &is_active, 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, 0; }
int cuCtxGetCurrent(void** context) { return *context = NULL, 0; }
int cuCtxPushCurrent_v2(void* context) { return context == &is_active ? 0 : 1; }
int cuCtxPopCurrent_v2(void** context) { return *context = &is_active, 0; }

int cuMemHostRegister_v2(void* begin, size_t bytes, unsigned flags) {
  if (busy) return 1;
  interfere();
  work();
  while (begin == held) is_holding = 1, sched_yield();
  if ((size_t)begin % 4096 != 0 || bytes % 4096 != 0 || flags != 1) return 1;
  return ++registered, 0;
}
int cuMemHostUnregister(void* begin) { return interfere(), (void)begin, ++unregistered, 0; }
int cuMemHostAlloc(void** begin, size_t bytes, unsigned flags) {
  (void)flags;
  interfere();
  *begin = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *(char*)*begin = 1; /* memory of a driver need not be zero */
  return ++pinned_now, 0;
}
int cuMemFreeHost(void* begin) { return interfere(), (void)begin, --pinned_now, 0; }
int cuMemAllocManaged(void** begin, size_t bytes, unsigned flags) {
  const int error = cuMemHostAlloc(begin, bytes, flags);
  return --pinned_now, ++managed_now, error;
}
int cuMemFree_v2(void* begin) { return interfere(), (void)begin, --managed_now, 0; }
