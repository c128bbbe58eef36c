// See copy_driver.hpp: which driver this process has.
#include "runtimes/copy_driver.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace byteways::copy_library {
namespace {

std::once_flag opening;
// Never destroyed: programs copy until they exit.
Driver* opened = nullptr;
std::string* reason = nullptr;
std::atomic<bool> forked{false};

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

// The library that the program has loaded comes first: its streams are of that one.
void open() {
  reason = new std::string;
  std::unique_ptr<Driver> found;
  for (const bool loaded : {true, false}) {
    if (!found && !(loaded && is_set("BYTEWAYS_LIBCUDA"))) found = open_cuda(loaded, *reason);
    if (!found && !(loaded && is_set("BYTEWAYS_LIBHIP"))) found = open_hip(loaded, *reason);
  }
  opened = found.release();
  if (opened != nullptr)
    pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
}

}  // namespace

Driver* driver() {
  std::call_once(opening, open);
  return is_forked() ? nullptr : opened;
}

bool is_forked() { return forked.load(std::memory_order_relaxed); }

bool is_switched_off() {
  static const bool off = [] {
    const char* text = std::getenv("BYTEWAYS_COPY");
    return text != nullptr && std::string_view(text) == "off";
  }();
  return off;
}

std::string missing_driver() { return reason == nullptr ? std::string() : *reason; }

}  // namespace byteways::copy_library
