// An error handler of MPI that throws a C++ exception, which the program catches.
#include <mpi.h>

#include <cstdio>
#include <stdexcept>

static void handler(MPI_Comm*, int*, ...) { throw std::runtime_error("MPI failed"); }

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Errhandler throwing;
  MPI_Comm_create_errhandler(handler, &throwing);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, throwing);
  int caught = 0, value = 0;
  for (int at = 0; at < 3; ++at) {
    try {
      MPI_Send(&value, 1, MPI_INT, 999, 0, MPI_COMM_WORLD);
    } catch (const std::exception&) {
      ++caught;
    }
  }
  std::printf("caught %d\n", caught);
  MPI_Finalize();
  return 7;
}
