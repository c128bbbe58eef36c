// The standard ABI of MPI 5.0 (chapter 20, libmpi_abi.so): handles are pointers, those of predefined objects
// small numbers.
#pragma once

using MPI_Comm = struct MPI_ABI_Comm*;
using MPI_Datatype = struct MPI_ABI_Datatype*;
using MPI_Errhandler = struct MPI_ABI_Errhandler*;
using MPI_Info = struct MPI_ABI_Info*;
using MPI_Op = struct MPI_ABI_Op*;
using MPI_Request = struct MPI_ABI_Request*;
using MPI_Win = struct MPI_ABI_Win*;

struct MPI_Status {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  int internal[5];
};

namespace abi {
inline const auto kWorld = reinterpret_cast<MPI_Comm>(0x101);
inline const auto kSelf = reinterpret_cast<MPI_Comm>(0x102);
inline const auto kNoComm = reinterpret_cast<MPI_Comm>(0x100);
inline const auto kNoRequest = reinterpret_cast<MPI_Request>(0x180);
inline const auto kNoInfo = reinterpret_cast<MPI_Info>(0x130);
inline const auto kErrorsReturn = reinterpret_cast<MPI_Errhandler>(0x143);
inline const auto kByteType = reinterpret_cast<MPI_Datatype>(0x247);
inline const auto kFloatType = reinterpret_cast<MPI_Datatype>(0x210);
inline const auto kUnsigned32Type = reinterpret_cast<MPI_Datatype>(0x251);
inline const auto kUnsigned64Type = reinterpret_cast<MPI_Datatype>(0x259);
inline const auto kSum = reinterpret_cast<MPI_Op>(0x21);
inline void* const kInPlace = reinterpret_cast<void*>(1);
inline MPI_Status* const kIgnoreStatus = nullptr;
inline constexpr int kUndefined = -32766, kSharedMemory = 221;
inline constexpr int kThreadLevels[] = {0, 1024, 2048, 4096};  // of BytewaysThreads
inline constexpr int kErrorInStatus = 19, kErrorPending = 18;
inline constexpr int kErrorRoom = 512, kVersionRoom = 8192;
}  // namespace abi

// Over the types above.
#include "runtimes/mpi/shims/functions.hpp"
