// See patient.hpp.
#include "runtimes/mpi/patient.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>

namespace byteways {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Messages of this file alone: movers use tags below.
constexpr int kLengthTag = 20001, kBytesTag = 20002;
// A wait is looked at again after this time, which doubles up to the second: a rank answers at once where the
// others are near, and takes no core where they are not.
constexpr std::chrono::microseconds kShortNap{20}, kLongNap{2000};

class Nap {
 public:
  void take() {
    std::this_thread::sleep_for(length_);
    length_ = std::min(2 * length_, kLongNap);
  }

 private:
  std::chrono::microseconds length_ = kShortNap;
};

void finish(const Communicator& ranks, Requests& requests) {
  for (Nap nap; !ranks.test(requests);) nap.take();
}

void send_bytes(const Communicator& ranks, const std::string& bytes, int to) {
  const std::uint64_t length = bytes.size();
  Requests requests;
  ranks.start_send(requests, &length, 1, kUnsigned64, to, kLengthTag);
  if (length != 0)
    ranks.start_send(requests, bytes.data(), static_cast<std::int64_t>(length), kByte, to, kBytesTag);
  finish(ranks, requests);
}

// What arrives from one rank: its length, then its bytes.
class Incoming {
 public:
  Incoming(const Communicator& ranks, int from) : ranks_(&ranks), from_(from) {
    ranks.start_receive(requests_, &length_, 1, kUnsigned64, from, kLengthTag);
  }
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;

  bool arrived() {
    if (done_ || !ranks_->test(requests_)) return done_;
    if (length_ == 0 || !bytes_.empty()) return done_ = true;
    bytes_.resize(length_);
    ranks_->start_receive(requests_, bytes_.data(), static_cast<std::int64_t>(length_), kByte, from_,
                          kBytesTag);
    return false;
  }
  std::string take() { return std::move(bytes_); }

 private:
  const Communicator* ranks_;
  int from_;
  std::uint64_t length_ = 0;
  std::string bytes_;
  Requests requests_;
  bool done_ = false;
};

}  // namespace

std::string patient_broadcast(const Communicator& ranks, std::string mine, int root) {
  const int size = ranks.size();
  const int own = (ranks.rank() - root + size) % size;  // numbered from the root
  int step = 1;
  while (step < size && own % (2 * step) == 0) step *= 2;  // the root: beyond all ranks
  if (own != 0) {
    Incoming incoming(ranks, (own - step + root) % size);
    for (Nap nap; !incoming.arrived();) nap.take();
    mine = incoming.take();
  }
  for (step /= 2; step > 0; step /= 2)
    if (own + step < size) send_bytes(ranks, mine, (own + step + root) % size);
  return mine;
}

std::vector<std::optional<std::string>> patient_collect(const Communicator& ranks, const std::string& mine,
                                                        int root, const std::vector<int>& from,
                                                        double patience_s) {
  if (ranks.rank() != root) {
    send_bytes(ranks, mine, root);
    return {};
  }
  const auto until = SteadyClock::now() + std::chrono::duration<double>(patience_s);
  std::vector<std::unique_ptr<Incoming>> incoming;
  for (const int rank : from)
    incoming.push_back(rank == root ? nullptr : std::make_unique<Incoming>(ranks, rank));
  const auto arrived = [](const std::unique_ptr<Incoming>& one) { return !one || one->arrived(); };
  for (Nap nap; !std::all_of(incoming.begin(), incoming.end(), arrived) && SteadyClock::now() < until;)
    nap.take();
  std::vector<std::optional<std::string>> all;
  for (std::unique_ptr<Incoming>& one : incoming) {
    if (!one)
      all.emplace_back(mine);
    else if (one->arrived())
      all.emplace_back(one->take());
    else {
      all.emplace_back(std::nullopt);
      one.release();  // MPI may still write into it
    }
  }
  return all;
}

}  // namespace byteways
