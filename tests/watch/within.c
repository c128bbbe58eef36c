// A program of HIP that sets memory of a GPU and copies within it.
#include <stdio.h>
#include <string.h>

int hipMalloc(void** data, size_t bytes);
int hipFree(void* data);
int hipMallocHost(void** data, size_t bytes);
int hipFreeHost(void* data);
int hipMemset(void* data, int value, size_t bytes);
int hipMemcpy(void* to, const void* from, size_t bytes, int kind);

enum { kToHost = 2, kWithin = 3, kBytes = 1 << 16 };

int main(void) {
  void *one, *other;
  char* seen;
  if (hipMalloc(&one, kBytes) != 0 || hipMalloc(&other, kBytes) != 0) return 1;
  if (hipMallocHost((void**)&seen, kBytes) != 0) return 2;
  for (int at = 0; at < 3; ++at)
    if (hipMemset(one, 40 + at, kBytes) != 0) return 3;
  for (int at = 0; at < 7; ++at)
    if (hipMemcpy(other, one, kBytes, kWithin) != 0) return 4;
  if (hipMemcpy(seen, other, kBytes, kToHost) != 0) return 5;
  for (int at = 0; at < kBytes; ++at)
    if (seen[at] != 42) return 6;
  if (hipFree(one) != 0 || hipFree(other) != 0 || hipFreeHost(seen) != 0) return 7;
  return puts("all bytes"), 0;
}
