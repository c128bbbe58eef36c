// Which particles leave in a trip, and with which messages: irregular, but a function of the numbers of trip
// and rank alone, so that every rank knows what it will receive, and every run sends the same.
#pragma once
#include <cstdint>
#include <vector>

#include "interfaces/exchange/application.hpp"
#include "interfaces/particles/arguments.hpp"

namespace byteways {

// Of a rank's particles, and of its messages.
struct Population {
  std::uint64_t particles = 0;  // of one rank at home
  std::uint64_t leaving = 0;    // of them in a trip
  std::uint64_t most = 0;       // particles in a message

  // From the options `particles`, `crossing` and `message_bytes`. Throws Unsupported when messages would not
  // find room side by side.
  static Population of(const Flow& flow);
  // Bytes of a part of the memory of messages, and of guests in the store: as many as all neighbours send.
  std::uint64_t part_bytes() const;
};

inline constexpr std::uint64_t kTrips = 4;  // then the first one again
inline constexpr std::uint64_t kMostNeighbours = 4;

// The messages of a trip to one neighbour, one after the other.
struct Group {
  int other = kNobody;
  std::vector<std::uint64_t> particles;  // of each message
  std::uint64_t words() const;
};

// What a rank sends away in a trip, by neighbour.
std::vector<Group> groups_of(const Population& population, const RankGrid& grid, int rank,
                             std::uint64_t trip);
// The place of each of these messages in the store of the rank: not adjacent, in order of groups.
std::vector<std::vector<Segment>> segments_of(const Population& population, const std::vector<Group>& groups,
                                              int rank, std::uint64_t trip);
// How many places lie between two particles that a core visits one after the other: so many that neither
// cache lines nor a stride that a core could foresee join them, and every particle is visited once.
std::uint64_t scattering_step(std::uint64_t particles);
// The grid as another rank sees it.
RankGrid seen_by(const RankGrid& grid, int rank);

}  // namespace byteways
