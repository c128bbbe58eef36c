// See layout.hpp.
#include "interfaces/blocks/layout.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "interfaces/pattern.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kPlacesPerBlock = 2;  // of a random layout: every second place stays free
constexpr std::uint64_t kSourceSeed = 1, kDestinationSeed = 2;

[[noreturn]] void refuse(const Flow& flow, const std::string& why) {
  throw Unsupported(flow.interface, "blocks", why, flow.executor->name());
}

// Numbers of a fixed sequence (Steele, Lea and Flood: Fast Splittable Pseudorandom Number Generators, 2014):
// the standard library's distributions differ between its versions.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint64_t below(std::uint64_t limit) {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return (z ^ (z >> 31)) % limit;
  }

 private:
  std::uint64_t state_;
};

// `blocks` different places out of more, in random order.
std::vector<std::uint64_t> random_places(std::uint64_t blocks, std::uint64_t seed) {
  std::vector<std::uint64_t> places(kPlacesPerBlock * blocks);
  for (std::uint64_t k = 0; k < places.size(); ++k) places[k] = k;
  Draws draws(seed);
  for (std::uint64_t k = 0; k < blocks; ++k) std::swap(places[k], places[k + draws.below(places.size() - k)]);
  places.resize(blocks);
  return places;
}

}  // namespace

std::vector<BlockPlace> BlockLayout::by_destination() const {
  std::vector<BlockPlace> map;
  for (std::uint64_t k = 0; k < blocks(); ++k)
    map.push_back({destinations[k] / kWord, sources[k] / kWord, block_bytes / kWord});
  std::sort(map.begin(), map.end(),
            [](const BlockPlace& a, const BlockPlace& b) { return a.destination < b.destination; });
  return map;
}

BlockLayout layout_of(const Flow& flow) {
  const auto option = [&](const char* name) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, flow.number(name)));
  };
  BlockLayout layout;
  layout.block_bytes = option("block_bytes");
  if (layout.block_bytes == 0 || layout.block_bytes % kWord != 0)
    refuse(flow, "block_bytes is a multiple of 8 bytes, and there is no block without bytes");
  if (flow.size_bytes == 0 || flow.size_bytes % layout.block_bytes != 0)
    refuse(flow, std::to_string(flow.size_bytes) + " bytes are no whole number of blocks");
  const std::uint64_t blocks = flow.size_bytes / layout.block_bytes;
  const bool random = flow.word("layout", "random") == "random";
  const std::uint64_t pitch = random ? layout.block_bytes : option("pitch_bytes");
  if (pitch < layout.block_bytes || pitch % kWord != 0)
    refuse(flow, "blocks of " + std::to_string(layout.block_bytes) + " bytes overlap at a pitch of " +
                     std::to_string(pitch) + ", or it is not a multiple of 8 bytes");
  const std::uint64_t places = random ? kPlacesPerBlock * blocks : blocks;
  if (std::uint64_t span = 0; __builtin_mul_overflow(places, pitch, &span))
    refuse(flow, std::to_string(blocks) + " blocks span more than there are addresses");
  const std::string scattered = flow.word("scattered", "both");
  for (const bool source : {true, false}) {
    std::vector<std::uint64_t>& offsets = source ? layout.sources : layout.destinations;
    const bool contiguous = scattered == (source ? "destination" : "source");
    if (random && !contiguous) offsets = random_places(blocks, source ? kSourceSeed : kDestinationSeed);
    if (!random || contiguous)
      for (std::uint64_t k = 0; k < blocks; ++k) offsets.push_back(k);
    for (std::uint64_t& offset : offsets) offset *= contiguous ? layout.block_bytes : pitch;
  }
  layout.span_bytes = places * pitch;
  return layout;
}

}  // namespace byteways
