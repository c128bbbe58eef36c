// See cache_files.hpp. A file has one header line, "byteways-kernel <name> <bytes> <checksum of the
// content>", then the content.
#include "runtimes/gpu/cache_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>

namespace byteways::gpu {
namespace {

// More than a hundred times the size of any kernel.
constexpr off_t kMostBytes = 256 << 20;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  int get() const { return number_; }
  bool open() const { return number_ >= 0; }

 private:
  int number_;
};

// Whether it has this type, belongs to this user, and nobody else may write to it.
bool own(int descriptor, mode_t type) {
  struct stat found{};
  return fstat(descriptor, &found) == 0 && (found.st_mode & S_IFMT) == type && found.st_uid == geteuid() &&
         (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int open_folder(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0 && own(descriptor, S_IFDIR)) return descriptor;
  if (descriptor >= 0) close(descriptor);
  return -1;
}

std::string header_of(const std::string& name, const std::string& content) {
  return "byteways-kernel " + name + " " + std::to_string(content.size()) + " " + checksum(content) + "\n";
}

// The whole content; empty if it cannot be read completely.
std::string all_of(int descriptor) {
  struct stat found{};
  if (fstat(descriptor, &found) != 0 || found.st_size > kMostBytes) return {};
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t held = 0;
  while (held < text.size()) {
    const ssize_t got = read(descriptor, text.data() + held, text.size() - held);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return {};
    held += static_cast<std::size_t>(got);
  }
  return text;
}

bool write_all(int descriptor, const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t put = write(descriptor, text.data() + written, text.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    written += static_cast<std::size_t>(put);
  }
  return true;
}

std::string hexadecimal(std::uint64_t value) {
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[value >> shift & 15u];
  return digits;
}

std::string random_digits() {
  std::random_device source;
  return hexadecimal(std::uint64_t{source()} << 32 | source()) +
         hexadecimal(std::uint64_t{source()} << 32 | source());
}

}  // namespace

std::string checksum(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char byte : text) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hexadecimal(value);
}

std::string read_cached(const std::string& folder, const std::string& name) {
  const Descriptor place(open_folder(folder));
  if (!place.open()) return {};
  // Non-blocking: opening a FIFO of this name would block.
  const Descriptor file(openat(place.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.open() || !own(file.get(), S_IFREG)) return {};
  const std::string text = all_of(file.get());
  const std::size_t line = text.find('\n');
  if (line == std::string::npos) return {};
  std::string content = text.substr(line + 1);
  return text.compare(0, line + 1, header_of(name, content)) == 0 ? content : std::string();
}

void write_cached(const std::string& folder, const std::string& name, const std::string& content) {
  const std::filesystem::path path(folder);
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  mkdir(folder.c_str(), 0700);
  const Descriptor place(open_folder(folder));
  if (!place.open()) return;
  const std::string aside = name + "." + random_digits();
  bool whole = false;
  {
    const Descriptor file(
        openat(place.get(), aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.open()) return;
    whole = write_all(file.get(), header_of(name, content) + content);
  }
  if (!whole || renameat(place.get(), aside.c_str(), place.get(), name.c_str()) != 0)
    unlinkat(place.get(), aside.c_str(), 0);
}

}  // namespace byteways::gpu
