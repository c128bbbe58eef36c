// A program of known operations for tests of `byteways watch`: one function for each kind. Compiled as MODULE
// it is a library, which a program opens as Python opens its modules.
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <vector>

// Functions with large counts, which an MPI may lack: a program that asks whether they are there, as mpi4py
// does, uses them.
#define LARGE(name, ...) extern int name(__VA_ARGS__) __asm__("MPI_" #name "_c") __attribute__((weak))
extern "C" {
LARGE(Bcast, void*, long, MPI_Datatype, int, MPI_Comm);
LARGE(Gatherv, const void*, long, MPI_Datatype, void*, const long*, const MPI_Aint*, MPI_Datatype, int,
      MPI_Comm);
}

namespace {

int rank, ranks;

void messages() {
  std::vector<char> data(1 << 16);
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  // 10 of 100 bytes by even ranks to the next, 3 of 4096 doubles around the ring.
  for (int at = 0; at < 10; ++at) {
    if (rank % 2 == 0)
      MPI_Send(data.data(), 100, MPI_CHAR, next, 0, MPI_COMM_WORLD);
    else  // room for more than arrives
      MPI_Recv(data.data(), 500, MPI_CHAR, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int at = 0; at < 3; ++at) {
    MPI_Request requests[2];
    std::vector<double> in(4096), out(4096, rank);
    MPI_Irecv(in.data(), 4096, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), 4096, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (in[17] != last) std::printf("WRONG message\n");
  }
  int mine = rank, theirs = -1;
  MPI_Status status;
  MPI_Sendrecv(&mine, 1, MPI_INT, next, 2, &theirs, 1, MPI_INT, last, 2, MPI_COMM_WORLD, &status);
  if (theirs != last || status.MPI_SOURCE != last) std::printf("WRONG exchange\n");
  // Moves nothing.
  MPI_Send(&mine, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
}

void collectives() {
  std::vector<int> in(64 * ranks, rank), out(64 * ranks);
  std::vector<int> counts(ranks, 2), places(ranks);
  for (int at = 0; at < ranks; ++at) places[at] = 2 * at;
  MPI_Bcast(in.data(), 16, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Reduce(in.data(), out.data(), 8, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  for (int at = 0; at < 5; ++at) MPI_Allreduce(MPI_IN_PLACE, in.data(), 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allgather(in.data(), 4, MPI_INT, out.data(), 4, MPI_INT, MPI_COMM_WORLD);
  MPI_Alltoall(in.data(), 64, MPI_INT, out.data(), 64, MPI_INT, MPI_COMM_WORLD);
  MPI_Gatherv(in.data(), 2, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Request request;
  MPI_Iallreduce(in.data(), out.data(), 32, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Pairs of ranks in reverse order: rank 0 of a part is the last of the world's.
void parts() {
  MPI_Comm part;
  MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &part);
  int own, value = rank;
  MPI_Comm_rank(part, &own);
  if (own == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, part);
  if (own == 1) MPI_Recv(&value, 1, MPI_INT, 0, 0, part, MPI_STATUS_IGNORE);
  MPI_Comm_free(&part);
}

void windows() {
  std::vector<long> memory(8, rank);
  MPI_Win window;
  MPI_Win_create(memory.data(), 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  const long value = rank;
  long other = -1;
  MPI_Win_fence(0, window);
  MPI_Put(&value, 1, MPI_LONG, (rank + 1) % ranks, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  MPI_Get(&other, 1, MPI_LONG, (rank + 1) % ranks, 0, 1, MPI_LONG, window);
  MPI_Win_fence(0, window);
  if (other != rank) std::printf("WRONG window\n");
  MPI_Win_free(&window);
}

void large() {
  if (Bcast == nullptr || Gatherv == nullptr) return;
  std::vector<long> counts(ranks, 3), places(ranks);
  for (int at = 0; at < ranks; ++at) places[at] = 3 * at;
  std::vector<int> in(3, rank), out(3 * ranks);
  if (Bcast(in.data(), rank < 0 ? 1 : 3, MPI_INT, 1, MPI_COMM_WORLD) != 0 || in[2] != 1)
    std::printf("WRONG large\n");
  if (Gatherv(in.data(), 3, MPI_INT, out.data(), counts.data(), places.data(), MPI_INT, 0, MPI_COMM_WORLD) !=
          0 ||
      (rank == 0 && out.back() != 1))
    std::printf("WRONG large lists\n");
}

}  // namespace

// `kill`: rank 1 kills itself after a second.
extern "C" int run(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  messages();
  collectives();
  parts();
  windows();
  large();
  if (count > 1 && rank == 1) sleep(1), raise(SIGKILL);
  std::printf("rank %d of %d\n", rank, ranks);
  MPI_Finalize();
  return 0;
}

#ifndef MODULE
int main(int count, char** words) { return run(count, words); }
#endif
