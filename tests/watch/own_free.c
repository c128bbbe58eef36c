/* A program that frees what malloc() gave by a function that only its allocator has. */
#include <stdio.h>
#include <stdlib.h>

void own_free(void* begin);

int main(void) {
  char* volatile block = malloc(1 << 20);
  block[0] = 1;
  own_free(block);
  puts("all good");
  return 7;
}
