// See copying_mover.hpp.
#include "interfaces/copying_mover.hpp"

#include <algorithm>

#include "core/rounding.hpp"
#include "interfaces/pattern.hpp"

namespace byteways {
namespace {

// Four times what drivers migrate at most, and few enough to query every page.
constexpr std::uint64_t kTouchedBytes = 8 << 20;
constexpr std::uint64_t kMostSpotChecks = 16;  // launches of a strided check after a sample

}  // namespace

class HeldPages {
 public:
  // Throws Unsupported if the pages cannot be held.
  HeldPages(Session& session, const Buffer& buffer, const Device& reader)
      : session_(&session), buffer_(&buffer), reader_(&reader) {
    Availability kept;
    try {
      kept = session.hold(buffer, reader, true);
    } catch (const Error&) {
      release();  // the driver may have accepted part of the advice
      throw;
    }
    if (!kept.available) throw Unsupported("hold", "migration", kept.reason, reader.name());
  }
  ~HeldPages() { release(); }
  HeldPages(const HeldPages&) = delete;
  HeldPages& operator=(const HeldPages&) = delete;

 private:
  void release() noexcept {
    try {
      session_->hold(*buffer_, *reader_, false);
    } catch (const std::exception&) {  // destructors never throw; the next call on this device reports it
    }
  }
  Session* session_;
  const Buffer* buffer_;
  const Device* reader_;
};

CopyingMover::CopyingMover(Session& session, const Flow& flow, std::uint64_t granularity_bytes)
    : Mover(*flow.executor), session_(&session), flow_(flow) {
  if (flow.size_bytes == 0 || flow.size_bytes % granularity_bytes != 0)
    throw Unsupported("size", std::to_string(flow.size_bytes),
                      "sizes are multiples of 8 bytes, so that every word can be checked");
  std::uint64_t smaller = flow.destination->bytes();  // smaller than the sources, if there are any
  for (const Buffer* source : {flow.source, flow.second_source}) {
    if (source == nullptr) continue;
    if (source == flow.destination)
      throw Unsupported("buffers", "overlap", "source and destination are one buffer");
    smaller = std::min(smaller, source->bytes());
  }
  // A partly moved last word is checked as a whole.
  if (flow.size_bytes > smaller || round_up(flow.size_bytes, kWord) > smaller)
    throw Error("size", std::to_string(flow.size_bytes),
                "larger than a buffer of " + std::to_string(smaller) + " bytes");
  // Powers of two up to the alignment keep slots contiguous, so a whole rotation is checked by one launch.
  const bool packs = kSlotAlignment % flow.size_bytes == 0 && flow.size_bytes >= 16;
  slots_.stride_bytes = packs ? flow.size_bytes : round_up(flow.size_bytes, kSlotAlignment);
  const bool cold = flow.cold;
  slots_.count = cold ? std::max<std::uint64_t>(1, smaller / slots_.stride_bytes) : 1;
  if (flow.word("migration", "on-demand") == "off") hold_pages();
  // The device that touches pages first may not own them: some machines' kernels write them remotely.
  for (const auto& [side, buffer] : managed()) session_->make_resident(*buffer, 0, buffer->bytes());
  traits_.granularity_bytes = granularity_bytes;
  has_managed_ = !managed().empty();
  traits_.changes_residency = held_.empty() && has_managed_;
  traits_.rotation = slots_.count;
  set_payload(flow.size_bytes, flow.size_bytes);
}

void CopyingMover::set_payload(std::uint64_t source_bytes, std::uint64_t destination_bytes) {
  traits_.bytes_per_operation = destination_bytes;
  traits_.distinct_source_bytes = slots_.count * source_bytes;
  traits_.distinct_destination_bytes = slots_.count * destination_bytes;
}

CopyingMover::~CopyingMover() = default;

std::vector<std::pair<const char*, Buffer*>> CopyingMover::managed() const {
  std::vector<std::pair<const char*, Buffer*>> found;
  for (Buffer* buffer : buffers()) {
    if (!is_managed(buffer->allocation().memory())) continue;
    const char* side = buffer == flow_.destination ? "destination" : "second source";
    found.emplace_back(buffer == flow_.source ? "source" : side, buffer);
  }
  return found;
}

void CopyingMover::hold_pages() {
  for (const auto& [side, buffer] : managed())
    held_.push_back(std::make_unique<HeldPages>(*session_, *buffer, executor()));
}

std::vector<SideResidency> CopyingMover::of(const Operations& operations) const {
  std::vector<SideResidency> sides;
  if (operations.count == 0) return sides;
  const std::uint64_t slot = operations.first % slots_.count;
  const std::uint64_t before_wrap = std::min({operations.count, slots_.count, slots_.count - slot});
  const std::uint64_t first = slot * slots_.stride_bytes;
  for (const auto& [side, buffer] : managed()) {
    const std::uint64_t end = first + (before_wrap - 1) * slots_.stride_bytes + flow_.size_bytes;
    sides.push_back({side, session_->residency(*buffer, first, end)});
  }
  return sides;
}

std::byte* CopyingMover::source_slot(std::uint64_t operation) const {
  return flow_.source->data() + operation % slots_.count * slots_.stride_bytes;
}

std::byte* CopyingMover::destination_slot(std::uint64_t operation) const {
  return flow_.destination->data() + operation % slots_.count * slots_.stride_bytes;
}

std::vector<Buffer*> CopyingMover::buffers() const {
  std::vector<Buffer*> arrays;
  for (Buffer* array : {flow_.source, flow_.second_source, flow_.destination})
    if (array != nullptr) arrays.push_back(array);
  return arrays;
}

std::uint64_t CopyingMover::bytes_per_touch() {
  if (!held_.empty() || flow_.source == nullptr || !is_managed(flow_.source->allocation().memory())) return 0;
  Buffer& pages = *flow_.source;
  // Only pages that migrate to or from the host can be observed.
  if (pages.device().is_host() == executor().is_host()) return 0;
  const std::uint64_t end = std::min(pages.bytes(), kTouchedBytes);
  session_->make_resident(pages, 0, end);
  const PageResidency before = session_->residency(pages, 0, end);
  check(*session_, executor(), pages.data(), 1, key_);
  const PageResidency after = session_->residency(pages, 0, end);
  session_->make_resident(pages, 0, end);
  const std::uint64_t from = before.pages_on_host(), to = after.pages_on_host();
  return (from > to ? from - to : to - from) * pages.allocation().page_bytes();
}

void CopyingMover::moves(std::uint64_t first_operation, std::uint64_t count) {
  if (moved_count_ == 0) moved_first_ = first_operation;
  moved_count_ = first_operation + count - moved_first_;
}

void CopyingMover::restore_slots(std::uint64_t first_slot, std::uint64_t count) {
  if (count == 0) return;
  const std::uint64_t first = first_slot * slots_.stride_bytes;
  const std::uint64_t end = first + (count - 1) * slots_.stride_bytes + flow_.size_bytes;
  for (const auto& [side, buffer] : managed()) session_->make_resident(*buffer, first, end);
}

void CopyingMover::restore() {
  const std::uint64_t first = moved_first_ % slots_.count;
  const std::uint64_t moved = std::min(moved_count_, slots_.count);
  const std::uint64_t before_wrap = std::min(moved, slots_.count - first);
  restore_slots(first, before_wrap);
  restore_slots(0, moved - before_wrap);
  moved_count_ = 0;
}

void CopyingMover::prepare(std::uint64_t key) {
  key_ = key;
  Device& destination = flow_.destination->service_device();
  const std::uint64_t words = words_in((slots_.count - 1) * slots_.stride_bytes + flow_.size_bytes);
  fill_sources(words);
  poison(*session_, destination, flow_.destination->data(), words, 1);
  for (Buffer* buffer : buffers()) {
    Device& owner = buffer->service_device();
    owner.runtime->synchronize(session_->service_stream(owner));
  }
}

void CopyingMover::fill_sources(std::uint64_t words) {
  fill(*session_, flow_.source->service_device(), flow_.source->data(), words, key_);
}

CheckResult CopyingMover::check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index) {
  // pattern_word(key, index) depends on key + index only, so shifting the key shifts the index.
  return check(*session_, flow_.destination->service_device(), data, words, key_ + first_index);
}

