// What a flow of bytes is, as the plan asked for it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "runtimes/mpi/mpi.hpp"
#include "runtimes/session.hpp"

namespace byteways {

// Of a grid, as both vendors take them; and of a CPU's team, beyond any machine's cores.
inline constexpr unsigned kMostBlocks = 0x7fffffff, kMostTeam = 4096;

// Between processes, each rank that takes part has a flow of its own with the buffers that it holds; nullptr
// where another rank holds it.
struct Flow {
  Buffer* source = nullptr;       // of interfaces with one buffer, that one
  Buffer* destination = nullptr;  // chase: the same buffer
  Device* executor = nullptr;
  std::string interface;  // a row of src/byteways/plan/interfaces.py
  std::uint64_t size_bytes = 0;
  bool cold = true;  // operations rotate through the slots of both buffers; else all use the first slot
  Buffer* second_source = nullptr;  // of interfaces that read two arrays
  Device* partner = nullptr;        // the device that answers, of interfaces that have one; where pages go to
  const Communicator* ranks = nullptr;  // those that take part; nullptr: this process alone
  unsigned sharing = 1;  // flows of this executor that run at once: the kernel of each leaves room for all
  std::map<std::string, std::variant<std::int64_t, std::string>, std::less<>> options;

  // Of an option; `otherwise` where the case does not have it. `stream`: flows of one device with equal
  // numbers >= 0 share one.
  std::int64_t number(std::string_view option, std::int64_t otherwise = 0) const;
  // Of an option that counts things. Throws Unsupported when it is not from 1 to `most`.
  unsigned count(std::string_view option, unsigned otherwise, unsigned most = kMostBlocks) const;
  std::string word(std::string_view option, std::string_view otherwise = {}) const;
};

}  // namespace byteways
