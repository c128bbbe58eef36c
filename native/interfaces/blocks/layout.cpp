// See layout.hpp.
#include "interfaces/blocks/layout.hpp"

#include <algorithm>
#include <sstream>
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

// Places of blocks of different sizes in random order, each in one half of room for two.
std::vector<std::uint64_t> random_rooms(const std::vector<std::uint64_t>& sizes, std::uint64_t seed) {
  std::vector<std::uint64_t> order(sizes.size()), offsets(sizes.size());
  for (std::uint64_t k = 0; k < order.size(); ++k) order[k] = k;
  Draws draws(seed);
  std::uint64_t begin = 0;
  for (std::uint64_t k = 0; k < order.size(); ++k) {
    std::swap(order[k], order[k + draws.below(order.size() - k)]);
    const std::uint64_t bytes = sizes[order[k]];
    offsets[order[k]] = begin + draws.below(kPlacesPerBlock) * bytes;
    begin += kPlacesPerBlock * bytes;
  }
  return offsets;
}

// The classes of one unit of a flow's blocks: "48x16384,2x65536", or one block of `block_bytes`.
std::vector<BlockClass> classes_of(const Flow& flow) {
  const std::string text = flow.word("block_sizes");
  if (text.empty())
    return {{static_cast<std::uint64_t>(std::max<std::int64_t>(0, flow.number("block_bytes"))), 0, 1}};
  std::vector<BlockClass> classes;
  std::istringstream all(text);
  BlockClass each;
  for (char times = 0, comma = 0; all >> each.count >> times >> each.bytes && times == 'x'; all >> comma)
    classes.push_back(each);
  const auto listed = static_cast<std::size_t>(std::count(text.begin(), text.end(), ',')) + 1;
  if (classes.size() != listed || !all.eof())
    refuse(flow, "block_sizes is no list of counts and sizes: " + text);
  return classes;
}

std::uint64_t bytes_of(const std::vector<BlockClass>& classes) {
  std::uint64_t bytes = 0;
  for (const BlockClass& each : classes) bytes += each.bytes * each.count;
  return bytes;
}

// Offsets of the blocks of one side.
std::vector<std::uint64_t> places_of(const std::vector<std::uint64_t>& sizes, bool equal, bool contiguous,
                                     std::uint64_t pitch, std::uint64_t seed) {
  std::vector<std::uint64_t> offsets;
  if (pitch == 0 && !contiguous) {
    if (!equal) return random_rooms(sizes, seed);
    offsets = random_places(sizes.size(), seed);
    for (std::uint64_t& offset : offsets) offset *= sizes.front();
    return offsets;
  }
  std::uint64_t begin = 0;
  for (const std::uint64_t bytes : sizes) {
    offsets.push_back(begin);
    begin += contiguous ? bytes : pitch;
  }
  return offsets;
}

}  // namespace

std::vector<BlockPlace> BlockLayout::by_destination() const {
  std::vector<BlockPlace> map;
  for (const BlockClass& each : classes)
    for (std::uint64_t k = each.first; k < each.first + each.count; ++k)
      map.push_back({destinations[k] / kWord, sources[k] / kWord, each.bytes / kWord});
  std::sort(map.begin(), map.end(),
            [](const BlockPlace& a, const BlockPlace& b) { return a.destination < b.destination; });
  return map;
}

BlockLayout layout_of(const Flow& flow) {
  BlockLayout layout;
  layout.classes = classes_of(flow);
  layout.unit_bytes = bytes_of(layout.classes);
  std::uint64_t largest = 0;
  for (const BlockClass& each : layout.classes) {
    if (each.bytes == 0 || each.count == 0 || each.bytes % kWord != 0)
      refuse(flow, "the size of a block is a multiple of 8 bytes, and there is no block without bytes");
    largest = std::max(largest, each.bytes);
  }
  if (flow.size_bytes == 0 || flow.size_bytes % layout.unit_bytes != 0)
    refuse(flow, std::to_string(flow.size_bytes) + " bytes are no whole number of blocks");
  layout.payload_bytes = flow.size_bytes;
  std::vector<std::uint64_t> sizes;
  for (BlockClass& each : layout.classes) {
    each.first = sizes.size();
    each.count *= flow.size_bytes / layout.unit_bytes;
    sizes.insert(sizes.end(), each.count, each.bytes);
  }
  const auto pitch = flow.word("layout", "random") == "random"
                         ? 0
                         : static_cast<std::uint64_t>(std::max<std::int64_t>(1, flow.number("pitch_bytes")));
  if (pitch != 0 && (pitch < largest || pitch % kWord != 0))
    refuse(flow, "blocks of " + std::to_string(largest) + " bytes overlap at a pitch of " +
                     std::to_string(pitch) + ", or it is not a multiple of 8 bytes");
  if (__builtin_mul_overflow(pitch == 0 ? kPlacesPerBlock : sizes.size(),
                             pitch == 0 ? flow.size_bytes : pitch, &layout.span_bytes))
    refuse(flow, std::to_string(sizes.size()) + " blocks span more than there are addresses");
  const std::string scattered = flow.word("scattered", "both");
  const bool equal = layout.classes.size() == 1;
  layout.sources = places_of(sizes, equal, scattered == "destination", pitch, kSourceSeed);
  layout.destinations = places_of(sizes, equal, scattered == "source", pitch, kDestinationSeed);
  return layout;
}

}  // namespace byteways
