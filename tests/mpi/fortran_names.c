// Calls Open MPI as a compiler of Fortran does: everything by address, constants of its mpif.h. Two ranks send each
// other 1,000 numbers, by both kinds of calls, and add them up.
#include <stdio.h>

enum { kWorld = 0, kDoublePrecision = 17, kSum = 3, kIntegersOfStatus = 6 };
void mpi_init_(int*);
void mpi_comm_rank_(int*, int*, int*);
void mpi_send_(void*, int*, int*, int*, int*, int*, int*);
void mpi_recv_(void*, int*, int*, int*, int*, int*, int*, int*);
void mpi_isend_(void*, int*, int*, int*, int*, int*, int*, int*);
void mpi_irecv_(void*, int*, int*, int*, int*, int*, int*, int*);
void mpi_waitall_(int*, int*, int*, int*);
void mpi_allreduce_(void*, void*, int*, int*, int*, int*, int*);
void mpi_finalize_(int*);

int main(void) {
  static double out[1000], in[2000];
  int error, rank, world = kWorld, type = kDoublePrecision, sum = kSum, tag = 3, count = 1000, room = 2000, two = 2;
  int requests[2], statuses[2][kIntegersOfStatus];
  mpi_init_(&error);
  mpi_comm_rank_(&world, &rank, &error);
  int other = 1 - rank;
  for (int at = 0; at < 1000; ++at) out[at] = rank + 1;
  for (int at = 0; at < 50; ++at) {
    mpi_allreduce_(out, in, &count, &type, &sum, &world, &error);
    if (in[999] != 3) puts("WRONG sum");
    if (rank == 0) mpi_send_(out, &count, &type, &other, &tag, &world, &error);
    if (rank == 1) mpi_recv_(in, &room, &type, &other, &tag, &world, statuses[0], &error);
  }
  mpi_irecv_(in, &room, &type, &other, &tag, &world, &requests[0], &error);
  mpi_isend_(out, &count, &type, &other, &tag, &world, &requests[1], &error);
  mpi_waitall_(&two, requests, statuses[0], &error);
  if (in[999] != other + 1) puts("WRONG message");
  mpi_finalize_(&error);
  return 0;
}
