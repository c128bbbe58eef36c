// What the plain loops beside it share: a clock, memory, and batches that are timed on the slower rank.
//
// Each loop is a shared library that is compiled with the mpicc of the MPI under test. The ranks that load it
// (benchmarks/rank_slices.py) have started MPI and are bound to their cores. They call
//
//   int measure(const char* what, long* count, double seconds, double* times, int most)
//
// which measures `what` for so many seconds in batches of `*count` operations, and stores the nanoseconds of
// one operation in every batch, of the slower rank, from the second fifth on. It returns how many these are,
// `most` at most. A count of 0 is set first, so that a batch takes 2 ms.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

// Zeros in plain pages, as byteways' pageable memory has them.
static void* pages(size_t bytes) {
  void* data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  madvise(data, bytes, MADV_NOHUGEPAGE);
  memset(data, 0, bytes);
  return data;
}

// Carries out `count` operations one after the other.
typedef void (*Operations)(int rank, long count);

static double slower_ns(Operations operations, int rank, long count) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now_ns();
  operations(rank, count);
  double took = now_ns() - begin, slower;
  MPI_Allreduce(&took, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slower;
}

// The least number of operations, `together` doubled again and again, whose batches take 2 ms. Another
// program may have made a batch longer than it is: four long ones in turn settle the number.
static long settled(Operations operations, int rank, long together) {
  enum { kLongOnes = 4 };
  long count = together;
  for (int long_ones = 0; long_ones < kLongOnes;)
    if (slower_ns(operations, rank, count) >= 2e6) {
      ++long_ones;
    } else {
      count *= 2;
      long_ones = 0;
    }
  return count;
}

// See measure() above; `together` is the number of operations that a batch has a multiple of.
static int time_batches(Operations operations, long together, long* count, double seconds, double* times,
                        int most) {
  int rank, found = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (*count == 0) *count = settled(operations, rank, together);
  for (double spent = 0; spent <= 1e9 * seconds;) {
    const double took = slower_ns(operations, rank, *count);
    spent += took;
    if (spent > 0.2e9 * seconds && found < most) times[found++] = took / *count;
  }
  return found;
}
