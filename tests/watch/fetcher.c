// Calls MPI by addresses that it fetched of the library itself, as MPI.jl does.
#include <dlfcn.h>

int main(int count, char** words) {
  void* const library = count > 1 ? dlopen(words[1], RTLD_NOW) : 0;
  if (library == 0) return 1;
  int (*const start)(int*, char***) = (int (*)(int*, char***))dlsym(library, "MPI_Init");
  int (*const end)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
  start(0, 0);
  end();
  return 0;
}
