/* Allocates in each way, before and after a driver has a context, and checks every byte. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

enum { kBytes = 200000, kBlocks = 4 };

static int is_whole(const char* block, char value) {
  for (int at = 0; at < kBytes; ++at)
    if (block[at] != value) return 0;
  return 1;
}

int main(int count, char** words) {
  char* blocks[kBlocks];
  for (int turn = 0; turn < 2; ++turn) {
    blocks[0] = malloc(kBytes);
    blocks[1] = calloc(kBytes, 1);
    if (!is_whole(blocks[1], 0)) return 3;
    if (posix_memalign((void**)&blocks[2], 1 << 16, kBytes) != 0) return 4;
    blocks[3] = realloc(malloc(100), kBytes);
    for (int at = 0; at < kBlocks; ++at) memset(blocks[at], at, kBytes);
    blocks[0] = realloc(blocks[0], 2 * kBytes);
    for (int at = 0; at < kBlocks; ++at)
      if (!is_whole(blocks[at], (char)at)) return 5;
    if (turn == 0 && count == 2) {
      driver = dlopen(words[1], RTLD_NOW);
      if (driver == NULL) return 2;
      ((void (*)(void))in_driver("fake_activate"))();
      usleep(400000); /* the collector looks for a driver */
    }
    for (int at = 0; at < kBlocks; ++at) free(blocks[at]);
  }
  long counts[4];
  ((void (*)(long[4]))in_driver("fake_counts"))(counts);
  puts("all good");
  return 7;
}
