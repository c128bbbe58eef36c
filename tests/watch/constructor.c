// A library whose constructor starts a thread that makes a large copy and a large allocation, and waits for
// it: the loader's lock is held all the time.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { kLarge = 1 << 20 };
static char from[kLarge], to[kLarge];
static void* (*volatile copy)(void*, const void*, size_t) = memcpy;

static void* work(void* data) {
  copy(to, from, kLarge);
  free(malloc(kLarge));
  return data;
}

__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
}
