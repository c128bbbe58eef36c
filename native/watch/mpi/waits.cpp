// Entries that wait for requests and messages, or ask for them.
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace

// An entry of these types and names of arguments, which are passed on.
#define WAIT(name, types, declared, passed)       \
  BYTEWAYS_ENTRY name declared {                  \
    BYTEWAYS_CALL(name, BYTEWAYS_PASS types);     \
    const int error = real(BYTEWAYS_PASS passed); \
    if (call.ended(error)) call.waited();         \
    return error;                                 \
  }
#define BYTEWAYS_PASS(...) __VA_ARGS__

WAIT(MPI_Wait, (void*, void*), (void* request, void* status), (caller, request, status))
WAIT(MPI_Waitall, (int, void*, void*), (int count, void* requests, void* statuses),
     (caller, count, requests, statuses))
WAIT(MPI_Waitany, (int, void*, int*, void*), (int count, void* requests, int* which, void* status),
     (caller, count, requests, which, status))
WAIT(MPI_Waitsome, (int, void*, int*, int*, void*),
     (int count, void* requests, int* number, int* which, void* statuses),
     (caller, count, requests, number, which, statuses))
WAIT(MPI_Test, (void*, int*, void*), (void* request, int* flag, void* status),
     (caller, request, flag, status))
WAIT(MPI_Testall, (int, void*, int*, void*), (int count, void* requests, int* flag, void* statuses),
     (caller, count, requests, flag, statuses))
WAIT(MPI_Testany, (int, void*, int*, int*, void*),
     (int count, void* requests, int* which, int* flag, void* status),
     (caller, count, requests, which, flag, status))
WAIT(MPI_Testsome, (int, void*, int*, int*, void*),
     (int count, void* requests, int* number, int* which, void* statuses),
     (caller, count, requests, number, which, statuses))
WAIT(MPI_Probe, (int, int, Handle, void*), (int from, int tag, Handle comm, void* status),
     (caller, from, tag, comm, status))
WAIT(MPI_Iprobe, (int, int, Handle, int*, void*), (int from, int tag, Handle comm, int* flag, void* status),
     (caller, from, tag, comm, flag, status))
WAIT(MPI_Mprobe, (int, int, Handle, void*, void*),
     (int from, int tag, Handle comm, void* message, void* status),
     (caller, from, tag, comm, message, status))
WAIT(MPI_Improbe, (int, int, Handle, int*, void*, void*),
     (int from, int tag, Handle comm, int* flag, void* message, void* status),
     (caller, from, tag, comm, flag, message, status))
