// Host pages that a GPU runtime manages: managed pages, which migrate, and plain pages that it page-locks.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtimes/capabilities.hpp"
#include "runtimes/gpu/memory.hpp"
#include "runtimes/gpu/queue.hpp"
#include "runtimes/runtime.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorManagedPages final : public ManagedPages {
 public:
  VendorManagedPages(std::shared_ptr<Vendor> driver, const std::vector<DeviceInfo>& devices)
      : driver_(std::move(driver)) {
    for (const DeviceInfo& device : devices) numa_domains_.push_back(device.numa_domain);
  }

  void make_resident(void* data, std::uint64_t bytes, PagePlace to) override {
    const int issuer = to.device >= 0 ? to.device : device_near(to.numa_domain);
    const typename Vendor::Stream stream = nullptr;
    driver_->make_current(issuer);
    driver_->send_pages(issuer, data, bytes, to, stream);
    driver_->call(issuer, driver_->synchronize_stream, stream);
  }
  void prefetch(void* data, std::uint64_t bytes, PagePlace to, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    driver_->send_pages(queue.device(), data, bytes, to, queue.handle());
  }
  Availability names_domains() const override { return driver_->offers_prefetch_to_domain(); }
  std::optional<int> last_prefetch(const void* data, std::uint64_t bytes) override {
    if (!driver_->range_attribute) return std::nullopt;
    driver_->make_current(0);
    typename Vendor::Device where = 0;
    if (driver_->range_attribute(static_cast<void*>(&where), sizeof where, Vendor::kLastPrefetchLocation,
                                 data, std::size_t{bytes}) != 0)
      return std::nullopt;  // the driver does not support the query
    return driver_->device_of(where);
  }
  Availability hold(void* data, std::uint64_t bytes, int owner, int device, bool hold) override {
    return driver_->hold_pages(data, bytes, owner, device, hold);
  }

 private:
  // Returns the first GPU nearest to a NUMA domain; the first of all GPUs if there is none.
  int device_near(int numa_domain) const {
    for (std::size_t device = 0; device < numa_domains_.size(); ++device)
      if (numa_domain >= 0 && numa_domains_[device] == numa_domain) return static_cast<int>(device);
    return 0;
  }

  std::shared_ptr<Vendor> driver_;
  std::vector<int> numa_domains_;  // [device]
};

template <class Vendor>
class VendorPageLocking final : public PageLocking {
 public:
  explicit VendorPageLocking(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  std::unique_ptr<Allocation> lock(std::unique_ptr<Allocation> pages, int device) override {
    return std::make_unique<RegisteredMemory<Vendor>>(driver_, device, std::move(pages));
  }
  std::unique_ptr<Allocation> unlock(std::unique_ptr<Allocation> locked) override {
    return static_cast<RegisteredMemory<Vendor>&>(*locked).take_pages();
  }

 private:
  std::shared_ptr<Vendor> driver_;
};

}  // namespace byteways::gpu
