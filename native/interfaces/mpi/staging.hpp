// Messages of device memory through page-locked host memory, as a program sends them whose MPI takes none: a
// copy by the vendor's call before a send and after a receive, each waited for.
#pragma once
#include <cstdint>
#include <memory>

#include "interfaces/flow.hpp"
#include "runtimes/session.hpp"

namespace byteways {

class Staging {
 public:
  // For up to `messages` at once. Throws OutOfMemory.
  Staging(Session& session, Device& gpu, std::uint64_t message_bytes, std::uint64_t messages);

  // Host memory that message k is sent from: `source` has been copied there.
  std::byte* filled(std::uint64_t k, const std::byte* source);
  // Host memory that message k is received into.
  std::byte* slot(std::uint64_t k) const;
  // Copies what has been received to `destination`; done when finish() returns.
  void empty(std::uint64_t k, std::byte* destination);
  void finish();

 private:
  Device* gpu_;
  std::uint64_t message_bytes_, messages_;
  std::unique_ptr<Buffer> memory_;
  std::unique_ptr<Stream> stream_;
};

// The word of the option `staging`.
constexpr const char* kPinnedStaging = "pinned";

}  // namespace byteways
