// Exceptions and cancellation of the program pass through the layer of MPI, and one library unwinds the whole
// stack: libgcc_s. This library is not linked with it, because each process of a program would load it: a
// third of what a process of a shell costs more. It is asked where an exception passes, which has loaded it.
#pragma once

namespace byteways::watch::mpi {

// Finds that library if it is loaded, with the first call of MPI: later a thread may hold the loader's lock.
void find_unwinding() noexcept;

}  // namespace byteways::watch::mpi
