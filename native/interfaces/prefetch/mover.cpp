// Interface `prefetch`: the vendor's call that migrates managed pages. Source and destination are one
// allocation: before an operation its pages are on the buffer's device, afterwards on the flow's partner. An
// operation cannot be repeated in place, so each has its own region; all are migrated back, untimed. Correct
// data prove nothing, because they are correct wherever the pages are, so the location of the pages is
// queried.
#include <algorithm>

#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

// Drivers track residency in blocks of this size: a smaller region would share its block with the next one.
// plan/footprint.py has the same number.
constexpr std::uint64_t kRegionBytes = 2 << 20;

class Prefetch final : public Mover, private Residency {
 public:
  Prefetch(Session& session, const Flow& flow)
      : Mover(*flow.executor), session_(&session), flow_(flow), buffer_(flow.source) {
    if (executor().is_host()) refuse("executor", "the prefetch call needs a GPU's queue");
    if (flow.source != flow.destination || flow.partner == nullptr)
      refuse("buffers", "a prefetch moves the pages of one buffer to its partner");
    if (!is_managed(buffer_->allocation().memory()))
      refuse("memory",
             std::string(memory_name(buffer_->allocation().memory())) + " pages stay where they are");
    if (flow.partner == &buffer_->device()) refuse("buffers", "the pages are there already");
    if (flow.size_bytes == 0 || flow.size_bytes % kWord != 0)
      throw Unsupported("size", std::to_string(flow.size_bytes),
                        "sizes are multiples of 8 bytes, so that every word can be checked");
    if (flow.size_bytes > buffer_->bytes())
      throw Error("size", std::to_string(flow.size_bytes),
                  "larger than a buffer of " + std::to_string(buffer_->bytes()) + " bytes");
    const Offer<ManagedPages>& pages = executor().runtime->capability<ManagedPages>();
    if (!pages) refuse("memory", pages.reason);
    pages_ = pages.object;
    stride_bytes_ = (flow.size_bytes + kRegionBytes - 1) / kRegionBytes * kRegionBytes;
    regions_ = std::max<std::uint64_t>(1, buffer_->bytes() / stride_bytes_);
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.rotation = regions_;
    traits_.distinct_source_bytes = traits_.distinct_destination_bytes = regions_ * flow.size_bytes;
    traits_.changes_residency = traits_.must_move = true;
    traits_.noun = "prefetch";
  }

  Residency* residency() override { return this; }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    if (since_.count == 0) since_.first = first_operation;
    since_.count = first_operation + count - since_.first;
    const PagePlace to = session_->page_place(*flow_.partner);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      pages_->prefetch(region(k), flow_.size_bytes, to, stream);
  }

  void prepare(std::uint64_t key) override {
    restore();
    key_ = key;
    Device& owner = buffer_->device();
    for (std::uint64_t k = 0; k < regions_; ++k)
      fill(*session_, owner, region(k), flow_.size_bytes / kWord, key_ + k * stride_bytes_ / kWord);
    owner.runtime->synchronize(session_->service_stream(owner));
  }

  // The data are the same before and after; missing operations show in the location of the pages.
  void spoil(std::uint64_t, std::uint64_t) override {}

  Verification verify(std::uint64_t first_operation, std::uint64_t count) override {
    Verification verification;
    for (std::uint64_t k = first_operation; k < first_operation + std::min(count, regions_); ++k) {
      const std::uint64_t offset = k % regions_ * stride_bytes_;
      verification.note(
          check(*session_, *flow_.partner, region(k), flow_.size_bytes / kWord, key_ + offset / kWord),
          offset);
      verification.checked_bytes += flow_.size_bytes;
    }
    return verification;
  }

  // Nothing is written; the location of the pages is queried for every batch.
  Verification spot_check(std::uint64_t first_operation, std::uint64_t) override {
    return verify(first_operation, 1);
  }

 private:
  // Region by region, as they were migrated: after a single call for all, the driver's last prefetch location
  // of some stays outdated (observed with CUDA driver 580.159), although their pages are back.
  void restore() override {
    for (std::uint64_t k = 0; k < regions_; ++k)
      session_->make_resident(*buffer_, k * stride_bytes_, k * stride_bytes_ + flow_.size_bytes);
    since_ = {};
  }

  Operations since_restore() const override { return since_; }
  std::vector<SideResidency> of(const Operations& operations) const override {
    PageResidency all;
    for (std::uint64_t k = operations.first; k < operations.first + std::min(operations.count, regions_);
         ++k) {
      const std::uint64_t offset = k % regions_ * stride_bytes_;
      all.add(session_->residency(*buffer_, offset, offset + flow_.size_bytes));
    }
    return {{"pages", all}};
  }

  [[noreturn]] void refuse(const char* what, const std::string& why) const {
    throw Unsupported("prefetch", what, why, executor().name());
  }
  std::byte* region(std::uint64_t operation) const {
    return buffer_->data() + operation % regions_ * stride_bytes_;
  }

  Session* session_;
  Flow flow_;
  Buffer* buffer_;
  ManagedPages* pages_ = nullptr;
  std::uint64_t stride_bytes_ = 0, regions_ = 1;
  std::uint64_t key_ = 0;
  Operations since_;
};

const RegisterInterface kPrefetch("prefetch", make<Prefetch>);

}  // namespace
}  // namespace byteways
