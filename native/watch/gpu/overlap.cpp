// See overlap.hpp.
#include "watch/gpu/overlap.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <new>

namespace byteways::watch {
namespace {

struct Stretch {
  std::uint64_t start, end;
};

struct Copy {
  std::uint64_t start, end, overlap;
  Bin* bin;
};

// Stretches are in order of time and do not touch; copies are in the order in which they came. Kernels are
// sorted in, many at once: their records may come in any order.
class Device {
 public:
  void add_kernel(std::uint64_t start, std::uint64_t end) {
    if (fresh_count_ == kMostFresh) settle();
    fresh_[fresh_count_++] = {start, end};
  }

  void add_copy(std::uint64_t start, std::uint64_t end, Bin* bin) {
    if (waiting_ == kMostCopies) count_copies(kMostCopies / 2);
    copies_[waiting_++] = {start, end, 0, bin};
  }

  void finish() { count_copies(waiting_); }

 private:
  static constexpr std::size_t kMostFresh = kMostStretches / 2;

  void settle() {
    const auto earlier = [](const Stretch& one, const Stretch& other) { return one.start < other.start; };
    std::sort(fresh_.begin(), fresh_.begin() + fresh_count_, earlier);
    const auto end = std::merge(stretches_.begin(), stretches_.begin() + known_, fresh_.begin(),
                                fresh_.begin() + fresh_count_, merged_.begin(), earlier);
    known_ = fresh_count_ = 0;
    // Touching ones become one; there is room for all, because the oldest are forgotten on the way.
    for (auto one = merged_.begin(); one != end; ++one) {
      if (known_ != 0 && one->start <= stretches_[known_ - 1].end) {
        stretches_[known_ - 1].end = std::max(stretches_[known_ - 1].end, one->end);
        continue;
      }
      if (known_ == kMostStretches) forget_stretches(kMostStretches / 2);
      stretches_[known_++] = *one;
    }
  }

  std::uint64_t covered(const Copy& copy, std::size_t stretches) const {
    if (stretches == 0 || copy.end <= stretches_[0].start || copy.start >= stretches_[stretches - 1].end)
      return 0;
    const auto end = stretches_.begin() + stretches;
    auto at = std::lower_bound(stretches_.begin(), end, copy.start,
                               [](const Stretch& one, std::uint64_t time) { return one.end <= time; });
    std::uint64_t time = 0;
    for (; at != end && at->start < copy.end; ++at)
      time += std::min(at->end, copy.end) - std::max(at->start, copy.start);
    return time;
  }

  void forget_stretches(std::size_t count) {
    for (std::size_t at = 0; at < waiting_; ++at) copies_[at].overlap += covered(copies_[at], count);
    std::move(stretches_.begin() + count, stretches_.begin() + known_, stretches_.begin());
    known_ -= count;
  }

  void count_copies(std::size_t count) {
    settle();
    for (std::size_t at = 0; at < count; ++at)
      histogram().add_overlap(copies_[at].bin,
                              static_cast<std::int64_t>(copies_[at].overlap + covered(copies_[at], known_)));
    std::move(copies_.begin() + count, copies_.begin() + waiting_, copies_.begin());
    waiting_ -= count;
  }

  std::array<Stretch, kMostStretches> stretches_;
  std::array<Stretch, kMostFresh> fresh_;
  std::array<Stretch, kMostStretches + kMostFresh> merged_;
  std::array<Copy, kMostCopies> copies_;
  std::size_t known_ = 0, fresh_count_ = 0, waiting_ = 0;
};

std::mutex lock;
std::unique_ptr<Device> devices[kMostKernelDevices];

Device* device_of(std::uint32_t number) {
  if (number >= kMostKernelDevices) return nullptr;
  if (devices[number] == nullptr) devices[number].reset(new (std::nothrow) Device);
  return devices[number].get();
}

}  // namespace

void add_kernel_time(std::uint32_t device, std::uint64_t start, std::uint64_t end) noexcept {
  if (start == 0 || end <= start) return;
  const std::lock_guard held(lock);
  if (Device* const one = device_of(device)) one->add_kernel(start, end);
}

void add_copy_time(std::uint32_t device, std::uint64_t start, std::uint64_t end, Bin* bin) noexcept {
  if (bin == nullptr || start == 0 || end < start) return;
  const std::lock_guard held(lock);
  if (Device* const one = device_of(device)) one->add_copy(start, end, bin);
}

void finish_overlaps() noexcept {
  const std::lock_guard held(lock);
  for (auto& device : devices)
    if (device != nullptr) device->finish();
}

}  // namespace byteways::watch
