// The option `call`: by which of the vendor's calls a copy is asked for, or setting bytes.
#pragma once
#include <string>

#include "interfaces/flow.hpp"
#include "runtimes/capabilities.hpp"

namespace byteways {

// Throws Unsupported for an unknown word.
inline CopyCall copy_call(const Flow& flow) {
  const std::string word = flow.word("call", "async");
  if (word == "async") return CopyCall::async;
  if (word == "blocking") return CopyCall::blocking;
  if (word == "peer") return CopyCall::peer;
  if (word == "peer-blocking") return CopyCall::peer_blocking;
  throw Unsupported(flow.interface, "call", "no call is named '" + word + "'", flow.executor->name());
}

}  // namespace byteways
