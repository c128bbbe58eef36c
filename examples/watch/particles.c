// Particles that cross from rank to rank, as in Quicksilver: each step tells both neighbours of a ring how many come, then sends them in
// buffers of a fixed size. Built and watched by:
//   mpicc -O2 examples/watch/particles.c -o particles
//   byteways watch -- mpiexec -n 4 ./particles [CROSSING [BUFFER [STEPS]]]
// CROSSING: particles that leave to each side in a step, on average; BUFFER: particles in a message.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
  double position[3], velocity[3], energy, weight;
} Particle;

enum { kTagCount = 1, kTagParticles = 2, kSides = 2 };

// Requests for messages of at most `buffer` particles, enqueued by MPI_Isend or MPI_Irecv; returns how many.
static int post(int sends, Particle* some, int number, int buffer, int rank, int tag, MPI_Request* requests) {
  int posted = 0;
  for (int first = 0; first < number; first += buffer, ++posted) {
    const int bytes = (int)sizeof(Particle) * (number - first < buffer ? number - first : buffer);
    if (sends)
      MPI_Isend(some + first, bytes, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &requests[posted]);
    else
      MPI_Irecv(some + first, bytes, MPI_BYTE, rank, tag, MPI_COMM_WORLD, &requests[posted]);
  }
  return posted;
}

int main(int count, char** words) {
  int rank, ranks;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int crossing = count > 1 ? atoi(words[1]) : 2000;
  const int buffer = count > 2 ? atoi(words[2]) : 500;
  const int steps = count > 3 ? atoi(words[3]) : 500;
  if (crossing < 1 || buffer < 1) {
    if (rank == 0) fprintf(stderr, "CROSSING and BUFFER are numbers from 1 on\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  const int most = crossing + crossing / 4;
  Particle* leaving[kSides] = {calloc(most, sizeof(Particle)), calloc(most, sizeof(Particle))};
  Particle* coming[kSides] = {calloc(most, sizeof(Particle)), calloc(most, sizeof(Particle))};
  MPI_Request* requests = malloc(2 * kSides * (most / buffer + 1) * sizeof(MPI_Request));
  const int neighbour[kSides] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  double energy = 0;
  long crossed = 0;
  srand(rank + 1);
  for (int step = 0; step < steps; ++step) {
    int out[kSides], in[kSides], posted = 0;
    for (int side = 0; side < kSides; ++side) {
      out[side] = crossing - crossing / 4 + rand() % (crossing / 2 + 1);
      for (int at = 0; at < out[side]; ++at) leaving[side][at].energy = 1;
    }
    // A message that leaves to one side comes from the other: its tag says which way it goes.
    for (int side = 0; side < kSides; ++side) {
      MPI_Irecv(&in[side], 1, MPI_INT, neighbour[side], kTagCount + 4 * (1 - side), MPI_COMM_WORLD, &requests[posted++]);
      MPI_Isend(&out[side], 1, MPI_INT, neighbour[side], kTagCount + 4 * side, MPI_COMM_WORLD, &requests[posted++]);
    }
    MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    posted = 0;
    for (int side = 0; side < kSides; ++side) {
      posted += post(0, coming[side], in[side], buffer, neighbour[side], kTagParticles + 4 * (1 - side), requests + posted);
      posted += post(1, leaving[side], out[side], buffer, neighbour[side], kTagParticles + 4 * side, requests + posted);
    }
    MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    for (int side = 0; side < kSides; ++side) {
      for (int at = 0; at < in[side]; ++at) energy += coming[side][at].energy;
      crossed += in[side];
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &energy, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &crossed, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%ld particles crossed with energy %g\n", crossed, energy);
  free(requests);
  for (int side = 0; side < kSides; ++side) free(leaving[side]), free(coming[side]);
  MPI_Finalize();
  return (double)crossed == energy ? 0 : 1;
}
