// What readers of a record need of the evidence for its engine. The sentence beside it is for people only.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace byteways {

// A transport that carries messages otherwise than asked, because a rank could not do as asked.
struct Fallback {
  std::string from, to;  // words of the option `transport`; empty: as asked
  std::string reason;    // of the first rank that could not, with its number
};

struct EvidenceFields {
  std::uint64_t window_messages = 0;     // in flight between two ranks; 0: not sent in windows
  std::string library, library_version;  // "NCCL", "2.28.9"; empty: none beside MPI
  std::string call;  // of an operation that not every version of the library has as one; empty: all have it
  Fallback fallback;
  std::vector<std::string> transports;  // of UCX to the other rank: "cma/memory"; empty: unknown, or no UCX
  // Loads that a cache of the executor's own may serve, which is not coherent with the owner of the memory.
  bool own_caches = false;
};

}  // namespace byteways
