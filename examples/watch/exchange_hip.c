/* Steps of a program on two AMD GPUs, with copies alone: each step brings a block from ordinary memory and one from
   pinned memory, exchanges it between the GPUs, and brings the result back.

     cc exchange_hip.c -o exchange -lamdhip64       # with ROCm; -l:libamdhip64.so.5 with Debian's library
     byteways watch -- ./exchange
     byteways watch --machine frontier-mi250x -- ./exchange      # without a GPU */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ihipStream_t* hipStream_t;
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
int hipGetDeviceCount(int* count);
int hipSetDevice(int device);
int hipDeviceEnablePeerAccess(int device, unsigned flags);
int hipMalloc(void** data, size_t bytes);
int hipFree(void* data);
int hipHostMalloc(void** data, size_t bytes, unsigned flags);
int hipHostFree(void* data);
int hipStreamCreate(hipStream_t* stream);
int hipStreamSynchronize(hipStream_t stream);
int hipStreamDestroy(hipStream_t stream);
int hipMemcpy(void* to, const void* from, size_t bytes, int kind);
int hipMemcpyAsync(void* to, const void* from, size_t bytes, int kind, hipStream_t stream);
int hipMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes, hipStream_t stream);

enum { kBlock = 4 << 20, kBatch = 256 << 10, kSteps = 50 };

#define CHECK(call) \
  do { \
    const int error = (call); \
    if (error != 0) return fprintf(stderr, "%s: error %d\n", #call, error), 1; \
  } while (0)

int main(void) {
  int gpus = 0;
  CHECK(hipGetDeviceCount(&gpus));
  if (gpus < 2) return fprintf(stderr, "two GPUs are needed\n"), 1;
  char *block = malloc(kBlock), *batch, *result;
  void *on_first, *on_second;
  hipStream_t stream;
  CHECK(hipSetDevice(1));
  CHECK(hipMalloc(&on_second, kBlock));
  CHECK(hipSetDevice(0));
  CHECK(hipDeviceEnablePeerAccess(1, 0));
  CHECK(hipMalloc(&on_first, kBlock));
  CHECK(hipHostMalloc((void**)&batch, kBatch, 0));
  CHECK(hipHostMalloc((void**)&result, kBlock, 0));
  CHECK(hipStreamCreate(&stream));
  for (int step = 0; step < kSteps; ++step) {
    memset(block, step, kBlock);
    memset(batch, 100 + step, kBatch);
    CHECK(hipMemcpy(on_first, block, kBlock, hipMemcpyHostToDevice));
    CHECK(hipMemcpyAsync(on_first, batch, kBatch, hipMemcpyHostToDevice, stream));
    CHECK(hipMemcpyPeerAsync(on_second, 1, on_first, 0, kBlock, stream));
    CHECK(hipMemcpyAsync(result, on_second, kBlock, hipMemcpyDeviceToHost, stream));
    CHECK(hipStreamSynchronize(stream));
    if (result[0] != (char)(100 + step) || result[kBlock - 1] != step) return fprintf(stderr, "a wrong byte\n"), 1;
  }
  printf("%d steps: every byte is right\n", kSteps);
  CHECK(hipStreamDestroy(stream));
  CHECK(hipHostFree(batch));
  CHECK(hipHostFree(result));
  CHECK(hipFree(on_first));
  CHECK(hipFree(on_second));
  free(block);
  return 0;
}
