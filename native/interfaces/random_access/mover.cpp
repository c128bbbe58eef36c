// Interfaces `random-load`, `random-store` and `random-update`: independent accesses of a few bytes to random
// elements of one buffer, as HPCC RandomAccess (GUPS) makes them; its updates are of 8 bytes. An operation
// accesses each element of its slot once, in an order of its own. Loads of a GPU are checked as they
// arrive, and the count of right pieces proves that each was read; those of a host are combined by XOR. An
// update changes its word to the next pattern, so that words tell how often they were updated: not one may be
// lost, where HPCC allows one percent.
#include <algorithm>
#include <bit>
#include <numeric>

#include "interfaces/copying_mover.hpp"
#include "interfaces/host_sum.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/pattern_xor.hpp"
#include "interfaces/random_access/arguments.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kCountBytes = 4096;
static_assert(kHostSumWords * kWord <= kCountBytes && kHostSumStart == kPoison);
constexpr std::uint64_t kLeastRandomBytes = 1024;
constexpr std::int64_t kUsualAccessBytes = 8;

unsigned access_bytes_of(const Flow& flow, unsigned least) {
  const std::int64_t asked = flow.number("access_bytes", kUsualAccessBytes);
  if (asked < least || asked > kMostAccessBytes || !std::has_single_bit(static_cast<std::uint64_t>(asked)))
    throw Unsupported(flow.interface, "access_bytes",
                      "an access is of a power of two from " + std::to_string(least) + " to " +
                          std::to_string(kMostAccessBytes) + " bytes",
                      flow.executor->name());
  return static_cast<unsigned>(asked);
}

// The buffer is used as a copy's destination, so that its slots rotate.
Flow over_buffer(Flow flow, unsigned access_bytes) {
  if (flow.source != flow.destination)
    throw Unsupported(flow.interface, "buffers", "it accesses one buffer", flow.executor->name());
  if (!std::has_single_bit(flow.size_bytes) || flow.size_bytes < kLeastRandomBytes)
    throw Unsupported(flow.interface, "size",
                      "it covers a power of two of at least " + std::to_string(kLeastRandomBytes) + " bytes",
                      flow.executor->name());
  const unsigned piece = flow.executor->is_host() ? access_bytes : std::min(access_bytes, kAccessBytes);
  if (flow.size_bytes / piece > std::uint64_t{1} << kMostAccessBits)
    throw Unsupported(flow.interface, "size", "an operation has at most 2^32 accesses",
                      flow.executor->name());
  flow.source = nullptr;
  return flow;
}

// Of a host, and of a GPU for pieces of 4, 8 and 16 bytes.
struct RandomKernels {
  const char* on_host;
  KernelForms of_piece[3];
  // Bytes from which on, and up to which, a thread has several accesses in flight: where a few blocks a
  // multiprocessor cover the buffer. As measured on H100 (docs/reference/peers.md).
  std::uint64_t several_from, several_to;
  unsigned several_threads;  // of a block then

  bool several(const Flow& flow) const {
    return flow.size_bytes >= several_from && flow.size_bytes <= several_to;
  }
};
constexpr std::uint64_t kMiB = 1 << 20;
constexpr RandomKernels kRandomLoads{
    "random_load",
    {{"random_load_4", "random_load_4_several", "random_load_4_several", false},
     {"random_load_8", "random_load_8_several", "random_load_8_several", false},
     {"random_load_16", "random_load_16_several", "random_load_16_several", false}},
    4 * kMiB,
    32 * kMiB,
    kBlockThreads};
constexpr RandomKernels kRandomStores{
    "random_store",
    {{"random_store_4", "random_store_4_several", "random_store_4_several"},
     {"random_store_8", "random_store_8_several", "random_store_8_several"},
     {"random_store_16", "random_store_16_several", "random_store_16_several"}},
    1,
    0,
    0};
constexpr RandomKernels kRandomUpdates{
    "random_update",
    {{},
     {"random_update_8", "random_update_8_several", "random_update_8_several"},
     {"random_update_16", "random_update_16_several", "random_update_16_several"}},
    kMiB,
    32 * kMiB,
    kCoverThreads};

