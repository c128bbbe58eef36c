// Data-parallel training reduced to its communication: each step sums the gradients of all ranks, in as many pieces as asked for. Built
// and watched by:
//   mpicc -O2 examples/watch/gradients.c -o gradients
//   byteways watch -- mpiexec -n 4 ./gradients [NUMBERS [PIECES [STEPS]]]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
  int rank, ranks;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int numbers = count > 1 ? atoi(words[1]) : 1 << 20;
  const int pieces = count > 2 ? atoi(words[2]) : 4;
  const int steps = count > 3 ? atoi(words[3]) : 100;
  if (pieces < 1 || numbers < pieces) {
    if (rank == 0) fprintf(stderr, "NUMBERS are at least as many as PIECES, of which there is one\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  const int each = numbers / pieces;
  float *gradients = calloc(numbers, sizeof(float)), *weights = calloc(numbers, sizeof(float));
  for (int step = 0; step < steps; ++step) {
    for (int at = 0; at < numbers; ++at) gradients[at] = (float)(rank + 1);
    for (int piece = 0; piece < pieces; ++piece)
      MPI_Allreduce(MPI_IN_PLACE, gradients + (size_t)piece * each, each, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < each * pieces; ++at) weights[at] += gradients[at];
  }
  const float expected = (float)steps * (float)(ranks * (ranks + 1) / 2);
  int wrong = 0;
  for (int at = 0; at < each * pieces; ++at) wrong |= weights[at] != expected;
  if (rank == 0) printf("each weight: %g\n", weights[0]);
  free(gradients), free(weights);
  MPI_Finalize();
  return wrong;
}
