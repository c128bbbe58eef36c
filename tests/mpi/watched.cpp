// A program of known operations for tests of `byteways watch`: one function for each kind. Compiled as MODULE
// it is a library, which a program opens as Python opens its modules.
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
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

// Receives with room for more than arrives, one that is cancelled, and each way to wait.
void requests() {
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  std::vector<char> in(4 * 4096), out(200);
  MPI_Request some[4], never, sent;
  MPI_Irecv(in.data(), 4096, MPI_CHAR, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &never);
  for (int at = 0; at < 4; ++at)
    MPI_Irecv(in.data() + 4096 * at, 4096, MPI_CHAR, MPI_ANY_SOURCE, 10 + at, MPI_COMM_WORLD, &some[at]);
  for (int at = 0; at < 4; ++at) MPI_Send(out.data(), 100 + at, MPI_CHAR, next, 10 + at, MPI_COMM_WORLD);
  int which, number, list[4], flag = 0;
  MPI_Status status;
  MPI_Waitany(4, some, &which, &status);
  if (status.MPI_SOURCE != last) std::printf("WRONG source\n");
  for (int done = 1; done < 4; done += number) MPI_Waitsome(4, some, &number, list, MPI_STATUSES_IGNORE);
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
  // Looked for first, and received without its communicator.
  MPI_Message message;
  MPI_Isend(out.data(), 50, MPI_CHAR, next, 20, MPI_COMM_WORLD, &sent);
  MPI_Mprobe(last, 20, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(in.data(), 60, MPI_CHAR, &message, &some[0]);
  while (flag == 0) MPI_Test(&some[0], &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
  MPI_Isendrecv(out.data(), 30, MPI_CHAR, next, 21, in.data(), 40, MPI_CHAR, last, 21, MPI_COMM_WORLD, &sent);
  MPI_Wait(&sent, MPI_STATUS_IGNORE);
}

// Requests that are started again and again, and messages in parts.
void persistent() {
  const int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
  std::vector<char> in(2000), out(1000, static_cast<char>(rank));
  MPI_Request both[2], sum;
  MPI_Recv_init(in.data(), 2000, MPI_CHAR, MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &both[0]);
  MPI_Send_init(out.data(), 1000, MPI_CHAR, next, 30, MPI_COMM_WORLD, &both[1]);
  for (int at = 0; at < 5; ++at) {
    MPI_Startall(2, both);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  if (in[999] != static_cast<char>(last)) std::printf("WRONG persistent\n");
  MPI_Wait(&both[0], MPI_STATUS_IGNORE);  // waits for nothing
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
  int mine[8] = {1}, all[8] = {};
  MPI_Allreduce_init(mine, all, 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &sum);
  for (int at = 0; at < 2; ++at) {
    MPI_Start(&sum);
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
  }
  if (all[0] != ranks) std::printf("WRONG sum\n");
  MPI_Request_free(&sum);
  int parts[4][16] = {}, got[4][16];
  MPI_Precv_init(got, 4, 16, MPI_INT, last, 31, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]);
  MPI_Psend_init(parts, 4, 16, MPI_INT, next, 31, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]);
  MPI_Startall(2, both);
  MPI_Pready(0, both[1]);
  MPI_Pready_range(1, 3, both[1]);
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

// A ring, and a rank with all others behind it.
void neighbours() {
  MPI_Comm ring, fan;
  const int all = ranks, periodic = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &all, &periodic, 0, &ring);
  std::vector<int> out(64, rank), in(64);
  const int sent[] = {1, 2}, got[] = {2, 1}, ones[] = {1, 1}, places[] = {0, 2};
  const MPI_Aint bytes[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_INT};
  MPI_Request request;
  MPI_Neighbor_allgather(out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, ring);
  MPI_Neighbor_allgatherv(out.data(), 1, MPI_INT, in.data(), ones, places, MPI_INT, ring);
  MPI_Neighbor_alltoall(out.data(), 3, MPI_INT, in.data(), 3, MPI_INT, ring);
  MPI_Neighbor_alltoallv(out.data(), sent, places, MPI_INT, in.data(), got, places, MPI_INT, ring);
  MPI_Neighbor_alltoallw(out.data(), ones, bytes, types, in.data(), ones, bytes, types, ring);
  MPI_Ineighbor_allgather(out.data(), 2, MPI_INT, in.data(), 2, MPI_INT, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  std::vector<int> others;
  for (int at = 1; at < ranks; ++at) others.push_back(at);
  const int root = 0;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0 ? 0 : 1, &root, MPI_UNWEIGHTED,
                                 rank == 0 ? ranks - 1 : 0, others.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &fan);
  MPI_Neighbor_alltoall(out.data(), 5, MPI_INT, in.data(), 5, MPI_INT, fan);
  if (rank != 0 && in[4] != 0) std::printf("WRONG neighbours\n");
  MPI_Comm_free(&ring);
  MPI_Comm_free(&fan);
}

// So many numbers before a page that nobody may read.
int* guarded(int length, int value) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const made = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* const end = static_cast<char*>(made) + page;
  mprotect(end, page, PROT_NONE);
  int* const numbers = reinterpret_cast<int*>(end) - length;
  for (int at = 0; at < length; ++at) numbers[at] = value;
  return numbers;
}

