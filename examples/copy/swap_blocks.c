/* Swaps blocks of a KV cache between host and GPU memory with libbyteways_copy, and checks every byte.
 *
 *     cc -o swap_blocks swap_blocks.c -I INCLUDE -L LIBRARIES -lbyteways_copy -lcuda
 *     ./swap_blocks machine.plan        (a plan is made by: byteways plan --measure -o machine.plan)
 *
 * Without an argument the copies are the driver's own calls.
 */
#include <byteways_copy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_driver.h"

enum { kBlocks = 24, kBlockBytes = 16384, kPlaces = 2 * kBlocks, kBytes = kPlaces * kBlockBytes };

static void check(int failed, const char *what) {
  if (failed == 0) return;
  fprintf(stderr, "%s: %s\n", what, bw_error_text(failed));
  exit(1);
}

/* As bw_last_error() has more to say of calls of this library: which block, which line of the plan. */
static void check_copy(int failed) {
  if (failed == 0) return;
  fprintf(stderr, "%s\n", bw_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  CUcontext context;
  CUstream stream;
  CUdeviceptr cache;
  void *host = NULL;
  bw_plan *plan = NULL;
  check(cuInit(0), "cuInit");
  check(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
  check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  check(cuMemAlloc(&cache, kBytes), "cuMemAlloc");
  check(cuMemHostAlloc(&host, kBytes, 0), "cuMemHostAlloc");

  if (argc > 1) check_copy(bw_plan_open(argv[1], &plan));
  if (plan != NULL && *bw_plan_warning(plan)) fprintf(stderr, "warning: %s\n", bw_plan_warning(plan));

  /* Block k lies at place k on the host, and at any place in the cache. */
  unsigned char *const bytes = host;
  void *to[kBlocks], *back[kBlocks];
  const void *from[kBlocks], *cached[kBlocks];
  for (int k = 0; k < kBlocks; ++k) {
    const int place = (7 * k + 3) % kPlaces;
    memset(bytes + (size_t)k * kBlockBytes, k + 1, kBlockBytes);
    from[k] = bytes + (size_t)k * kBlockBytes;
    cached[k] = to[k] = (char *)(size_t)cache + (size_t)place * kBlockBytes;
    back[k] = bytes + (size_t)(kBlocks + k) * kBlockBytes;
  }
  /* Both are enqueued; the second begins when the first is done, because they are of one stream. */
  check_copy(bw_copy_blocks_uniform(to, from, kBlockBytes, kBlocks, stream, plan));
  check_copy(bw_copy_blocks_uniform(back, cached, kBlockBytes, kBlocks, stream, plan));
  check(cuStreamSynchronize(stream), "cuStreamSynchronize");

  int wrong = 0;
  for (int k = 0; k < kBlocks; ++k) wrong += memcmp(from[k], back[k], kBlockBytes) != 0;
  printf("%d of %d blocks are right\n", kBlocks - wrong, kBlocks);
  if (plan != NULL) {
    struct bw_statistics counts = {sizeof counts, {0}, {0}, {0}, 0};
    check_copy(bw_get_statistics(plan, &counts));
    for (int method = 0; method < BW_METHODS; ++method)
      if (counts.calls[method] != 0)
        printf("%s: %llu calls, %llu bytes\n", bw_method_name(method), (unsigned long long)counts.calls[method],
               (unsigned long long)counts.bytes[method]);
    for (int reason = 1; reason < BW_FALLBACKS; ++reason)
      if (counts.fallbacks[reason] != 0)
        printf("driver's call %llu times: %s\n", (unsigned long long)counts.fallbacks[reason],
               bw_fallback_text(reason));
  }
  bw_plan_close(plan);
  check(cuMemFreeHost(host), "cuMemFreeHost");
  check(cuMemFree(cache), "cuMemFree");
  check(cuStreamDestroy(stream), "cuStreamDestroy");
  return wrong != 0;
}
