// See trips.hpp.
#include "interfaces/particles/trips.hpp"

#include <algorithm>
#include <numeric>

namespace byteways {
namespace {

constexpr std::uint64_t kParticleBytes = kParticleWords * kWord;
constexpr std::uint64_t kMostMessages = 3000;  // of a trip: their table stays below 1 MiB

// Numbers that repeat in every run.
class Draw {
 public:
  Draw(int rank, std::uint64_t trip, std::uint64_t purpose)
      : key_((static_cast<std::uint64_t>(rank) << 40) + (trip << 32) + (purpose << 24)) {}
  // From 0 to below `limit`.
  std::uint64_t below(std::uint64_t limit) { return (pattern_word(key_, ++drawn_) >> 16) % limit; }

 private:
  std::uint64_t key_, drawn_ = 0;
};

}  // namespace

Population Population::of(const Flow& flow) {
  Population made;
  made.particles = flow.size_bytes / kParticleBytes;
  made.leaving = std::max(kMostNeighbours, made.particles * flow.count("crossing", 10, 250) / 1000);
  made.most = flow.count("message_bytes", 65536) / kParticleBytes;
  if (flow.size_bytes % kParticleBytes != 0 || made.most == 0)
    throw Unsupported(flow.interface, "size", "particles have 128 bytes each");
  // A message has half the most particles on average.
  const std::uint64_t messages = 2 * made.leaving / made.most + 2 * kMostNeighbours;
  if (messages > kMostMessages)
    throw Unsupported(flow.interface, "message_bytes",
                      std::to_string(messages) + " messages of a rank in a trip are more than " +
                          std::to_string(kMostMessages));
  made.most = std::min(made.most, made.particles / (2 * messages));
  if (made.most == 0)
    throw Unsupported(flow.interface, "size",
                      std::to_string(made.particles) + " particles of a rank are too few to leave in " +
                          std::to_string(messages) + " messages");
  return made;
}

std::uint64_t Population::part_bytes() const { return kMostNeighbours * leaving * kParticleBytes; }

std::uint64_t Group::words() const {
  std::uint64_t all = 0;
  for (const std::uint64_t each : particles) all += each * kParticleWords;
  return all;
}

RankGrid seen_by(const RankGrid& grid, int rank) {
  return {grid.columns, grid.rows, rank % grid.columns, rank / grid.columns};
}

std::uint64_t scattering_step(std::uint64_t particles) {
  std::uint64_t step = particles * 382 / 1000 + 1;  // the golden section: near ones are visited far apart
  while (std::gcd(step, particles) != 1) ++step;
  return step;
}

std::vector<Group> groups_of(const Population& population, const RankGrid& grid, int rank,
                             std::uint64_t trip) {
  std::vector<Group> groups;
  for (const int other : seen_by(grid, rank).neighbours())
    if (other != kNobody) groups.push_back({other, {}});
  // Unequal shares: between one and three parts.
  Draw draw(rank, trip, 0);
  std::vector<std::uint64_t> parts;
  std::uint64_t all = 0;
  for (std::size_t k = 0; k < groups.size(); ++k) all += parts.emplace_back(1 + draw.below(3));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    std::uint64_t left = std::max<std::uint64_t>(1, population.leaving * parts[k] / all);
    while (left > 0) {
      const std::uint64_t size = std::min(left, 1 + draw.below(population.most));
      groups[k].particles.push_back(size);
      left -= size;
    }
  }
  return groups;
}

std::vector<std::vector<Segment>> segments_of(const Population& population, const std::vector<Group>& groups,
                                              int rank, std::uint64_t trip) {
  std::uint64_t messages = 0;
  for (const Group& group : groups) messages += group.particles.size();
  const std::uint64_t stripe = population.particles / std::max<std::uint64_t>(1, messages);
  Draw draw(rank, trip, 1);
  std::vector<std::vector<Segment>> found;
  std::uint64_t number = 0;
  for (const Group& group : groups) {
    std::uint64_t in_group = 0;
    std::vector<Segment>& segments = found.emplace_back();
    for (const std::uint64_t size : group.particles) {
      const std::uint64_t first = number++ * stripe + draw.below(stripe - size + 1);
      segments.push_back({first * kParticleWords, in_group, size * kParticleWords});
      in_group += size * kParticleWords;
    }
  }
  return found;
}

}  // namespace byteways
