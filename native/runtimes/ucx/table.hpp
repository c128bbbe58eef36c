// The C functions of UCX's upper interface, UCP. Declared here, so no header is needed.
//
// Structures have the beginning that UCP 1.10 gave them (src/ucp/api/ucp.h, ucp_def.h of UCX 1.10.0), which
// later versions of API 1 only extend: field_mask says which fields count. tests/mpi/ucx_layout.cpp
// compares offsets and values with the headers of a newer UCX.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtimes/gpu/function_table.hpp"

namespace byteways::ucx {

// The API that is asked for: the first one that has put, get, flush and tags as calls named ..._nbx.
inline constexpr unsigned kApiMajor = 1, kApiMinor = 10;

// Values of ucs_status_t, an enumeration of one byte.
inline constexpr std::int8_t kOk = 0, kInProgress = 1, kNoMemory = -4, kUnreachable = -6, kLast = -100;
inline constexpr std::uint64_t kFeatures = 1, kTag = 1, kRma = 2;  // UCP_PARAM_FIELD_FEATURES, UCP_FEATURE_…
inline constexpr std::uint64_t kThreadMode = 1;                    // UCP_WORKER_PARAM_FIELD_THREAD_MODE
inline constexpr int kSingle = 0;                                  // UCS_THREAD_MODE_SINGLE
inline constexpr std::uint64_t kRemoteAddress = 1;                 // UCP_EP_PARAM_FIELD_REMOTE_ADDRESS
inline constexpr std::uint64_t kAddress = 1, kLength = 2;          // UCP_MEM_MAP_PARAM_FIELD_…
inline constexpr std::uint64_t kTransports = 8;                    // UCP_EP_ATTR_FIELD_TRANSPORTS, since 1.14

struct Table {
  using Status = std::int8_t;
  using Context = struct OpaqueContext*;
  using Worker = struct OpaqueWorker*;
  using Endpoint = struct OpaqueEndpoint*;
  using Memory = struct OpaqueMemory*;
  using Key = struct OpaqueKey*;
  struct Params {
    std::uint64_t field_mask, features;
    std::uint64_t unused[16];
  };
  struct WorkerParams {
    std::uint64_t field_mask;
    int thread_mode;
    std::uint64_t unused[32];  // the mask of cores alone has 128 bytes
  };
  struct EndpointParams {
    std::uint64_t field_mask;
    const void* address;
    std::uint64_t unused[24];
  };
  struct MapParams {
    std::uint64_t field_mask;
    void* address;
    std::size_t length;
    std::uint64_t unused[8];
  };
  struct Transport {
    const char *transport, *device;
  };
  struct EndpointAttributes {
    std::uint64_t field_mask;
    char name[32];
    char sockets[256];  // two of sockaddr_storage
    Transport* entries;
    unsigned count;
    std::size_t entry_bytes;
    std::uint64_t unused[8];
  };
  // All zero: contiguous bytes, memory whose kind the library finds out, no callback.
  struct RequestParam {
    std::uint32_t op_attr_mask, flags;
    std::uint64_t unused[16];
  };
#define BYTEWAYS_TABLE "runtimes/ucx/ucx.def"
#include "runtimes/gpu/function_table.inc"
};

}  // namespace byteways::ucx
