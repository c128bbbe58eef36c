// See process_ranks.hpp.
#include "runtimes/process_ranks.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>

#include "core/error.hpp"

namespace byteways {
namespace {

using Steady = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::milliseconds(5);  // between attempts to reach a rank that has not come

[[noreturn]] void fail(const std::string& what) { throw Error("ranks", what, std::strerror(errno)); }
[[noreturn]] void left(int rank) {
  throw Error("team", "a rank left", "rank " + std::to_string(rank) + " closed its connection", {}, rank);
}

}  // namespace

class RankSocket {
 public:
  explicit RankSocket(int descriptor = -1) : descriptor_(descriptor) {}
  RankSocket(RankSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  RankSocket& operator=(RankSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~RankSocket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

  // `peer` is named when its end is closed.
  void write(const void* data, std::size_t bytes, int peer) const {
    const char* at = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t sent = ::send(descriptor_, at, bytes, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) left(peer);
      at += sent;
      bytes -= static_cast<std::size_t>(sent);
    }
  }
  void read(void* data, std::size_t bytes, int peer) const {
    char* at = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t received = ::recv(descriptor_, at, bytes, 0);
      if (received < 0 && errno == EINTR) continue;
      if (received <= 0) left(peer);
      at += received;
      bytes -= static_cast<std::size_t>(received);
    }
  }
  void write_text(const std::string& text, int peer) const {
    const std::uint64_t length = text.size();
    write(&length, sizeof length, peer);
    write(text.data(), text.size(), peer);
  }
  std::string read_text(int peer) const {
    std::uint64_t length = 0;
    read(&length, sizeof length, peer);
    std::string text(length, '\0');
    read(text.data(), length, peer);
    return text;
  }

 private:
  int descriptor_;
};

namespace {

RankSocket new_socket() {
  RankSocket made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.get() < 0) fail("socket");
  return made;
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw Error("ranks", path, "the path is too long for a socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

RankSocket listen_at(const std::string& path, int ranks) {
  RankSocket door = new_socket();
  const sockaddr_un address = address_of(path);
  if (::bind(door.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  if (::listen(door.get(), ranks) != 0) fail("listen");
  return door;
}

RankSocket connect_to(const std::string& path, Steady::time_point until) {
  const sockaddr_un address = address_of(path);
  for (;;) {
    RankSocket made = new_socket();
    if (::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return made;
    if (Steady::now() >= until) fail("rank 0 did not come");
    std::this_thread::sleep_for(kPause);
  }
}

RankSocket accept_at(const RankSocket& door, Steady::time_point until) {
  for (;;) {
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(until - Steady::now()).count();
    pollfd waiting{door.get(), POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<long long>(left_ms, 0, 1'000'000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) throw Error("ranks", "join", "not all ranks came in time");
    RankSocket made(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (made.get() >= 0) return made;
  }
}

}  // namespace

class ProcessRanks::Group {
 public:
  Group(std::string path, int rank, int size, double patience_s)
      : path_(std::move(path)), rank_(rank), size_(size), patience_s_(patience_s) {}

  // The first rank opens the door; the others may come before.
  void open() {
    if (rank_ == 0) door_ = listen_at(path_, size_);
  }
  void meet() {
    const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                           std::chrono::duration<double>(patience_s_));
    if (rank_ != 0) {
      peers_.push_back(connect_to(path_, until));
      return peers_[0].write(&rank_, sizeof rank_, 0);
    }
    peers_.resize(static_cast<std::size_t>(size_));
    for (int come = 1; come < size_; ++come) {
      RankSocket peer = accept_at(door_, until);
      int number = 0;
      peer.read(&number, sizeof number, come);
      peers_.at(static_cast<std::size_t>(number)) = std::move(peer);
    }
    ::unlink(path_.c_str());
  }

  std::vector<std::string> exchange(const std::string& mine) {
    std::vector<std::string> items(static_cast<std::size_t>(size_));
    if (rank_ != 0) {
      peers_[0].write_text(mine, 0);
      for (std::string& item : items) item = peers_[0].read_text(0);
      return items;
    }
    items[0] = mine;
    for (int peer = 1; peer < size_; ++peer) items[at(peer)] = peers_[at(peer)].read_text(peer);
    for (int peer = 1; peer < size_; ++peer)
      for (const std::string& item : items) peers_[at(peer)].write_text(item, peer);
    return items;
  }

  // The part of a split: each has a name of its own.
  std::shared_ptr<Group> part(int color, int rank, int size) const {
    return std::make_shared<Group>(path_ + "." + std::to_string(splits_) + "." + std::to_string(color), rank,
                                   size, patience_s_);
  }
  void count_split() { ++splits_; }

 private:
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  const std::string path_;
  const int rank_, size_;
  const double patience_s_;
  int splits_ = 0;
  RankSocket door_;
  std::vector<RankSocket> peers_;  // of the first rank: by rank; of another one: the first rank
};

ProcessRanks::ProcessRanks(std::shared_ptr<Group> group, int rank, int size)
    : Ranks(rank, size), group_(std::move(group)) {}

ProcessRanks ProcessRanks::join(const std::string& folder, int rank, int size, double patience_s) {
  if (size < 1 || rank < 0 || rank >= size)
    throw Error("ranks", std::to_string(rank), "there is no such rank");
  auto group = std::make_shared<Group>(folder + "/r", rank, size, patience_s);
  group->open();
  group->meet();
  return ProcessRanks(std::move(group), rank, size);
}

std::string ProcessRanks::broadcast_bytes(std::string mine, int root) const {
  if (root < 0 || root >= size()) throw Error("broadcast", std::to_string(root), "there is no such rank");
  if (rank() != root) mine.clear();
  return group_->exchange(mine)[static_cast<std::size_t>(root)];
}

std::vector<std::string> ProcessRanks::gather_bytes(const std::string& mine) const {
  return group_->exchange(mine);
}

std::optional<ProcessRanks> ProcessRanks::split(int color, int key) const {
  group_->count_split();
  const std::vector<std::string> told = group_->exchange(std::to_string(color) + " " + std::to_string(key));
  std::vector<std::pair<int, int>> same;  // key and rank
  for (std::size_t other = 0; other < told.size(); ++other) {
    const std::size_t gap = told[other].find(' ');
    if (std::stoi(told[other].substr(0, gap)) == color)
      same.emplace_back(std::stoi(told[other].substr(gap + 1)), static_cast<int>(other));
  }
  std::sort(same.begin(), same.end());
  const auto own =
      std::find_if(same.begin(), same.end(), [this](const auto& each) { return each.second == rank(); });
  const int number = static_cast<int>(own - same.begin()), count = static_cast<int>(same.size());
  auto part = color < 0 ? nullptr : group_->part(color, number, count);
  if (part) part->open();
  group_->exchange({});  // all doors are open
  if (!part) return std::nullopt;
  part->meet();
  return ProcessRanks(std::move(part), number, count);
}

}  // namespace byteways
