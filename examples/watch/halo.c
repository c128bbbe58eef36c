// A stencil over rows that are shared out among the ranks: each step exchanges a row with both neighbours and sums one number. Built and
// watched by:
//   mpicc -O2 examples/watch/halo.c -o halo
//   byteways watch -o halo-watched -- mpiexec -n 4 ./halo [COLUMNS [ROWS [STEPS]]]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// One step of the stencil; returns the sum of the squared changes.
static double update(int rows, int columns, double (*field)[columns], double (*next)[columns]) {
  double change = 0;
  for (int row = 1; row <= rows; ++row)
    for (int column = 1; column + 1 < columns; ++column) {
      next[row][column] = (field[row][column] + field[row - 1][column] + field[row + 1][column] +
                           field[row][column - 1] + field[row][column + 1]) / 5;
      change += (next[row][column] - field[row][column]) * (next[row][column] - field[row][column]);
    }
  for (int row = 1; row <= rows; ++row)
    for (int column = 1; column + 1 < columns; ++column) field[row][column] = next[row][column];
  return change;
}

int main(int count, char** words) {
  int rank, ranks;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int columns = count > 1 ? atoi(words[1]) : 4096;
  const int rows = count > 2 ? atoi(words[2]) : 256;
  const int steps = count > 3 ? atoi(words[3]) : 500;
  double(*field)[columns] = columns > 0 && rows > 0 ? calloc(rows + 2, sizeof *field) : NULL;
  double(*next)[columns] = field ? calloc(rows + 2, sizeof *next) : NULL;
  if (!next) {
    if (rank == 0) fprintf(stderr, "no memory for %d columns and %d rows\n", columns, rows);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  for (int column = 0; column < columns; ++column) field[1][column] = rank + column % 7;
  double change = 0;
  for (int step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    MPI_Irecv(field[0], columns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(field[rows + 1], columns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(field[1], columns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(field[rows], columns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    change = update(rows, columns, field, next);
    MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("change of the last step: %g\n", change);
  free(field);
  free(next);
  MPI_Finalize();
  return 0;
}
