// Exceptions of the native core. The core neither prints nor exits. An exception has the failed call, the
// name of its error code, the vendor's message, the device, and the rank whose failure it is.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

namespace byteways {

class Error : public std::runtime_error {
 public:
  Error(std::string call, std::string code, std::string text, std::string device = {}, int rank = -1)
      : std::runtime_error(describe(call, code, text, device)),
        call_(std::move(call)),
        code_(std::move(code)),
        text_(std::move(text)),
        device_(std::move(device)),
        rank_(rank) {}

  const std::string& call() const { return call_; }      // "cuMemAlloc_v2", "mmap"
  const std::string& code() const { return code_; }      // "CUDA_ERROR_OUT_OF_MEMORY", "ENOMEM"
  const std::string& text() const { return text_; }      // the vendor's message
  const std::string& device() const { return device_; }  // "gpu0", "cpu1", or empty
  int rank() const { return rank_; }                     // in its team, -1: the own one, or unknown

 private:
  static std::string describe(const std::string& call, const std::string& code, const std::string& text,
                              const std::string& device) {
    std::string message = call + ": " + code;
    if (!text.empty()) message += " (" + text + ")";
    if (!device.empty()) message += " on " + device;
    return message;
  }
  std::string call_, code_, text_, device_;
  int rank_;
};

// The requested memory is not available; a smaller case may still run.
class OutOfMemory : public Error {
  using Error::Error;
};

// This runtime, device or driver does not support the request: the text is the reason shown to users.
class Unsupported : public Error {
  using Error::Error;
};

}  // namespace byteways
