// One flow of bytes, as planned.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtimes/ranks.hpp"
#include "runtimes/session.hpp"
#include "runtimes/xccl/xccl.hpp"

namespace byteways {

class PeerCommunicator;  // interfaces/direct/communicator.hpp
class UcxRank;           // runtimes/ucx/ucx.hpp

inline constexpr std::uint64_t kWord = sizeof(std::uint64_t);  // bytes of a word of the data pattern

// Upper bounds: blocks of a grid, for both vendors; threads of a CPU team, more than any machine has cores.
inline constexpr unsigned kMostBlocks = 0x7fffffff, kMostTeam = 4096;

// Between ranks, each one that takes part has a flow of its own with the buffers that it holds; nullptr where
// another rank holds it.
struct Flow {
  Buffer* source = nullptr;       // or the only buffer of interfaces with one
  Buffer* destination = nullptr;  // pointer chase: the same buffer
  Device* executor = nullptr;
  std::string interface;  // a row of src/byteways/cases/interfaces.py
  std::uint64_t size_bytes = 0;
  bool cold = true;  // operations rotate through the slots of both buffers; else all use the first slot
  Buffer* second_source = nullptr;    // only for interfaces that read two arrays
  Device* partner = nullptr;          // the device that answers, or the target of a prefetch; else null
  const Ranks* ranks = nullptr;       // those that take part; null: one process
  XcclCommunicator* xccl = nullptr;   // the same ranks in the vendor's library, one GPU each; else null
  PeerCommunicator* peers = nullptr;  // the same ranks by peer memory, one GPU each; else null
  UcxRank* ucx = nullptr;             // the same ranks in UCX; else null
  // Launch mode `single`: the flows of the other ranks, for which the same thread calls (single_thread.hpp).
  std::vector<Flow> others;
  unsigned sharing = 1;  // concurrent flows of this executor: each kernel leaves room for the others
  std::map<std::string, std::variant<std::int64_t, std::string>, std::less<>> options;

  // Returns the value of an option, or `otherwise` if the case does not have it. For `stream`: flows of one
  // device with equal numbers >= 0 share one queue.
  std::int64_t number(std::string_view option, std::int64_t otherwise = 0) const;
  // Returns the value of an option that is a count. Throws Unsupported unless it is from 1 to `most`.
  unsigned count(std::string_view option, unsigned otherwise, unsigned most = kMostBlocks) const;
  std::string word(std::string_view option, std::string_view otherwise = {}) const;
};

}  // namespace byteways
