// See output.hpp.
#include "watch/output.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace byteways::watch {
namespace {

constexpr int kFirstApart = 1000;

}  // namespace

int open_apart(const char* path, int flags, unsigned mode) noexcept {
  const int low = open(path, flags | O_CLOEXEC, mode);
  if (low < 0 || low >= kFirstApart) return low;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, kFirstApart);
  if (high < 0) return low;
  close(low);
  return high;
}

void Output::begin(int descriptor) noexcept {
  descriptor_ = descriptor;
  filled_ = 0;
  good_ = true;
}

void Output::put(std::string_view text) noexcept {
  while (!text.empty()) {
    if (filled_ == sizeof room_) flush();
    const std::size_t now = text.size() < sizeof room_ - filled_ ? text.size() : sizeof room_ - filled_;
    std::memcpy(room_ + filled_, text.data(), now);
    filled_ += now;
    text.remove_prefix(now);
  }
}

void Output::flush() noexcept {
  std::size_t written = 0;
  while (good_ && written < filled_) {
    const ssize_t now = write(descriptor_, room_ + written, filled_ - written);
    if (now < 0 && errno == EINTR) continue;
    good_ = now > 0;
    written += good_ ? static_cast<std::size_t>(now) : 0;
  }
  filled_ = 0;
}

bool Output::finish() noexcept {
  flush();
  return good_;
}

}  // namespace byteways::watch
