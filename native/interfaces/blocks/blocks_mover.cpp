// See blocks_mover.hpp.
#include "interfaces/blocks/blocks_mover.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "interfaces/pattern.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kSpotCheckWords = 8192;  // fewest that are checked after a sample

// The flow as its buffers see it: a slot contains blocks and what is between them.
Flow spanning(Flow flow) {
  flow.size_bytes = layout_of(flow).span_bytes;
  return flow;
}

// Adds what was found in words that begin `offset` behind those of `total`.
void add(CheckResult& total, CheckResult found, std::uint64_t offset) {
  if (found.bad_count == 0) return;
  const std::uint64_t bad = total.bad_count + found.bad_count;
  found.first_bad += offset;
  if (total.bad_count == 0 || found.first_bad < total.first_bad) total = found;
  total.bad_count = bad;
}

}  // namespace

BlocksMover::BlocksMover(Session& session, const Flow& flow, bool batches)
    : SubmittedMover(session, spanning(flow), batches, kWord),
      layout_(layout_of(flow)),
      places_(layout_.by_destination()) {
  require_kernel(flow, flow.destination->service_device(), "check_blocks");
  set_payload(payload(), payload());
  traits_.granularity_bytes = layout_.unit_bytes;
  traits_.noun = "copy of blocks";
  traits_.size_moves_places = true;
  checks_strided_ = false;  // blocks and gaps are distinguished by their offset in the slot
  make_map();
}

// In memory of the device that checks, as every word looks its block up. It is read back: by a map that does
// not arrive no word would belong to a block, and nothing would be found wrong.
void BlocksMover::make_map() {
  Device& by = flow_.destination->service_device();
  const std::uint64_t slot_words = flow_.size_bytes / kWord;
  const auto room = [&](Memory memory, std::uint64_t bytes) {
    return by.runtime->allocate(memory, by.ordinal, bytes, -1);
  };
  for (std::size_t first = 0; first < places_.size(); first += kMostListedBlocks) {
    const std::size_t last = std::min<std::size_t>(places_.size(), first + kMostListedBlocks);
    const std::uint64_t bytes = (last - first) * sizeof(BlockPlace);
    MapPart part{room(by.is_host() ? Memory::pageable : Memory::pinned, bytes), last - first,
                 first == 0 ? 0 : places_[first].destination,
                 last == places_.size() ? slot_words : places_[last].destination};
    std::copy_n(&places_[first], part.blocks, reinterpret_cast<BlockPlace*>(part.map->data()));
    if (!by.is_host()) {
      auto own = room(Memory::device, bytes);
      Stream& stream = session_->service_stream(by);
      by.runtime->copy(own->data(), part.map->data(), bytes, stream);
      by.runtime->synchronize(stream);
      std::memset(part.map->data(), 0, bytes);
      by.runtime->copy(part.map->data(), own->data(), bytes, stream);
      by.runtime->synchronize(stream);
      map_lost_ |= std::memcmp(part.map->data(), &places_[first], bytes) != 0;
      part.map = std::move(own);
    }
    map_.push_back(std::move(part));
  }
}

void BlocksMover::write_list(BlockPair* list, std::uint64_t operation, std::uint64_t first,
                             std::uint64_t count) const {
  const std::byte* source = source_slot(operation);
  std::byte* destination = destination_slot(operation);
  for (std::uint64_t k = 0; k < count; ++k)
    list[k] = {source + layout_.sources[first + k], destination + layout_.destinations[first + k]};
}

std::uint64_t BlocksMover::addresses() const {
  std::uint64_t all = reinterpret_cast<std::uintptr_t>(flow_.source->data()) |
                      reinterpret_cast<std::uintptr_t>(flow_.destination->data()) | slots_.stride_bytes;
  for (const auto* offsets : {&layout_.sources, &layout_.destinations})
    for (const std::uint64_t offset : *offsets) all |= offset;
  return all;
}

CheckResult BlocksMover::check_part(const MapPart& part, std::byte* data, std::uint64_t first,
                                    std::uint64_t words, std::uint64_t first_index) {
  Device& by = flow_.destination->service_device();
  return found_by(*session_, by, [&](CheckResult* result) {
    const CheckBlocksArguments arguments{reinterpret_cast<unsigned long long*>(data) + first,
                                         words,
                                         first,
                                         flow_.size_bytes / kWord,
                                         reinterpret_cast<const BlockPlace*>(part.map->data()),
                                         part.blocks,
                                         key_ + first_index,
                                         kPoison,
                                         result};
    by.runtime->launch(by.ordinal, by.runtime->prepare(by.ordinal, "check_blocks"),
                       full_shape(by, "check_blocks", words), &arguments, sizeof arguments,
                       session_->service_stream(by));
  });
}

CheckResult BlocksMover::check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index) {
  if (map_lost_) return {words, 0, pattern_word(key_, first_index), kPoison};
  if (map_.size() == 1) return check_part(map_.front(), data, 0, words, first_index);
  CheckResult total{0, ~0ull, 0, 0};
  const std::uint64_t slot_words = flow_.size_bytes / kWord;
  for (std::uint64_t slot = 0; slot < words; slot += slot_words) {
    for (const MapPart& part : map_) {
      const std::uint64_t end = std::min(part.end, words - slot);
      if (part.begin >= end) break;
      add(total, check_part(part, data + slot * kWord, part.begin, end - part.begin, first_index + slot),
          slot + part.begin);
    }
  }
  return total;
}

CheckResult BlocksMover::check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                                    std::uint64_t first_index, std::uint64_t phase) {
  const std::uint64_t slot_words = words + phase;
  std::uint64_t spot = phase;
  for (; spot < slot_words; spot += stride) {
    const BlockPlace& place = places_[place_before(places_.data(), places_.size(), spot)];
    if (spot - place.destination < place.words) break;
  }
  CheckResult found = check_words(
      data - phase * kWord, std::min(slot_words, std::max(spot + 1, kSpotCheckWords)), first_index - phase);
  found.first_bad -= phase;  // counted from `data`: of words before it the caller's sum wraps back
  return found;
}

namespace {

const gpu::RegisterKernels<CheckBlocksArguments> kCheckBlocksKernels("interfaces/blocks/kernel.cu",
                                                                     {"check_blocks"});

}  // namespace
}  // namespace byteways
