// The plain loop that byteways' figures between two ranks are compared with: the same calls in the same order
// on the same cores, and nothing else. Compiled with the mpicc of the MPI under test.
//
//   mpiexec -n 2 mpi_loop CORE0 CORE1 SECONDS WHAT SIZE [WHAT SIZE …]
//
// WHAT: pong (a round trip), window (64 messages, one acknowledgement), allreduce. Prints for each the
// nanoseconds of one operation in every batch, of the slower rank; a batch takes about 2 ms. As a shared
// library it is measure() alone, for a program that has started MPI (benchmarks/mpi_slices.py).
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { kWindow = 64, kMostBytesInFlight = 64 << 20 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

static char* pages(size_t bytes) {
  char* data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(data, bytes, MADV_NOHUGEPAGE);
  memset(data, 1, bytes);
  return data;
}

static void pong(int rank, char* source, char* destination, int size, long count) {
  for (long k = 0; k < count; ++k) {
    if (rank == 0) MPI_Send(source, size, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(destination, size, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(source, size, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
}

static void windows(int rank, char* source, char* destination, int size, long count, int window) {
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

// Measures one operation for so many seconds: the nanoseconds of one, in every batch of the slower rank, from
// the second fifth on. Returns how many batches `times` holds.
int measure(const char* what, int size, double seconds, double* times, int most) {
  enum { kSettled = 4 };
  int rank, found = 0, long_ones = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* source = pages(size);
  char* destination = pages(size);
  int window = kMostBytesInFlight / size;
  if (window > kWindow) window = kWindow;
  if (window < 1) window = 1;
  long count = strcmp(what, "window") == 0 ? window : 1;
  for (double spent = 0; spent <= 1e9 * seconds;) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_ns();
    if (strcmp(what, "pong") == 0)
      pong(rank, source, destination, size, count);
    else if (strcmp(what, "window") == 0)
      windows(rank, source, destination, size, count, window);
    else
      for (long k = 0; k < count; ++k)
        MPI_Allreduce(source, destination, size / 8, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    double took = now_ns() - begin, slowest;
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    // Another program may have made a batch longer than it is: four long ones in turn settle the length.
    if (long_ones < kSettled && slowest < 2e6) {
      count *= 2;
      long_ones = 0;
      continue;
    }
    if (long_ones < kSettled && ++long_ones < kSettled) continue;
    spent += slowest;
    if (spent > 0.2e9 * seconds && found < most) times[found++] = slowest / count;
  }
  munmap(source, size);
  munmap(destination, size);
  return found;
}

int main(int argc, char** argv) {
  enum { kMost = 100000 };
  static double times[kMost];
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[1 + rank]), &set);
  sched_setaffinity(0, sizeof set, &set);
  for (int at = 4; at + 1 < argc; at += 2) {
    const int found = measure(argv[at], atoi(argv[at + 1]), atof(argv[3]), times, kMost);
    if (rank != 0) continue;
    printf("%s %s", argv[at], argv[at + 1]);
    for (int k = 0; k < found; ++k) printf(" %.2f", times[k]);
    printf("\n");
  }
  MPI_Finalize();
  return 0;
}
