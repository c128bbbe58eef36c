// Entries of MPI's start and end, and those after which a handle may mean another communicator.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace

namespace {

[[gnu::constructor]] void name_this() { byteways::watch::name_library("mpi"); }

void started(int error) {
  if (error != 0 || !byteways::watch::is_watching()) return;
  byteways::watch::note_collector("mpi");
  note_world();
}

}  // namespace

BYTEWAYS_ENTRY MPI_Init(int* count, char*** words) {
  BYTEWAYS_CALL(MPI_Init, int*, char***);
  const int error = real(caller, count, words);
  started(error);
  return error;
}

BYTEWAYS_ENTRY MPI_Init_thread(int* count, char*** words, int required, int* provided) {
  BYTEWAYS_CALL(MPI_Init_thread, int*, char***, int, int*);
  const int error = real(caller, count, words, required, provided);
  started(error);
  return error;
}

// Launchers may end ranks soon after: what was counted is saved before.
BYTEWAYS_ENTRY MPI_Finalize() {
  BYTEWAYS_CALL(MPI_Finalize);
  byteways::watch::save(false);
  return real(caller);
}

BYTEWAYS_ENTRY MPI_Abort(Handle comm, int code) {
  BYTEWAYS_CALL(MPI_Abort, Handle, int);
  byteways::watch::save(true);
  return real(caller, comm, code);
}

BYTEWAYS_ENTRY MPI_Comm_free(Handle* comm) {
  BYTEWAYS_CALL(MPI_Comm_free, Handle*);
  forget(handle_at(comm));
  return real(caller, comm);
}

BYTEWAYS_ENTRY MPI_Comm_disconnect(Handle* comm) {
  BYTEWAYS_CALL(MPI_Comm_disconnect, Handle*);
  forget(handle_at(comm));
  return real(caller, comm);
}
