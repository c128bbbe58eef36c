// Copies of known sizes through the C library's functions, whose addresses keep the compiler from replacing
// them.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void* (*volatile copy)(void*, const void*, size_t) = memcpy;
static void* (*volatile move)(void*, const void*, size_t) = memmove;
void* __memcpy_chk(void*, const void*, size_t, size_t);
static void* (*volatile checked)(void*, const void*, size_t, size_t) = __memcpy_chk;

enum { kLarge = 1 << 20, kThreads = 4 };

static void* work(void* data) {
  char* const own = malloc(kLarge);
  for (int at = 0; at < 100; ++at) copy(own, data, kLarge / 2);
  free(own);
  return NULL;
}

// `overflow`: a checked copy beyond its destination. `child`: copies in a forked child alone.
int main(int count, char** words) {
  char* const data = malloc(2 * kLarge);
  for (int at = 0; at < 2 * kLarge; ++at) data[at] = (char)(at * 7);
  char* const other = malloc(2 * kLarge);
  if (count > 1 && strcmp(words[1], "overflow") == 0) return checked(other, data, kLarge, kLarge - 1) == NULL;
  if (count > 1 && strcmp(words[1], "child") == 0) {
    if (fork() == 0) copy(other, data, kLarge), _exit(0);
    return wait(NULL) < 0;
  }
  for (int at = 0; at < 1000; ++at) copy(other, data, 1000);  // small
  for (int at = 0; at < 5; ++at) copy(other, data, kLarge);
  if (memcmp(other, data, kLarge) != 0) puts("WRONG copy");
  for (int at = 0; at < 3; ++at) checked(other, data, kLarge, 2 * kLarge);
  if (move(other + 1, other, kLarge) != other + 1 || memcmp(other + 1, data, kLarge) != 0) puts("WRONG up");
  if (move(other, other + 1, kLarge) != other || memcmp(other, data, kLarge) != 0) puts("WRONG down");
  pthread_t threads[kThreads];
  for (int at = 0; at < kThreads; ++at) pthread_create(&threads[at], NULL, work, data);
  for (int at = 0; at < kThreads; ++at) pthread_join(threads[at], NULL);
  return puts("done"), 0;
}
