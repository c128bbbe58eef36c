// An error handler of MPI that leaves the failed call: by an exception of C++, or by longjmp(). What comes
// later is counted: two sums of 8 bytes.
#include <mpi.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace {

std::jmp_buf before;
bool jumps;

void handler(MPI_Comm*, int*, ...) {
  if (jumps) std::longjmp(before, 1);
  throw std::runtime_error("failed");
}

int failures() {
  volatile int failed = 0;
  for (volatile int at = 0; at < 3; at = at + 1) {
    int data = 0;
    if (jumps) {
      if (setjmp(before) == 0)
        MPI_Send(&data, 1, MPI_INT, 999, 0, MPI_COMM_SELF);
      else
        failed = failed + 1;
    } else {
      try {
        MPI_Send(&data, 1, MPI_INT, 999, 0, MPI_COMM_SELF);
      } catch (const std::exception&) {
        failed = failed + 1;
      }
    }
  }
  return failed;
}

}  // namespace

int main(int count, char** words) {
  jumps = count > 1 && std::strcmp(words[1], "jump") == 0;
  MPI_Init(&count, &words);
  MPI_Errhandler thrower;
  MPI_Comm_create_errhandler(handler, &thrower);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, thrower);
  std::printf("caught %d\n", failures());
  int mine[2] = {1, 2}, all[2];
  for (int at = 0; at < 2; ++at) MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  MPI_Finalize();
  return 7;
}