// What the three have in common.
class RandomAccess : public CopyingMover {
 public:
  RandomAccess(Session& session, const Flow& flow, const RandomKernels& kernels, unsigned least_access_bytes)
      : CopyingMover(session, over_buffer(flow, access_bytes_of(flow, least_access_bytes))) {
    require_access(session, flow);
    const unsigned access_bytes = access_bytes_of(flow, least_access_bytes);
    const std::uint64_t accesses = flow.size_bytes / access_bytes;
    arguments_ = {.data = flow.destination->data(),
                  .bytes = flow.size_bytes,
                  .access_bytes = access_bytes,
                  .access_bits = static_cast<unsigned>(std::countr_zero(accesses)),
                  .sharing_bits = static_cast<unsigned>(
                      std::countr_zero(std::max(access_bytes, kAccessBytes) / kAccessBytes)),
                  .fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u,
                  .slots = slots_.count,
                  .stride = slots_.stride_bytes};
    const unsigned piece = std::min(access_bytes, kAccessBytes);
    KernelForms forms = kernels.of_piece[std::countr_zero(piece) - 2];
    forms.host = kernels.on_host;
    choice_ = choose_kernel(flow, forms, flow.size_bytes / piece, kernels.several(flow) ? kRandomInFlight : 1,
                            kernels.several(flow) ? kernels.several_threads : kCoverThreads);
    use_own_kernel(choice_.shape);
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    launch_operations(executor(), choice_.kernel, traits_.shape, arguments_, first_operation, count, stream);
  }

 protected:
  // Writes the pattern into the whole buffer, of which every word is in a slot.
  void fill_buffer(std::uint64_t key) {
    Device& owner = flow_.destination->service_device();
    fill(*session_, owner, flow_.destination->data(), slots_.count * slots_.stride_bytes / kWord, key);
    owner.runtime->synchronize(session_->service_stream(owner));
  }

  RandomArguments arguments_{};

 private:
  KernelChoice choice_;
};

class RandomLoad final : public RandomAccess {
 public:
  RandomLoad(Session& session, const Flow& flow)
      : RandomAccess(session, flow, kRandomLoads, kLeastAccessBytes) {
    const Memory own = executor().is_host() ? Memory::pageable : Memory::device;
    count_ = session.allocate(executor(), own, kCountBytes, executor());
    arguments_.right = reinterpret_cast<unsigned long long*>(count_->data());
    set_payload(flow.size_bytes, 0);
    traits_.bytes_per_operation = flow.size_bytes;
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    if (read_.count == 0) read_.first = first_operation;
    read_.count = first_operation + count - read_.first;
    RandomAccess::enqueue(stream, first_operation, count);
  }

  void prepare(std::uint64_t key) override {
    arguments_.key = key;
    fill_buffer(key);
    spoil(0, 0);
  }

  void spoil(std::uint64_t, std::uint64_t) override {
    poison(*session_, executor(), count_->data(), kHostSumWords, 1);
    executor().runtime->synchronize(session_->service_stream(executor()));
    read_ = {};
  }

  Verification verify(std::uint64_t, std::uint64_t) override {
    std::uint64_t wanted = kPoison;  // the initial value
    for (std::uint64_t k = 0; k < std::min(read_.count, slots_.count); ++k)
      wanted += times_used(read_, slots_, k) * expected((read_.first + k) % slots_.count);
    return compare_word(*session_, executor(), count_->data(), wanted, read_.count * flow_.size_bytes);
  }

  Verification spot_check(std::uint64_t first_operation, std::uint64_t count) override {
    return verify(first_operation, count);
  }

 private:
  // What one operation adds to the count.
  std::uint64_t expected(std::uint64_t slot) const {
    if (!executor().is_host())
      return flow_.size_bytes / std::min<std::uint64_t>(arguments_.access_bytes, kWord);
    const std::uint64_t first = slot * slots_.stride_bytes / kWord;
    return elements_xor(pattern_xor(arguments_.key, first, flow_.size_bytes / kWord),
                        arguments_.access_bytes);
  }