template <class Action>
void CopyingMover::for_written(std::uint64_t first_operation, std::uint64_t count, Action action) const {
  const std::uint64_t first = first_operation % slots_.count;
  const std::uint64_t written = std::min(count, slots_.count);
  const std::uint64_t before_wrap = std::min(written, slots_.count - first);
  if (before_wrap != 0) action(first, before_wrap);
  if (written > before_wrap) action(std::uint64_t{0}, written - before_wrap);
}

// Different words each time; otherwise an error between them would never show.
CopyingMover::Spots CopyingMover::spots(std::uint64_t first_operation) const {
  const std::uint64_t words = std::max<std::uint64_t>(1, flow_.size_bytes / kWord);
  const std::uint64_t stride = std::min(kSpoilStrideWords, slots_.stride_bytes / kWord);
  const std::uint64_t phase = pattern_word(key_, first_operation) % std::min(words, stride);
  return {phase & ~std::uint64_t{1}, stride};  // kernels load two words at a time
}

// Slots no larger than the stride have one such word each. In adjacent ones of whole strides they follow each
// other in steps of the stride, too: for 256 slots of 1 MiB that saves as many launches before each sample.
// On a simulated machine launches take no time of ours, and its noise depends on their number.
bool CopyingMover::by_one_launch(const Spots& at) const {
  const std::uint64_t slot_words = slots_.stride_bytes / kWord;
  if (at.stride == slot_words) return true;
  return contiguous() && slot_words % at.stride == 0 && session_->clock().runs_by_itself();
}

