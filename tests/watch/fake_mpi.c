// An MPI of one rank with MPICH's handles, for tests of `byteways watch` that need no real one: calls do
// nothing.
#include <stdio.h>
#include <string.h>

#define FUNCTION(name, ...)                                                \
  int MPI_##name(__VA_ARGS__) __attribute__((weak, alias("PMPI_" #name))); \
  int PMPI_##name(__VA_ARGS__)

static int started, ended;

FUNCTION(Init, int* count, char*** words) { return started = 1, 0; }
FUNCTION(Initialized, int* flag) { return *flag = started, 0; }
FUNCTION(Finalized, int* flag) { return *flag = ended, 0; }
FUNCTION(Finalize, void) { return ended = 1, 0; }
FUNCTION(Comm_rank, int comm, int* rank) { return *rank = 0, 0; }
FUNCTION(Comm_size, int comm, int* size) { return *size = 1, 0; }
FUNCTION(Comm_test_inter, int comm, int* flag) { return *flag = 0, 0; }
FUNCTION(Topo_test, int comm, int* kind) { return *kind = -32766 /* MPI_UNDEFINED */, 0; }
FUNCTION(Comm_group, int comm, int* group) { return *group = 1, 0; }
FUNCTION(Group_size, int group, int* size) { return *size = 1, 0; }
FUNCTION(Group_free, int* group) { return 0; }
FUNCTION(Group_translate_ranks, int group, int count, const int ranks[], int other, int found[]) {
  return memcpy(found, ranks, sizeof(int) * (size_t)count), 0;
}
FUNCTION(Type_size, int type, int* size) { return *size = (type >> 8) & 0xff, 0; }
FUNCTION(Send, const void* data, int count, int type, int to, int tag, int comm) { return 0; }
