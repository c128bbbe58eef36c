// Entries of MPI's start and end, and those after which a handle may mean another communicator.
#include <cstdlib>

#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace
using byteways::watch::What;

namespace {

[[gnu::constructor]] void name_this() { byteways::watch::name_library("mpi"); }

// Ranks that a launcher started together, as it tells each of them: MPICH's and Intel's, Open MPI's, Slurm's.
constexpr const char* kNumbers[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};

// A program that fetches MPI's functions by addresses of its own passes this layer by: it is named at its
// end.
[[gnu::destructor]] void name_what_was_unseen() {
  if (abi() != nullptr || !is_started_unseen() || !byteways::watch::is_watching()) return;
  byteways::watch::note_failure("mpi-unseen");
  byteways::watch::save(true);
}

// A program whose MPI ends it while it starts has made a call, too.
void starting(const Call& call) {
  if (!call.is_counted()) return;
  byteways::watch::note_collector("mpi");
  byteways::watch::histogram().note_change();
}

void started(Call& call) {
  call.made(What::kStart);
  if (note_world() != 1) return;
  for (const char* const name : kNumbers)
    if (const char* const text = std::getenv(name); text != nullptr && std::atoi(text) > 1)
      byteways::watch::note_failure("wrong-launcher");
}

}  // namespace

BYTEWAYS_ENTRY(Init, (int* count, char*** words), starting(call); BYTEWAYS_DO((count, words), started(call)))
BYTEWAYS_ENTRY(Init_thread, (int* count, char*** words, int required, int* provided), starting(call);
               BYTEWAYS_DO((count, words, required, provided), started(call)))
BYTEWAYS_ENTRY(Session_init, (Handle info, Handle handler, void* session), starting(call);
               BYTEWAYS_DO((info, handler, session), started(call)))
BYTEWAYS_ENTRY(Session_finalize, (void* session), BYTEWAYS_DO((session), call.made(What::kStart)))

// Launchers may end ranks soon after: what was counted is saved before.
BYTEWAYS_ENTRY(Finalize, (), byteways::watch::save(false); const int error = real(caller);
               if (call.ended(error)) call.made(What::kStart); return error;)
BYTEWAYS_ENTRY(Abort, (Handle comm, int code), byteways::watch::save(true); return real(caller, comm, code);)

#define FORGET(name)                                                                    \
  BYTEWAYS_ENTRY(name, (Handle * comm), if (call.is_counted()) forget(handle_at(comm)); \
                 return real(caller, comm);)
FORGET(Comm_free)
FORGET(Comm_disconnect)
