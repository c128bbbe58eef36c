/* Frees memory, and forks, while another thread registers that memory with the driver. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>

#include "driver.h"

static void* allocate(void* unused) {
  char* volatile block = malloc(200000);
  free(block);
  return unused;
}

int main(int count, char** words) {
  if (count != 2) return 2;
  char *first = malloc(200000), *second = malloc(200000);
  memset(first, 7, 200000), memset(second, 7, 200000);
  if (!open_driver(words[1])) return 3;
  ((void (*)(void))in_driver("fake_activate"))();
  ((void (*)(void*))in_driver("fake_hold"))(first);
  pthread_t thread;
  if (pthread_create(&thread, NULL, allocate, NULL) != 0) return 4;
  while (!((int (*)(void))in_driver("fake_is_holding"))()) sched_yield();
  for (int one = 0; one < 2; ++one) {
    const pid_t child = fork(); /* of memory that is being registered; then of memory that is also freed */
    if (child == 0) {
      alarm(20); /* one that waits for a thread that it does not have */
      if (second[199999] != 7) _exit(5);
      if (one == 0) free(first);
      second = realloc(second, 300000);
      if (second[199999] != 7) _exit(6);
      char* volatile more = malloc(250000);
      more[249999] = 1;
      free(more), free(second);
      long counts[4];
      ((void (*)(long[4]))in_driver("fake_counts"))(counts);
      _exit(counts[1] == 0 ? 0 : 7);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) return 10 + one;
    if (one == 0) {
      if (malloc_usable_size(first) < 200000) return 8;
      free(first); /* does not wait for the driver */
      if (!((int (*)(void))in_driver("fake_is_holding"))()) return 9;
    }
  }
  ((void (*)(void))in_driver("fake_let_go"))();
  pthread_join(thread, NULL);
  free(second);
  long counts[4];
  ((void (*)(long[4]))in_driver("fake_counts"))(counts);
  return counts[0] >= 2 && counts[0] == counts[1] && counts[2] == 0 ? 0 : 20;
}
