// See copy_driver.hpp: which driver this process has.
#include "runtimes/copy_driver.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace byteways::copy_library {
namespace {

std::mutex opening;
// Never destroyed: programs copy until they exit.
std::atomic<Driver*> opened{nullptr};
std::string* reason = nullptr;
std::atomic<bool> forked{false};

bool is_set(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr && *text != '\0';
}

// The library that the program has loaded comes first: its streams are of that one.
Driver* open() {
  if (reason == nullptr) reason = new std::string;
  reason->clear();
  std::unique_ptr<Driver> found;
  for (const bool loaded : {true, false}) {
    if (!found && !(loaded && is_set("BYTEWAYS_LIBCUDA"))) found = open_cuda(loaded, *reason);
    if (!found && !(loaded && is_set("BYTEWAYS_LIBHIP"))) found = open_hip(loaded, *reason);
  }
  if (found) pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  return found.release();
}

}  // namespace

// A driver that does not start is tried again by the next call: it may have lacked memory.
Driver* driver() {
  Driver* found = opened.load(std::memory_order_acquire);
  if (found == nullptr) {
    const std::lock_guard lock(opening);
    found = opened.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = open();
      opened.store(found, std::memory_order_release);
    }
  }
  return is_forked() ? nullptr : found;
}

bool is_forked() { return forked.load(std::memory_order_relaxed); }

bool is_switched_off() {
  static const bool off = [] {
    const char* text = std::getenv("BYTEWAYS_COPY");
    return text != nullptr && std::string_view(text) == "off";
  }();
  return off;
}

std::string missing_driver() {
  const std::lock_guard lock(opening);
  return reason == nullptr ? std::string() : *reason;
}

}  // namespace byteways::copy_library
