// The plain loop that byteways' figures between two ranks are compared with: the same calls in the same order
// on the same cores, and nothing else.
//
// measure() (loop.h) knows "pong BYTES" (a round trip), "window BYTES" (64 messages, one acknowledgement; an
// operation is a message) and "allreduce BYTES".
#include "loop.h"

enum { kWindow = 64, kMostBytesInFlight = 64 << 20 };

static char *source, *destination;
static int size, window;

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

int measure(const char* what, long* count, double seconds, double* times, int most) {
  char name[16];
  if (sscanf(what, "%15s %d", name, &size) != 2) MPI_Abort(MPI_COMM_WORLD, 1);
  source = pages(size);
  destination = pages(size);
  window = kMostBytesInFlight / size;
  if (window > kWindow) window = kWindow;
  if (window < 1) window = 1;
  Operations operations = allreduces;
  if (strcmp(name, "pong") == 0) operations = pong;
  if (strcmp(name, "window") == 0) operations = windows;
  const int found = time_batches(operations, operations == windows ? window : 1, count, seconds, times, most);
  munmap(source, size);
  munmap(destination, size);
  return found;
}
