// How a transfer is split over several paths: interface `route`, which measures splits, and the copy library,
// which applies what was measured, must give the same path the same bytes. (The copy library splits nothing
// that has less than a word for each path.)
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace byteways {

// Parts are multiples of pages, for which copy engines and address translation are best; of words where a
// page for each path is too much.
constexpr std::uint64_t kPartGrains[] = {4096, 8, 1};

constexpr std::uint64_t part_grain(std::uint64_t bytes, std::size_t paths) {
  for (const std::uint64_t grain : kPartGrains)
    if (bytes / paths >= grain) return grain;
  return 1;
}

// Calls take(path, bytes) for each path, the last one first, in proportion to `weights`. Every path gets a
// grain at least, as a path without bytes was not measured; fewer only if there are more paths than bytes.
// What the grains leave over goes over the first path, the direct one, unless that has one grain: then over
// another.
template <typename Weights, typename Take>
constexpr void split_over_paths(std::uint64_t bytes, const Weights& weights, Take take) {
  const std::size_t paths = weights.size();
  const std::uint64_t grain = part_grain(bytes, paths);
  double total = 0;
  for (const auto weight : weights) total += static_cast<double>(weight);
  std::uint64_t left = bytes;
  for (std::size_t path = paths; path-- > 1;) {
    const double share = static_cast<double>(bytes) * static_cast<double>(weights[path]) / total;
    const std::uint64_t wanted = static_cast<std::uint64_t>(share) / grain * grain;
    const std::uint64_t others = path * grain, most = left > others ? left - others : 0;
    const std::uint64_t part = std::min(std::max(wanted, grain), most);
    take(path, part);
    left -= part;
  }
  take(0, left);
}

}  // namespace byteways