  std::unique_ptr<Buffer> count_;
  Operations read_;  // since the count was reset
};

class RandomStore final : public RandomAccess {
 public:
  RandomStore(Session& session, const Flow& flow)
      : RandomAccess(session, flow, kRandomStores, kLeastAccessBytes) {
    set_payload(0, flow.size_bytes);
  }

  void prepare(std::uint64_t key) override {
    arguments_.key = key;
    CopyingMover::prepare(key);
  }

 private:
  void fill_sources(std::uint64_t) override {}
};

class RandomUpdate final : public RandomAccess {
 public:
  RandomUpdate(Session& session, const Flow& flow)
      : RandomAccess(session, flow, kRandomUpdates, kWord) {  // the next pattern is that of whole words
    set_payload(flow.size_bytes, flow.size_bytes);
    traits_.bytes_per_operation = 2 * flow.size_bytes;  // bytes read plus bytes written, as STREAM counts
    traits_.changes_input = true;
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    if (!done_.empty() && done_.back().first + done_.back().count == first_operation)
      done_.back().count += count;
    else
      done_.push_back({first_operation, count});
    RandomAccess::enqueue(stream, first_operation, count);
  }

  void prepare(std::uint64_t key) override {
    key_ = key;
    fill_buffer(key);
    done_.clear();
  }

  void spoil(std::uint64_t, std::uint64_t) override {}  // words tell how often they were updated

  Verification verify(std::uint64_t, std::uint64_t) override { return check_times(1); }

  Verification spot_check(std::uint64_t, std::uint64_t) override {
    Verification verification = check_times(kSpoilStrideWords);
    if (verification.ok) verification.checked_bytes = 0;  // only full checks report the number of right words
    return verification;
  }

 private:
  // Returns how often each slot was updated since prepare().
  std::vector<std::uint64_t> times() const {
    std::vector<std::uint64_t> more(slots_.count + 1);  // than the slot before
    for (const Operations& some : done_) {
      more[0] += some.count / slots_.count;
      const std::uint64_t first = some.first % slots_.count, end = first + some.count % slots_.count;
      more[first] += 1;
      more[std::min(end, slots_.count)] -= 1;
      if (end > slots_.count) {
        more[0] += 1;
        more[end - slots_.count] -= 1;
      }
    }
    std::partial_sum(more.begin(), more.end(), more.begin());
    more.pop_back();
    return more;
  }

  // Checks every `stride`-th word: one launch for each run of slots that were updated equally often.
  Verification check_times(std::uint64_t stride) {
    Verification verification;
    const std::vector<std::uint64_t> updates = times();
    const std::uint64_t slot_words = slots_.stride_bytes / kWord;
    for (std::uint64_t begin = 0, end = 0; begin < slots_.count; begin = end) {
      while (end < slots_.count && updates[end] == updates[begin]) ++end;
      const std::uint64_t first = begin * slot_words, words = (end - begin) * slot_words;
      const CheckResult found =
          check(*session_, flow_.destination->service_device(), flow_.destination->data() + first * kWord,
                words, key_ + updates[begin] + first, {stride});
      verification.note(found, first * kWord);
      verification.checked_bytes += words * kWord;
    }
    return verification;
  }

  std::vector<Operations> done_;  // since prepare()
};

const gpu::RegisterKernels<RandomArguments> kRandomKernels(
    "interfaces/random_access/kernel.cu",
    {"random_load_4", "random_load_8", "random_load_16", "random_load_4_several", "random_load_8_several",
     "random_load_16_several", "random_store_4", "random_store_8", "random_store_16",
     "random_store_4_several", "random_store_8_several", "random_store_16_several", "random_update_8",
     "random_update_16", "random_update_8_several", "random_update_16_several"});
const RegisterInterface kLoads("random-load", make<RandomLoad>);
const RegisterInterface kStores("random-store", make<RandomStore>);
const RegisterInterface kUpdates("random-update", make<RandomUpdate>);

}  // namespace
}  // namespace byteways