void CopyingMover::spoil(std::uint64_t first_operation, std::uint64_t count) {
  Device& owner = flow_.destination->service_device();
  const Spots at = spots(first_operation);
  const std::uint64_t slot_words = slots_.stride_bytes / kWord, words = words_in(flow_.size_bytes);
  for_written(first_operation, count, [&](std::uint64_t slot, std::uint64_t slots) {
    const std::uint64_t together = by_one_launch(at) ? slots : 1;
    for (std::uint64_t k = slot; k < slot + slots; k += together)
      poison(*session_, owner, destination_slot(k) + at.phase * kWord,
             (together - 1) * slot_words + words - at.phase, at.stride);
  });
  owner.runtime->synchronize(session_->service_stream(owner));
}

CheckResult CopyingMover::check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                                     std::uint64_t first_index, std::uint64_t) {
  return check(*session_, flow_.destination->service_device(), data, words, key_ + first_index, {stride});
}

Verification CopyingMover::spot_check(std::uint64_t first_operation, std::uint64_t count) {
  Verification verification;
  const Spots at = spots(first_operation);
  const std::uint64_t slot_words = slots_.stride_bytes / kWord, words = flow_.size_bytes / kWord;
  for_written(first_operation, count, [&](std::uint64_t slot, std::uint64_t slots) {
    if (words == 0) return check_word(0, slot, slots, verification);
    const std::uint64_t together = by_one_launch(at) && checks_strided_ ? slots : 1;
    // Of many slots that take a launch each check some, including the last.
    const std::uint64_t step = together * ((slots / together + kMostSpotChecks - 1) / kMostSpotChecks);
    for (std::uint64_t k = slot + (slots - together) % step; k < slot + slots; k += step) {
      const std::uint64_t first = k * slot_words + at.phase,
                          span = (together - 1) * slot_words + words - at.phase;
      verification.note(check_some(destination_slot(k) + at.phase * kWord, span, at.stride, first, at.phase),
                        first * kWord);
      verification.checked_bytes += (span + at.stride - 1) / at.stride * kWord;
    }
  });
  if (verification.ok) verification.checked_bytes = 0;  // only full checks report the number of correct words
  return verification;
}

// Checks word `word` of every slot at once; in the last one only the bytes within the slot.
void CopyingMover::check_word(std::uint64_t word, std::uint64_t first_slot, std::uint64_t count,
                              Verification& verification) {
  const std::uint64_t stride = slots_.stride_bytes / kWord, first = first_slot * stride + word;
  const std::uint64_t bytes = std::min(kWord, flow_.size_bytes - word * kWord);
  const std::uint64_t mask = bytes == kWord ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
  const CheckResult result =
      check(*session_, flow_.destination->service_device(), flow_.destination->data() + first * kWord,
            (count - 1) * stride + 1, key_ + first, {stride, mask});
  verification.note(result, first * kWord);
  verification.checked_bytes += count * bytes;
}

void CopyingMover::check_range(std::uint64_t first_slot, std::uint64_t count, Verification& verification) {
  if (flow_.size_bytes <= kWord && moves_parts_of_words())
    return check_word(0, first_slot, count, verification);
  const std::uint64_t per_check = contiguous() ? count : 1, rest = flow_.size_bytes % kWord;
  for (std::uint64_t slot = first_slot; slot < first_slot + count; slot += per_check) {
    const std::uint64_t words = per_check * (flow_.size_bytes - rest) / kWord;
    const std::uint64_t first_index = slot * slots_.stride_bytes / kWord;
    verification.note(check_words(destination_slot(slot), words, first_index), slot * slots_.stride_bytes);
    verification.checked_bytes += words * kWord;
  }
  if (rest != 0) check_word(flow_.size_bytes / kWord, first_slot, count, verification);
}

Verification CopyingMover::verify(std::uint64_t first_operation, std::uint64_t count) {
  Verification verification;  // empty if no operation ran since the data was generated
  for_written(first_operation, count,
              [&](std::uint64_t slot, std::uint64_t slots) { check_range(slot, slots, verification); });
  return verification;
}

}  // namespace byteways
