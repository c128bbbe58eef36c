/* A program that allocates little, and has one thread. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  free(malloc(1000));
  DIR* const threads = opendir("/proc/self/task");
  int entries = 0;
  while (readdir(threads) != NULL) ++entries;
  closedir(threads);
  if (entries != 3) return 1; /* with "." and ".." */
  puts("all good");
  return 7;
}
