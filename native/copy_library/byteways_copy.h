/* libbyteways_copy: copies between host and GPU memory by the method that was measured to be fastest.
 *
 * A program passes the same arguments as to the driver's copy call, and a plan:
 *
 *     bw_plan *plan;
 *     int failed = bw_plan_open("machine.plan", &plan);      // made by: byteways plan --measure -o machine.plan
 *     if (failed) fprintf(stderr, "%s\n", bw_last_error());
 *     failed = bw_copy_blocks_uniform(dst, src, 16384, 1024, stream, plan);
 *     ...
 *     bw_plan_close(plan);
 *
 * The plan says which method is faster than the driver's copy call for which sizes, counts and places. A method
 * is used only where its measured lead has a confidence interval that excludes equality; everywhere else, and
 * whenever a method is not possible, the copy is the driver's own call (cuMemcpyAsync, hipMemcpyAsync).
 *
 * Calls that copy
 *   - are ordered in their stream like the driver's own asynchronous copies, and never wait for the GPU;
 *   - start no thread;
 *   - may be made by several threads, on several streams and GPUs, with one plan;
 *   - may be captured into a graph, if the plan is closed after the graph is destroyed. Methods that cannot be
 *     captured are replaced by the driver's call. No function here ends a capture, of this thread or another;
 *   - leave no error in HIP (hipGetLastError) that they have recovered from. An error that the program has not
 *     read yet is left, as far as HIP keeps it: before HIP 7 each call of HIP's replaces it.
 * The driver is found when the first function is called: libcuda.so.1 or libamdhip64.so, or the file that
 * BYTEWAYS_LIBCUDA or BYTEWAYS_LIBHIP names. BYTEWAYS_COPY=off in the environment makes every copy the driver's
 * call; it is read once. A driver that does not start is tried again by the next call.
 *
 * A reset (cudaDeviceReset, hipDeviceReset) takes from a plan what it has on that GPU. Copies there are the
 * driver's calls (BW_FALLBACK_NOT_PREPARED) until bw_plan_prepare() is called again. HIP before 5.0 does not say
 * that a GPU was reset: close the plan before. No GPU may be reset while another thread copies.
 *
 * Memory: source and destination must remain valid until the stream has done the copy, as for the driver's
 * asynchronous copies. The arrays of pointers and sizes are read during the call only.
 */
#ifndef BYTEWAYS_COPY_H
#define BYTEWAYS_COPY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Raised when a function or structure below changes incompatibly. Compare with bw_abi(). */
#define BW_ABI 1
int bw_abi(void);

/* Results: 0; a positive code is the driver's own (CUresult, hipError_t) and unchanged; negative ones are these. */
enum bw_error {
  BW_OK = 0,
  BW_NULL_POINTER = -1,      /* a pointer is null and its size is not 0, or a result has no address */
  BW_OVERLAP = -2,           /* blocks overlap, so that the result would depend on their order */
  BW_NO_DRIVER = -3,         /* neither CUDA's nor HIP's library can be loaded, or it has no GPU */
  BW_FORKED = -4,            /* this process was forked after the driver was in use: drivers do not survive that */
  BW_PLAN_NOT_READ = -5,     /* the file of the plan cannot be read, or is no regular file */
  BW_PLAN_DAMAGED = -6,      /* the file is no plan, is cut or changed, or says what cannot be; bw_last_error()
                                names the line */
  BW_NO_SUCH_GPU = -7,       /* a number that names no GPU of this process */
  BW_OUT_OF_MEMORY = -8,     /* host memory for the library's own tables */
  BW_NO_CURRENT_GPU = -9     /* no GPU is current in this thread (cuCtxSetCurrent) */
};
/* Text for a result of this library, or of the driver. Never null; valid until the thread's next call. */
const char *bw_error_text(int code);
/* What went wrong in this thread's last call that failed, with its details: which blocks, which line. Never null. */
const char *bw_last_error(void);

/* --- copies. A null plan: the driver's calls. `stream` is a CUstream, cudaStream_t or hipStream_t. */

typedef struct bw_plan bw_plan;

int bw_copy(void *dst, const void *src, size_t bytes, void *stream, bw_plan *plan);

/* Copies n blocks, the k-th from src[k] to dst[k]. The order in which they are copied is not defined: blocks of
 * which one writes what another reads or writes are refused (BW_OVERLAP), and nothing is copied. Repetitions of
 * one and the same block are allowed, and blocks of 0 bytes, whose pointers are not looked at. After a failure of
 * the driver within a call, some blocks may be copied. */
int bw_copy_blocks(void *const *dst, const void *const *src, const size_t *bytes, size_t n, void *stream,
                   bw_plan *plan);
/* The same for blocks of equal size. */
int bw_copy_blocks_uniform(void *const *dst, const void *const *src, size_t block_bytes, size_t n, void *stream,
                           bw_plan *plan);

/* --- plans. Functions below may wait for the GPU and allocate memory: call them during start-up. */

/* Reads a plan, and prepares it for the GPU that is current in this thread, if there is one. A plan of another
 * machine or driver is opened without error, copies with the driver's calls, and says why: bw_plan_warning(). */
