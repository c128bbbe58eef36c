/* A library whose constructor starts a thread that allocates, and waits for it; the program opens it. */
#include <pthread.h>
#include <stdlib.h>

static void* allocate(void* unused) {
  for (int turn = 0; turn < 20; ++turn) {
    char* volatile block = malloc(1 << 20);
    block[0] = 1;
    free(block);
  }
  return unused;
}

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, allocate, NULL);
  pthread_join(thread, NULL);
}

int use_module(void) { return 0; }
