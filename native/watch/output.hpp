// Files of the collectors: descriptors that a program does not meet, and text that is written without being
// held in memory. Nothing here allocates.
#pragma once
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace byteways::watch {

// Around what a hook does by itself: the program's errno stays, and a thread that is to be cancelled is not
// cancelled here, where the program has no cancellation point.
class Unnoticed {
 public:
  Unnoticed() noexcept : error_(errno) { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling_); }
  ~Unnoticed() {
    pthread_setcancelstate(cancelling_, nullptr);
    errno = error_;
  }
  Unnoticed(const Unnoticed&) = delete;
  Unnoticed& operator=(const Unnoticed&) = delete;

 private:
  const int error_;
  int cancelling_ = PTHREAD_CANCEL_ENABLE;
};

// open(2) with a descriptor of at least 1000 where the limit allows it: programs expect the lowest ones free.
int open_apart(const char* path, int flags, unsigned mode) noexcept;

// Text on its way to a descriptor. After a write that failed nothing more is written.
class Output {
 public:
  void begin(int descriptor) noexcept;
  void put(char letter) noexcept {
    if (filled_ == sizeof room_) flush();
    room_[filled_++] = letter;
  }
  void put(std::string_view text) noexcept;
  // Writes the rest; whether all was written.
  bool finish() noexcept;

 private:
  void flush() noexcept;

  char room_[16 * 1024];
  std::size_t filled_;
  int descriptor_;
  bool good_;
};

// Text of bounded length: paths. What does not fit is left out, and `fits` says so.
template <std::size_t kRoom>
class Text {
 public:
  void clear() noexcept {
    length_ = 0;
    fits_ = true;
    room_[0] = '\0';
  }
  Text& operator+=(std::string_view more) noexcept {
    fits_ = fits_ && more.size() < kRoom - length_;
    if (!fits_) return *this;
    std::memcpy(room_ + length_, more.data(), more.size());
    length_ += more.size();
    room_[length_] = '\0';
    return *this;
  }
  const char* c_str() const noexcept { return room_; }
  bool empty() const noexcept { return length_ == 0; }
  bool fits() const noexcept { return fits_; }

 private:
  char room_[kRoom] = {};
  std::size_t length_ = 0;
  bool fits_ = true;
};

}  // namespace byteways::watch
