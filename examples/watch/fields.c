// Fields of a grid that exchange their edges, as in CloverLeaf: a message for each field and side, or one packed message a side. Built
// and watched by:
//   mpicc -O2 examples/watch/fields.c -o fields
//   byteways watch -- mpiexec -n 4 ./fields separate|packed [FIELDS [CELLS [STEPS]]]
// CELLS: numbers in one edge of a field.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSides = 2 };

static int neighbour[kSides];

// Sends an edge to each side, and receives the other rank's.
static void exchange(double* out[kSides], double* in[kSides], int cells, int tag, MPI_Request* requests) {
  for (int side = 0; side < kSides; ++side) {
    MPI_Irecv(in[side], cells, MPI_DOUBLE, neighbour[side], 2 * tag + 1 - side, MPI_COMM_WORLD, &requests[2 * side]);
    MPI_Isend(out[side], cells, MPI_DOUBLE, neighbour[side], 2 * tag + side, MPI_COMM_WORLD, &requests[2 * side + 1]);
  }
}

int main(int count, char** words) {
  int rank, ranks;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int packed = count > 1 && strcmp(words[1], "packed") == 0;
  const int known = packed || (count > 1 && strcmp(words[1], "separate") == 0);
  const int fields = count > 2 ? atoi(words[2]) : 15;
  const int cells = count > 3 ? atoi(words[3]) : 1024;
  const int steps = count > 4 ? atoi(words[4]) : 2000;
  if (!known || fields < 1 || cells < 1) {
    if (rank == 0) fprintf(stderr, "fields separate|packed [FIELDS [CELLS [STEPS]]]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  neighbour[0] = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  neighbour[1] = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  const size_t bytes = cells * sizeof(double);
  // Of each field a row: the edges that leave and come at both sides.
  double *edges = calloc(4 * (size_t)fields, bytes), *buffers = calloc(4 * (size_t)fields, bytes);
  MPI_Request* requests = malloc(2 * kSides * (size_t)fields * sizeof(MPI_Request));
  const size_t all = (size_t)fields * cells;
  for (size_t at = 0; at < 2 * all; ++at) edges[at] = rank + 1;
  for (int step = 0; step < steps; ++step) {
    double *out = packed ? buffers : edges, *in = out + 2 * all;
    if (packed) memcpy(buffers, edges, 2 * fields * bytes);
    const int messages = packed ? 1 : fields, length = packed ? fields * cells : cells;
    for (int at = 0; at < messages; ++at) {
      double* from[kSides] = {out + (size_t)at * length, out + all + (size_t)at * length};
      double* to[kSides] = {in + (size_t)at * length, in + all + (size_t)at * length};
      exchange(from, to, length, at, requests + 2 * kSides * at);
    }
    MPI_Waitall(2 * kSides * messages, requests, MPI_STATUSES_IGNORE);
    if (packed) memcpy(edges + 2 * all, in, 2 * fields * bytes);
  }
  double sum = 0, expected = (neighbour[0] >= 0 ? rank : 0) + (neighbour[1] >= 0 ? rank + 2 : 0);
  for (size_t at = 0; at < 2 * all; ++at) sum += edges[2 * all + at];
  const int wrong = sum != expected * (double)all;
  if (rank == 0) printf("sum of the edges that came: %g\n", sum);
  free(edges), free(buffers), free(requests);
  MPI_Finalize();
  return wrong;
}
