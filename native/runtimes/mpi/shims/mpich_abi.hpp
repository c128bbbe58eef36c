// The ABI that MPICH, Intel MPI, MVAPICH and Cray MPICH share (MPICH ABI Compatibility Initiative,
// libmpi.so.12): handles are integers. Values from MPICH 4.0 and 5.0, mpi.h.
#pragma once

using MPI_Comm = int;
using MPI_Datatype = int;
using MPI_Errhandler = int;
using MPI_Info = int;
using MPI_Op = int;
using MPI_Request = int;
using MPI_Win = int;

struct MPI_Status {
  int count_lo, count_hi_and_cancelled;
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
};

namespace abi {
inline constexpr MPI_Comm kWorld = 0x44000000, kSelf = 0x44000001, kNoComm = 0x04000000;
inline constexpr MPI_Request kNoRequest = 0x2c000000;
inline constexpr MPI_Info kNoInfo = 0x1c000000;
inline constexpr MPI_Errhandler kErrorsReturn = 0x54000001;
inline constexpr MPI_Datatype kByteType = 0x4c00010d, kFloatType = 0x4c00040a, kUnsigned64Type = 0x4c00083e,
                              kUnsigned32Type = 0x4c00043d;
inline constexpr MPI_Op kSum = 0x58000003;
inline void* const kInPlace = reinterpret_cast<void*>(-1);
inline MPI_Status* const kIgnoreStatus = reinterpret_cast<MPI_Status*>(1);
inline constexpr int kUndefined = -32766, kSharedMemory = 1;
inline constexpr int kThreadLevels[] = {0, 1, 2, 3};  // of BytewaysThreads
inline constexpr int kErrorInStatus = 17, kErrorPending = 18;
// MPI_MAX_ERROR_STRING: 512, and 1024 in older versions of the same ABI.
inline constexpr int kErrorRoom = 1024, kVersionRoom = 8192;
}  // namespace abi

// Over the types above.
#include "runtimes/mpi/shims/functions.hpp"
