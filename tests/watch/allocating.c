/* Allocates as programs do, before and after the fake driver has a context, and prints what the driver counted. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"

static void (*fake_counts)(long[4]);

static void print_counts(const char* when) {
  long counts[4];
  fake_counts(counts);
  printf("%s %ld %ld %ld %ld\n", when, counts[0], counts[1], counts[2], counts[3]);
  fflush(stdout);
}

static void* churn(void* unused) {
  for (int turn = 0; turn < 300; ++turn) {
    char* volatile block = malloc(100000 + 1000 * (turn % 7));
    block[99999] = 1;
    free(block);
  }
  return unused;
}

int main(int count, char** words) {
  if (count != 2) return 2;
  char* early = malloc(200000); /* before the driver is loaded */
  strcpy(early, "early");
  if (!open_driver(words[1])) return fprintf(stderr, "%s\n", dlerror()), 3;
  fake_counts = (void (*)(long[4]))in_driver("fake_counts");
  void* small = malloc(1000);
  print_counts("loaded");
  ((void (*)(void))in_driver("fake_activate"))();
  char* zeros = calloc(300000, 1);
  for (int place = 0; place < 300000; ++place)
    if (zeros[place] != 0) return 4;
  print_counts("active");
  void* aligned = NULL;
  if (posix_memalign(&aligned, 1 << 16, 500000) != 0 || (size_t)aligned % (1 << 16) != 0) return 5;
  if (malloc_usable_size(aligned) < 500000 || malloc_usable_size(small) < 1000) return 6;
  early = realloc(early, 900000);
  if (strcmp(early, "early") != 0) return 7;
  if (posix_memalign(&small, 3, 500000) == 0) return 8;
  print_counts("allocated");
  if (fork() == 0) { /* a child shares the pages; what the driver knows is its parent's */
    free(early);
    long counts[4];
    fake_counts(counts);
    _exit(counts[1] > 1 ? 9 : 0);
  }
  int status = 0;
  wait(&status);
  if (status != 0) return 10;
  pthread_t threads[4];
  for (int one = 0; one < 4; ++one) pthread_create(&threads[one], NULL, churn, NULL);
  for (int one = 0; one < 4; ++one) pthread_join(threads[one], NULL);
  free(zeros), free(aligned), free(early);
  long counts[4];
  fake_counts(counts);
  printf("freed %ld %ld %ld\n", counts[0] - counts[1], counts[2], counts[3]);
  return 0;
}
