/* Every function of C that allocates or frees, below and above the size from which memory is changed. -DWHOLE: also
   what not every allocator can do. */
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a block has so many bytes, at this alignment. */
static int is_good(void* block, size_t bytes, size_t alignment) {
  if (bytes < alignment && alignment == 16) alignment = 1; /* jemalloc aligns a small block less */
  if (block == NULL || (uintptr_t)block % alignment != 0 || malloc_usable_size(block) < bytes) return 0;
  memset(block, 5, bytes);
  return 1;
}

static int use_size(size_t bytes) {
  char* block = (char*)malloc(bytes);
  if (!is_good(block, bytes, 16)) return 10;
  free(block);
  block = (char*)calloc(bytes / 8, 8);
  for (size_t at = 0; at < bytes / 8 * 8; ++at)
    if (block[at] != 0) return 11;
  for (size_t next = bytes; next < 4 * bytes; next += bytes / 2 + 1) { /* grows across the size */
    block = (char*)realloc(block, next);
    if (!is_good(block, next, 16)) return 12;
  }
  block = (char*)reallocarray(block, bytes, 3);
  if (!is_good(block, 3 * bytes, 16)) return 13;
  volatile size_t most = SIZE_MAX / 2;
  if (reallocarray(block, most, 3) != NULL) return 14;
  block = (char*)realloc(block, 10);
  if (!is_good(block, 10, 16)) return 15;
  free(block);
  void* aligned;
  if (posix_memalign(&aligned, 256, bytes) != 0 || !is_good(aligned, bytes, 256)) return 16;
  free(aligned);
  if (posix_memalign(&aligned, 3, bytes) == 0) return 17;
  aligned = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!is_good(aligned, bytes, 64)) return 18;
  free(aligned);
  aligned = memalign(512, bytes);
  if (!is_good(aligned, bytes, 512)) return 19;
  aligned = realloc(aligned, bytes + 100);
  if (!is_good(aligned, bytes + 100, 16)) return 20;
  free(aligned);
  aligned = valloc(bytes);
  if (!is_good(aligned, bytes, 4096)) return 21;
  free(aligned);
#ifdef WHOLE
  aligned = pvalloc(bytes);
  if (!is_good(aligned, (bytes + 4095) / 4096 * 4096, 4096)) return 22;
  free(aligned);
#endif
  char* text = NULL;
  if (asprintf(&text, "%*d", (int)bytes, 7) != (int)bytes) return 23; /* of the C library */
  char* copy = strdup(text);
  if (strcmp(copy, text) != 0) return 24;
  free(text), free(copy);
  return 0;
}

static int use_c(void) {
  static const size_t kSizes[] = {1, 100, 4000, 70000, 99999, 100000, 131072, 300000, 5000000};
  for (size_t at = 0; at < sizeof kSizes / sizeof *kSizes; ++at) {
    const int error = use_size(kSizes[at]);
    if (error != 0) return error;
  }
  malloc_trim(0);
  return 0;
}
