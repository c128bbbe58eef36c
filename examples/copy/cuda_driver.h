/* The CUDA driver's header where it is installed; else the few declarations that the example needs, so that it
 * compiles on a machine without the toolkit, for the simulated driver. */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H
#if defined(__has_include)
#if __has_include(<cuda.h>)
#include <cuda.h>
#define HAS_CUDA_H
#endif
#endif
#ifndef HAS_CUDA_H
#include <stddef.h>
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
enum { CU_STREAM_NON_BLOCKING = 1 };
#define cuMemAlloc cuMemAlloc_v2
#define cuMemFree cuMemFree_v2
#define cuStreamDestroy cuStreamDestroy_v2
CUresult cuInit(unsigned int flags);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuMemAlloc(CUdeviceptr *data, size_t bytes);
CUresult cuMemFree(CUdeviceptr data);
CUresult cuMemHostAlloc(void **data, size_t bytes, unsigned int flags);
CUresult cuMemFreeHost(void *data);
#endif
#endif
