// Large and small copies of memory whose bytes are added up; for C libraries other than glibc, too.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
  unsigned long sum = 0;
  for (size_t size = 1; size <= 1u << 22; size *= 2) {
    unsigned char *from = malloc(size), *to = calloc(1, size);
    memset(from, (int)(size % 251), size);
    memcpy(to, from, size);
    memmove(to + size / 2, to, size / 2);
    for (size_t at = 0; at < size; at += 97) sum += to[at];
    free(from);
    free(to);
  }
  printf("%lu\n", sum);
  return 0;
}
