// See clock_offset.hpp.
#include "timing/clock_offset.hpp"

#include <cstddef>
#include <cstdint>

namespace byteways {
namespace {

constexpr int kTag = 20003;  // see patient.cpp

// Rank 0's part with one other rank: the round trip with the least delay.
template <typename Now>
ClockOffset ask(const Communicator& ranks, const Now& now, int other, int round_trips) {
  double shortest_ns = 0;
  ClockOffset found{0, 0, round_trips};
  for (int trip = 0; trip < round_trips; ++trip) {
    double theirs_ns = 0;
    const double sent_ns = now();
    ranks.send(&sent_ns, sizeof sent_ns, kByte, other, kTag);
    ranks.receive(&theirs_ns, sizeof theirs_ns, kByte, other, kTag);
    const double took_ns = now() - sent_ns;
    if (trip == 0 || took_ns < shortest_ns) {
      shortest_ns = took_ns;
      found.offset_ns = theirs_ns - (sent_ns + took_ns / 2);
    }
  }
  found.uncertainty_ns = shortest_ns / 2;
  return found;
}

template <typename Now>
void answer(const Communicator& ranks, const Now& now, int round_trips) {
  for (int trip = 0; trip < round_trips; ++trip) {
    double sent_ns = 0;
    ranks.receive(&sent_ns, sizeof sent_ns, kByte, 0, kTag);
    const double shown_ns = now();
    ranks.send(&shown_ns, sizeof shown_ns, kByte, 0, kTag);
  }
}

}  // namespace

std::vector<ClockOffset> estimate_clock_offsets(const Communicator& ranks, Clock& clock, int round_trips) {
  const int size = ranks.size(), mine = ranks.rank();
  const auto now = [&] { return static_cast<double>(clock.now()); };
  std::vector<ClockOffset> found(static_cast<std::size_t>(size));
  if (mine == 0) {
    for (int other = 1; other < size; ++other)
      found[static_cast<std::size_t>(other)] = ask(ranks, now, other, round_trips);
  } else {
    answer(ranks, now, round_trips);
  }
  std::vector<double> told;
  for (const ClockOffset& one : found) told.insert(told.end(), {one.offset_ns, one.uncertainty_ns});
  ranks.broadcast(told.data(), static_cast<std::int64_t>(told.size() * sizeof(double)), kByte, 0);
  for (std::size_t rank = 0; rank < found.size(); ++rank)
    found[rank] = {told[2 * rank], told[2 * rank + 1], round_trips};
  return found;
}

}  // namespace byteways
