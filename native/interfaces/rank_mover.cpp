// See rank_mover.hpp.
#include "interfaces/rank_mover.hpp"

#include <algorithm>

#include "core/rounding.hpp"
#include "interfaces/pattern.hpp"

namespace byteways {
namespace {

// Words of one rank's data: beyond the largest buffer, so that no two ranks share any.
constexpr std::uint64_t kWordsOfRank = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostSlotsLookedAt = 16;  // by a spot check

}  // namespace

RankMover::RankMover(Session& session, const Flow& flow)
    : Mover(*flow.executor), session_(&session), flow_(flow) {
  if (flow.ranks == nullptr)
    throw Unsupported(flow.interface, "ranks", "it runs between ranks, and this is one alone");
  if (flow.size_bytes == 0) throw Unsupported(flow.interface, "size", "a message of 0 bytes proves nothing");
  stride_bytes_ = round_up(flow.size_bytes, kSlotAlignment);
  if (flow.source != nullptr) source_ = flow.source->data();
  if (flow.destination != nullptr) destination_ = flow.destination->data();
  std::uint64_t slots = UINT64_MAX;
  for (const Buffer* buffer : {flow.source, flow.destination}) {
    if (buffer == nullptr) continue;
    if (buffer->bytes() < words_in(flow.size_bytes) * kWord)
      throw Error("size", std::to_string(flow.size_bytes),
                  "larger than a buffer of " + std::to_string(buffer->bytes()) + " bytes");
    slots = std::min(slots, std::max<std::uint64_t>(1, buffer->bytes() / stride_bytes_));
  }
  // All ranks rotate alike, also one that holds no buffer of the flow: buffers of a case have one size.
  traits_.rotation = flow.cold ? flow.count("slots", 1, kMostBlocks) : 1;
  if (traits_.rotation > slots)
    throw Error(flow.interface, "slots", "the buffers have fewer than are asked for");
  repetitions_.resize(traits_.rotation);
  traits_.synchronous = true;
  // Ranks start some microseconds apart, which is nothing beside a long batch. Long batches of short messages
  // take long to simulate, and there a slope is exact.
  traits_.fixed_cost = !session.clock().runs_by_itself();
  traits_.concurrency_obstacle = "its ranks wait for each other";
  traits_.engine = "mpi";
  traits_.loop = osu_loop(flow);
  traits_.distinct_source_bytes = traits_.distinct_destination_bytes = traits_.rotation * flow.size_bytes;
}

void RankMover::note_evidence(const std::string& how) {
  traits_.engine_evidence = how;
  const FixedLoop& loop = traits_.loop;
  if (loop.iterations != 0)
    traits_.engine_evidence += "; the loop of OSU's program: " + std::to_string(loop.iterations) +
                               " iterations after " + std::to_string(loop.skipped);
}

void RankMover::require_ends(bool sends, bool receives) const {
  if (ranks().size() != 2) throw Unsupported(flow_.interface, "ranks", "a message has two ends");
  require_buffers(sends, receives);
}

void RankMover::require_buffers(bool sends, bool receives) const {
  if ((sends && flow_.source == nullptr) || (receives && flow_.destination == nullptr))
    throw Unsupported(flow_.interface, "buffers", "a rank lacks the buffer of its end");
}

std::uint64_t RankMover::key_of(int rank) const {
  return key_ + (static_cast<std::uint64_t>(rank) + 1) * kWordsOfRank;
}

void RankMover::prepare(std::uint64_t key) {
  key_ = key;
  const std::uint64_t words = words_in((traits_.rotation - 1) * stride_bytes_ + flow_.size_bytes);
  const bool in_place = input_in_place().bytes > 0;
  for (Buffer* buffer : {in_place ? nullptr : flow_.source, flow_.destination}) {
    if (buffer == nullptr) continue;
    Device& owner = buffer->device();
    if (buffer == flow_.source)
      fill(*session_, owner, buffer->data(), words, key_of(rank()));
    else
      poison(*session_, owner, buffer->data(), words, 1);
    owner.runtime->synchronize(session_->service_stream(owner));
  }
  if (!in_place) return;
  for (std::uint64_t slot = 0; slot < traits_.rotation; ++slot) fill_input(slot);
}

void RankMover::fill_input(std::uint64_t slot) {
  Device& owner = flow_.destination->device();
  const Part input = input_in_place();
  fill(*session_, owner, destination_slot(slot) + input.offset_bytes, words_in(input.bytes),
       key_of(rank()) + slot * stride_bytes_ / kWord);
  owner.runtime->synchronize(session_->service_stream(owner));
  repetitions_[slot] = 0;
}

void RankMover::count_repetitions(std::uint64_t first_operation, std::uint64_t count) {
  const std::uint64_t rotation = traits_.rotation;
  for (std::uint64_t k = 0; k < std::min(count, rotation); ++k)
    repetitions_[(first_operation + k) % rotation] += (count - k + rotation - 1) / rotation;
}

void RankMover::spoil(std::uint64_t first_operation, std::uint64_t count) {
  if (flow_.destination == nullptr || arrivals().empty()) return;
  Device& owner = flow_.destination->device();
  const std::uint64_t slots = std::min({count, traits_.rotation, kMostSlotsLookedAt});
  for (std::uint64_t k = first_operation; k < first_operation + slots; ++k)
    poison(*session_, owner, destination_slot(k), words_in(flow_.size_bytes), kSpoilStrideWords);
  owner.runtime->synchronize(session_->service_stream(owner));
  if (input_in_place().bytes == 0) return;
  for (std::uint64_t k = first_operation; k < first_operation + slots; ++k) fill_input(k % traits_.rotation);
}

Verification RankMover::verify(std::uint64_t first_operation, std::uint64_t count) {
  return look(first_operation, std::min(count, traits_.rotation), 1);
}

Verification RankMover::spot_check(std::uint64_t first_operation, std::uint64_t count) {
  return look(first_operation, std::min({count, traits_.rotation, kMostSlotsLookedAt}), kSpoilStrideWords);
}

Verification RankMover::look(std::uint64_t first_operation, std::uint64_t count, std::uint64_t stride) {
  Verification found;
  for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
    for (const Arrival& arrival : arrivals()) {
      const std::uint64_t slot = k % traits_.rotation;
      // Where the strided words of the whole slot lie within this part.
      const std::uint64_t phase = (stride - arrival.offset_bytes / kWord % stride) % stride;
      const std::uint64_t whole_words = arrival.bytes / kWord, rest_bytes = arrival.bytes % kWord;
      if (phase < whole_words) look_at(arrival, slot, {phase, whole_words - phase, stride}, found);
      if (rest_bytes != 0 && (stride == 1 || whole_words == 0))
        look_at_rest(arrival, slot, rest_bytes, found);
    }
  return found;
}

CheckResult RankMover::compare(const Arrival& arrival, std::uint64_t slot, const Words& words) {
  const std::uint64_t index = (slot * stride_bytes_ + arrival.source_offset_bytes) / kWord + words.first;
  PatternSum expected{key_of(arrival.from) + index};
  if (arrival.sum) {
    const Weights weight = weights(input_in_place().bytes > 0 ? repetitions_[slot] : 1);
    expected = {key_of(0) + index, kWordsOfRank,           static_cast<unsigned>(ranks().size()),
                weight.factor,     key_of(rank()) + index, weight.own_factor};
  }
  return check_sum(*session_, flow_.destination->device(),
                   flow_.destination->data() + offset_of(arrival, slot, words.first), words.count, expected,
                   words.stride);
}

void RankMover::look_at(const Arrival& arrival, std::uint64_t slot, const Words& words, Verification& found) {
  found.note(compare(arrival, slot, words), offset_of(arrival, slot, words.first));
  found.checked_bytes += (words.count + words.stride - 1) / words.stride * kWord;
}

// The last bytes fill no word: only they are compared. Sums of shorter integers are the low bytes of sums of
// words.
void RankMover::look_at_rest(const Arrival& arrival, std::uint64_t slot, std::uint64_t bytes,
                             Verification& found) {
  const Words last{arrival.bytes / kWord, 1, 1};
  CheckResult result = compare(arrival, slot, last);
  const std::uint64_t mask = (std::uint64_t{1} << (8 * bytes)) - 1;
  if (result.bad_count != 0 && ((result.expected ^ result.got) & mask) == 0) result.bad_count = 0;
  result.expected &= mask;
  result.got &= mask;
  found.note(result, offset_of(arrival, slot, last.first));
  found.checked_bytes += bytes;
}

}  // namespace byteways