// Two groups, of one rank and of the others: each list is as long as MPI says and no longer, and where MPI
// reads none there is none.
void between() {
  const bool alone = rank == 0;
  MPI_Comm part, both;
  MPI_Comm_split(MPI_COMM_WORLD, alone ? 0 : 1, rank, &part);
  MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, alone ? 1 : 0, 40, &both);
  const int own = alone ? 1 : ranks - 1, other = ranks - own;
  int* const none = reinterpret_cast<int*>(16);
  const int *of_own = guarded(own, (ranks - 1) / own), *of_other = guarded(other, 1);
  int* const places = guarded(other, 0);
  for (int at = 0; at < other; ++at) places[at] = at;
  std::vector<int> in(64, 0), out(64, rank + 1);
  MPI_Reduce_scatter(out.data(), in.data(), of_own, MPI_INT, MPI_SUM, both);
  if (alone && in[0] != ranks * (ranks + 1) / 2 - 1) std::printf("WRONG sum of the other group\n");
  MPI_Gatherv(out.data(), 1, MPI_INT, in.data(), alone ? of_other : none, alone ? places : none, MPI_INT,
              alone ? MPI_ROOT : 0, both);
  MPI_Scatterv(out.data(), alone ? of_other : none, alone ? places : none, MPI_INT, in.data(), 1, MPI_INT,
               alone ? MPI_ROOT : 0, both);
  MPI_Gather(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, alone ? MPI_ROOT : 0, both);
  MPI_Bcast(in.data(), 5, MPI_INT, alone ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL, both);
  MPI_Allgather(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, both);
  MPI_Alltoallv(out.data(), of_other, places, MPI_INT, in.data(), of_other, places, MPI_INT, both);
  // Lists that only the root gives, in one group.
  MPI_Scatterv(out.data(), rank == 0 ? guarded(ranks, 1) : none, rank == 0 ? guarded(ranks, 0) : none,
               MPI_INT, in.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Comm_free(&both);
  MPI_Comm_free(&part);
}

// Operations of windows that bring something back, or have a request.
void fetches() {
  std::vector<long> memory(8, 1);
  MPI_Win window;
  MPI_Request request;
  MPI_Win_create(memory.data(), 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  const long one = 1, zero = 0;
  long before = 0;
  const int next = (rank + 1) % ranks;
  MPI_Win_lock_all(0, window);
  MPI_Accumulate(&one, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_SUM, window);
  MPI_Get_accumulate(nullptr, 0, MPI_LONG, &before, 1, MPI_LONG, next, 0, 1, MPI_LONG, MPI_NO_OP, window);
  MPI_Win_flush(next, window);
  if (before != 2) std::printf("WRONG fetch\n");
  MPI_Fetch_and_op(&one, &before, MPI_LONG, next, 1, MPI_SUM, window);
  MPI_Compare_and_swap(&zero, &one, &before, MPI_LONG, next, 2, window);
  MPI_Raccumulate(&one, 1, MPI_LONG, next, 3, 1, MPI_LONG, MPI_SUM, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Rget(&before, 1, MPI_LONG, next, 4, 1, MPI_LONG, window, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// What is seen and not understood: files.
void files() {
  char name[] = "/tmp/byteways-test-XXXXXX";
  const int made = mkstemp(name);
  MPI_File file;
  MPI_Request request;
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_iwrite_at(file, 0, name, 8, MPI_CHAR, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, 8, name, 8, MPI_CHAR, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  close(made);
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
  requests();
  persistent();
  neighbours();
  between();
  fetches();
  files();
  large();
  if (count > 1 && rank == 1) sleep(1), raise(SIGKILL);
  std::printf("rank %d of %d\n", rank, ranks);
  MPI_Finalize();
  return 0;
}

#ifndef MODULE
int main(int count, char** words) { return run(count, words); }
#endif
