// A program of HIP that copies memory of every origin, and checks each byte.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hipMalloc(void** data, size_t bytes);
int hipFree(void* data);
int hipMallocHost(void** data, size_t bytes);
int hipFreeHost(void* data);
int hipHostRegister(void* data, size_t bytes, unsigned flags);
int hipHostUnregister(void* data);
int hipMemcpy(void* to, const void* from, size_t bytes, int kind);
int hipMemcpyHtoD(void* to, void* from, size_t bytes);
int hipMemcpyDtoH(void* to, void* from, size_t bytes);
int hipDeviceSynchronize(void);

enum { kToDevice = 1, kToHost = 2, kBytes = 3 << 20 };
static char in_program[1000];

// There and back through the device; returns whether every byte is the same.
static int returns(void* device, char* from, char* to, size_t bytes) {
  for (size_t at = 0; at < bytes; ++at) from[at] = (char)(at * 7 + bytes);
  memset(to, 0, bytes);
  if (hipMemcpy(device, from, bytes, kToDevice) != 0) return 0;
  if (hipMemcpy(to, device, bytes, kToHost) != 0) return 0;
  return memcmp(from, to, bytes) == 0;
}

int main(void) {
  void* device;
  if (hipMalloc(&device, kBytes) != 0) return 1;
  char *heap = malloc(kBytes), *other = malloc(kBytes), *registered = malloc(kBytes), *pinned, on_stack[1000];
  if (!returns(device, heap, other, kBytes)) return 2;
  if (!returns(device, heap + 1, other + 3, 77)) return 3;  // neither begins with a word
  if (!returns(device, in_program, on_stack, sizeof on_stack)) return 4;
  if (hipHostRegister(registered, kBytes, 0) != 0) return 5;
  if (!returns(device, registered, other, kBytes)) return 6;
  if (hipHostUnregister(registered) != 0) return 7;
  if (!returns(device, registered, other, kBytes)) return 8;
  if (hipMallocHost((void**)&pinned, kBytes) != 0) return 9;
  if (!returns(device, pinned, other, kBytes)) return 10;
  for (int at = 0; at < 500; ++at)  // one address of the heap after another
    if (!returns(device, heap + 8 * at, other, 64)) return 11;
  if (hipMemcpyHtoD(device, heap, 4096) != 0 || hipMemcpyDtoH(other, device, 4096) != 0) return 12;
  if (memcmp(heap, other, 4096) != 0) return 13;
  if (hipMemcpy(device, heap, (size_t)2 * kBytes, kToDevice) == 0) return 14;  // beyond the device's block
  if (hipDeviceSynchronize() != 0 || hipFree(device) != 0 || hipFreeHost(pinned) != 0) return 15;
  free(heap), free(other), free(registered);
  return puts("all bytes"), 0;
}
