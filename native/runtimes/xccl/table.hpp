// The C functions of NCCL, which RCCL has under the same names. Declared here, so no header is needed.
#pragma once
#include <cstddef>

#include "runtimes/gpu/function_table.hpp"

namespace byteways::xccl {

// Values of nccl.h.
inline constexpr int kUnsigned8 = 1, kUnsigned32 = 3, kUnsigned64 = 5;  // ncclDataType_t
inline constexpr int kSymmetricWindow = 1;                              // NCCL_WIN_COLL_SYMMETRIC
inline constexpr int kSum = 0;                                          // ncclRedOp_t
inline constexpr int kSuccess = 0, kInvalidArgument = 4, kInternalError = 3, kInProgress = 7;  // ncclResult_t
inline constexpr std::size_t kUniqueIdBytes = 128;  // NCCL_UNIQUE_ID_BYTES

struct Table {
  using Comm = struct OpaqueComm*;
  using Window = struct OpaqueWindow*;
  using Stream = void*;  // of the vendor's runtime
  struct UniqueId {
    char bytes[kUniqueIdBytes];
  };
  // ncclWaitSignalDesc_t: so many signals of a rank.
  struct Signals {
    int count, peer, index, context;
  };
#define BYTEWAYS_TABLE "runtimes/xccl/xccl.def"
#include "runtimes/gpu/function_table.inc"
};

}  // namespace byteways::xccl
