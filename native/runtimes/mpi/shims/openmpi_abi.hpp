// The ABI of Open MPI 4, 5 and 6 (libmpi.so.40): handles are addresses of objects that the library exports.
// Values from Open MPI 4.1 and 5.0, mpi.h.
#pragma once
#include <cstddef>

using MPI_Comm = struct ompi_communicator_t*;
using MPI_Datatype = struct ompi_datatype_t*;
using MPI_Errhandler = struct ompi_errhandler_t*;
using MPI_Info = struct ompi_info_t*;
using MPI_Op = struct ompi_op_t*;
using MPI_Request = struct ompi_request_t*;
using MPI_Win = struct ompi_win_t*;

struct MPI_Status {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR;
  int cancelled;
  std::size_t count;
};

// The library's objects are larger than these declarations, of which only the address is taken.
extern "C" {
extern char ompi_mpi_comm_world[], ompi_mpi_comm_self[], ompi_mpi_comm_null[], ompi_request_null[];
extern char ompi_mpi_info_null[], ompi_mpi_errors_return[], ompi_mpi_op_sum[];
extern char ompi_mpi_byte[], ompi_mpi_float[], ompi_mpi_uint32_t[], ompi_mpi_uint64_t[];
}

namespace abi {
inline const auto kWorld = reinterpret_cast<MPI_Comm>(ompi_mpi_comm_world);
inline const auto kSelf = reinterpret_cast<MPI_Comm>(ompi_mpi_comm_self);
inline const auto kNoComm = reinterpret_cast<MPI_Comm>(ompi_mpi_comm_null);
inline const auto kNoRequest = reinterpret_cast<MPI_Request>(ompi_request_null);
inline const auto kNoInfo = reinterpret_cast<MPI_Info>(ompi_mpi_info_null);
inline const auto kErrorsReturn = reinterpret_cast<MPI_Errhandler>(ompi_mpi_errors_return);
inline const auto kByteType = reinterpret_cast<MPI_Datatype>(ompi_mpi_byte);
inline const auto kFloatType = reinterpret_cast<MPI_Datatype>(ompi_mpi_float);
inline const auto kUnsigned32Type = reinterpret_cast<MPI_Datatype>(ompi_mpi_uint32_t);
inline const auto kUnsigned64Type = reinterpret_cast<MPI_Datatype>(ompi_mpi_uint64_t);
inline const auto kSum = reinterpret_cast<MPI_Op>(ompi_mpi_op_sum);
inline void* const kInPlace = reinterpret_cast<void*>(1);
inline MPI_Status* const kIgnoreStatus = nullptr;
inline constexpr int kUndefined = -32766, kSharedMemory = 0;
inline constexpr int kThreadLevels[] = {0, 1, 2, 3};  // of BytewaysThreads
inline constexpr int kErrorInStatus = 18, kErrorPending = 19;
inline constexpr int kErrorRoom = 256, kVersionRoom = 256;
}  // namespace abi

// Over the types above.
#include "runtimes/mpi/shims/functions.hpp"
