// A stencil over rows that are shared out among the ranks: each step exchanges a row with both neighbours and sums one number. Built and
// watched by:
//   mpicc -O2 examples/watch/halo.c -o halo
//   byteways watch -o halo-watched -- mpiexec -n 4 ./halo
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kColumns = 4096, kRows = 256, kSteps = 500 };

static double field[kRows + 2][kColumns], next[kRows + 2][kColumns];

int main(int count, char** words) {
  int rank, ranks;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  for (int column = 0; column < kColumns; ++column) field[1][column] = rank + column % 7;
  double change = 0;
  for (int step = 0; step < kSteps; ++step) {
    MPI_Request requests[4];
    MPI_Irecv(field[0], kColumns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(field[kRows + 1], kColumns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(field[1], kColumns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(field[kRows], kColumns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    change = 0;
    for (int row = 1; row <= kRows; ++row)
      for (int column = 1; column + 1 < kColumns; ++column) {
        next[row][column] = (field[row][column] + field[row - 1][column] + field[row + 1][column] +
                             field[row][column - 1] + field[row][column + 1]) / 5;
        change += (next[row][column] - field[row][column]) * (next[row][column] - field[row][column]);
      }
    for (int row = 1; row <= kRows; ++row)
      for (int column = 1; column + 1 < kColumns; ++column) field[row][column] = next[row][column];
    MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("change of the last step: %g\n", change);
  MPI_Finalize();
  return 0;
}
