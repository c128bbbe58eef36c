/* A program of C that allocates in every way. */
#include "allocators.h"

int main(void) {
  const int error = use_c();
  if (error != 0) return error;
  puts("all good");
  return 7;
}
