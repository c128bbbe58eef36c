// A library that copies for a program, from different depths of the stack.
#include <stddef.h>

int cudaMemcpyAsync(size_t bytes, int of_driver);

__attribute__((noinline)) static int deeper(volatile char* room, int depth, int of_driver) {
  char more[200];
  more[depth] = room[0];
  const int heard = depth == 0 ? cudaMemcpyAsync(8192, of_driver) : deeper(more, depth - 1, of_driver);
  return heard + (more[depth] == 9);
}

int move(int count, int of_driver) {
  char room[1] = {0};
  int heard = 0;
  for (int at = 0; at < count; ++at) heard += deeper(room, at % 5, of_driver);
  return heard;
}
