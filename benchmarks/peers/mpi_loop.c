// The plain loop that byteways' figures between two ranks are compared with: the same calls in the same order
// on the same cores, and nothing else.
//
// measure() (loop.h) knows "pong BYTES" (a round trip), "window BYTES" (64 messages, one acknowledgement; an
// operation is a message), "allreduce BYTES" and "put BYTES" (one put and its flush). Followed by "device",
// the buffers are in memory of the GPU whose number is the rank.
#include <dlfcn.h>

#include "loop.h"

enum { kWindow = 64, kMostBytesInFlight = 64 << 20 };

static char *source, *destination;
static int size, window;
static MPI_Win exposed;

// A function of NVIDIA's driver, found at run time: this file is compiled without CUDA.
static void* of_driver(const char* name) {
  static void* library;
  if (library == NULL) library = dlopen("libcuda.so.1", RTLD_NOW);
  void* found = library == NULL ? NULL : dlsym(library, name);
  if (found == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  return found;
}

static void must(int code) {
  if (code != 0) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void use_gpu(int number) {
  int device;
  void* context;
  must(((int (*)(unsigned))of_driver("cuInit"))(0));
  must(((int (*)(int*, int))of_driver("cuDeviceGet"))(&device, number));
  must(((int (*)(void**, int))of_driver("cuDevicePrimaryCtxRetain"))(&context, device));
  must(((int (*)(void*))of_driver("cuCtxSetCurrent"))(context));
}

static char* device_memory(size_t bytes) {
  unsigned long long address;
  must(((int (*)(unsigned long long*, size_t))of_driver("cuMemAlloc_v2"))(&address, bytes));
  static uint64_t words[1 << 17];
  for (size_t k = 0; k < 1 << 17; ++k) words[k] = (k + 1) * 0x9E3779B97F4A7C15u;
  for (size_t done = 0; done < bytes; done += sizeof words) {
    const size_t part = bytes - done < sizeof words ? bytes - done : sizeof words;
    must(((int (*)(unsigned long long, const void*, size_t))of_driver("cuMemcpyHtoD_v2"))(address + done,
                                                                                           words, part));
  }
  must(((int (*)(void))of_driver("cuCtxSynchronize"))());
  return (char*)address;
}

static void free_device_memory(char* data) {
  must(((int (*)(unsigned long long))of_driver("cuMemFree_v2"))((unsigned long long)data));
}

static void pong(int rank, long count) {
  for (long k = 0; k < count; ++k) {
    if (rank == 0) MPI_Send(source, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(destination, size, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(source, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

static void windows(int rank, long count) {
  static MPI_Request pending[kWindow];
  static MPI_Status statuses[kWindow];  // as osu_bw has them: they tell which message failed
  uint64_t word = 0;
  for (long done = 0; done < count; done += window) {
    for (int k = 0; k < window; ++k)
      if (rank == 0)
        MPI_Isend(source, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &pending[k]);
      else
        MPI_Irecv(destination, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &pending[k]);
    MPI_Waitall(window, pending, statuses);
    if (rank == 0)
      MPI_Recv(&word, 8, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&word, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  }
}

static void allreduces(int rank, long count) {
  (void)rank;
  for (long k = 0; k < count; ++k)
    MPI_Allreduce(source, destination, size / 8, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
}

static void puts_and_flushes(int rank, long count) {
  if (rank != 0) return;
  for (long k = 0; k < count; ++k) {
    MPI_Put(source, size, MPI_BYTE, 1, 0, size, MPI_BYTE, exposed);
    MPI_Win_flush(1, exposed);
  }
}

int measure(const char* what, long* count, double seconds, double* times, int most) {
  char name[16], where[16] = "";
  if (sscanf(what, "%15s %d %15s", name, &size, where) < 2) MPI_Abort(MPI_COMM_WORLD, 1);
  const int on_device = strcmp(where, "device") == 0, puts = strcmp(name, "put") == 0;
  if (on_device) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    use_gpu(rank);
  }
  source = on_device ? device_memory(size) : pages(size);
  destination = on_device ? device_memory(size) : pages(size);
  if (puts) {
    MPI_Win_create(destination, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed);
    MPI_Win_lock_all(0, exposed);
  }
  window = kMostBytesInFlight / size;
  if (window > kWindow) window = kWindow;
  if (window < 1) window = 1;
  Operations operations = allreduces;
  if (strcmp(name, "pong") == 0) operations = pong;
  if (strcmp(name, "window") == 0) operations = windows;
  if (puts) operations = puts_and_flushes;
  const int found = time_batches(operations, operations == windows ? window : 1, count, seconds, times, most);
  if (puts) {
    MPI_Win_unlock_all(exposed);
    MPI_Win_free(&exposed);
  }
  if (on_device) {
    free_device_memory(source);
    free_device_memory(destination);
  } else {
    munmap(source, size);
    munmap(destination, size);
  }
  return found;
}