int bw_plan_open(const char *path, bw_plan **plan);
/* Prepares a plan for the current GPU: loads kernels, which are compiled for AMD GPUs, allocates what they need,
 * and copies a few small blocks by every method of the plan. A method that fails this test is not used. Copies on
 * a GPU for which the plan has not been prepared are the driver's calls. Kernels get access to the memory of the
 * other GPUs that this process uses by then (cuMemAlloc, not pools): call it again when it has begun to use
 * another one, or has reset one. */
int bw_plan_prepare(bw_plan *plan);
/* Allows large copies to use the PCIe links of these GPUs (numbers as in cuDeviceGet, hipSetDevice): relays.
 * None is used without this call, because another process may own them. Creates a context on each, and allocates
 * its staging memory, for all GPUs that the plan is prepared for. n = 0 withdraws the permission, and so does a
 * failure. A relay whose copy has failed halfway is not used again before the next call. */
int bw_plan_allow_peers(bw_plan *plan, const int *gpus, size_t n);
/* The most staging memory that the plan may allocate on the GPU of a relay, for all ways over it together;
 * default 64 MiB. A way needs its piece times its depth, and those over one GPU take turns in the same memory.
 * Applies to later calls of bw_plan_allow_peers(). Ways that do not fit are left out, and bw_plan_warning() says
 * so. */
int bw_plan_limit_staging(bw_plan *plan, size_t bytes);
/* Why the plan copies with the driver's calls, or less fast than it could; "" if it does not. */
const char *bw_plan_warning(const bw_plan *plan);
/* Frees the plan, after its own copies are done. No other thread may be using it. Null is allowed. */
void bw_plan_close(bw_plan *plan);

/* --- what a plan does */

enum bw_method {
  BW_METHOD_DEFAULT = 0, /* the driver's copy call, one for each block */
  BW_METHOD_BATCH = 1,   /* cuMemcpyBatchAsync, hipMemcpyBatchAsync */
  BW_METHOD_KERNEL = 2,  /* a kernel that loads and stores */
  BW_METHOD_BULK = 3,    /* a kernel with bulk-copy instructions (sm_90 and later) */
  BW_METHOD_RELAY = 4,   /* in parts over the links of several GPUs */
  BW_METHODS = 5
};
/* Why a copy was the driver's call although there is a plan. */
enum bw_fallback {
  BW_FALLBACK_NONE = 0,
  BW_FALLBACK_SWITCHED_OFF = 1,   /* BYTEWAYS_COPY=off */
  BW_FALLBACK_OTHER_MACHINE = 2,  /* the plan is not of this machine or driver */
  BW_FALLBACK_NOT_PREPARED = 3,   /* bw_plan_prepare() was not called for the stream's GPU, or not since its reset */
  BW_FALLBACK_MEMORY = 4,         /* pageable, managed or unknown memory, or another GPU's for a kernel */
  BW_FALLBACK_NOT_MEASURED = 5,   /* these places, this size or this count are not in the plan */
  BW_FALLBACK_NO_LEAD = 6,        /* measured, and the driver's call is the best that is known */
  BW_FALLBACK_CAPTURING = 7,      /* the better method cannot be captured into a graph */
  BW_FALLBACK_BUSY = 8,           /* no free list, or no relay whose link was idle */
  BW_FALLBACK_NOT_ALLOWED = 9,    /* the better method is a relay over GPUs that are not allowed */
  BW_FALLBACK_FAILED = 10,        /* the better method failed before anything was enqueued, or failed its test */
  BW_FALLBACK_OTHER_CONTEXT = 11, /* the stream is of a context that is not its GPU's primary context */
  BW_FALLBACK_NOT_ALIGNED = 12,   /* the better method needs addresses and sizes that are multiples of 16 */
  BW_FALLBACKS = 13
};
const char *bw_method_name(int method);     /* "default", "batch", ...; "unknown" for other numbers */
const char *bw_fallback_text(int fallback); /* one sentence; "" for BW_FALLBACK_NONE */

/* Set `struct_bytes` to sizeof before the call: later versions append members. */
struct bw_choice {
  size_t struct_bytes;
  int32_t method;     /* enum bw_method */
  int32_t fallback;   /* enum bw_fallback */
  double time_ns;     /* expected by the plan, the call included; 0 if unknown */
  double default_ns;  /* the same of the driver's calls; 0 if unknown */
};
/* What bw_copy_blocks_uniform() of n such blocks would do now (n = 1: what bw_copy() would do). Copies nothing. */
int bw_choose(void *const *dst, const void *const *src, size_t block_bytes, size_t n, void *stream, bw_plan *plan,
              struct bw_choice *choice);

struct bw_statistics {
  size_t struct_bytes;
  uint64_t calls[BW_METHODS];       /* by the method that copied */
  uint64_t bytes[BW_METHODS];
  uint64_t fallbacks[BW_FALLBACKS]; /* calls by the reason for the driver's call */
  uint64_t staging_bytes;           /* allocated now on all relays */
};
int bw_get_statistics(const bw_plan *plan, struct bw_statistics *statistics);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
