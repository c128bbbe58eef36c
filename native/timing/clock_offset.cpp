// See clock_offset.hpp.
#include "timing/clock_offset.hpp"

#include <array>
#include <string>

#include "core/error.hpp"

namespace byteways {
namespace {

constexpr int kTag = 20003;  // see patient.cpp

}  // namespace

ClockOffset estimate_clock_offset(const Communicator& pair, Clock& clock, int round_trips) {
  if (pair.size() != 2)
    throw Error("clock offset", "ranks", "it is of 2 ranks, not " + std::to_string(pair.size()));
  const int other = 1 - pair.rank();
  const auto now = [&] { return static_cast<double>(clock.now()); };
  double shortest_ns = 0;
  ClockOffset found{0, 0, round_trips};
  for (int trip = 0; trip < round_trips; ++trip) {
    double theirs_ns = 0;
    if (pair.rank() == 0) {
      const double sent_ns = now();
      pair.send(&sent_ns, sizeof sent_ns, kByte, other, kTag);
      pair.receive(&theirs_ns, sizeof theirs_ns, kByte, other, kTag);
      const double took_ns = now() - sent_ns;
      if (trip == 0 || took_ns < shortest_ns) {
        shortest_ns = took_ns;
        found.offset_ns = theirs_ns - (sent_ns + took_ns / 2);
      }
    } else {
      pair.receive(&theirs_ns, sizeof theirs_ns, kByte, other, kTag);
      const double shown_ns = now();
      pair.send(&shown_ns, sizeof shown_ns, kByte, other, kTag);
    }
  }
  found.uncertainty_ns = shortest_ns / 2;
  std::array<double, 2> result{found.offset_ns, found.uncertainty_ns};
  pair.broadcast(result.data(), sizeof result, kByte, 0);
  found.offset_ns = result[0];
  found.uncertainty_ns = result[1];
  return found;
}

}  // namespace byteways
