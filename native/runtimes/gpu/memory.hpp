// Memory that a GPU vendor's runtime hands out, and host memory it has locked. Freed on destruction; a
// failure there has nobody to tell and leaves nothing to do.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "memory/mapping.hpp"
#include "runtimes/gpu/driver.hpp"
#include "runtimes/runtime.hpp"

namespace byteways::gpu {

// What drivers map device memory with, from this size on; smaller buffers share a page with others.
inline constexpr std::uint64_t kDevicePageBytes = 2 << 20;

template <class Vendor>
class VendorMemory : public Allocation {
 protected:
  VendorMemory(std::shared_ptr<Vendor> driver, int device, Memory memory, std::uint64_t bytes)
      : driver_(std::move(driver)), device_(device) {
    memory_ = memory;
    bytes_ = bytes;
    driver_->make_current(device_);
  }
  template <class Function>
  void release(const Function& function) noexcept {
    try {
      driver_->make_current(device_);
      function(data_);
    } catch (const std::exception&) {  // destructors never throw
    }
  }
  std::shared_ptr<Vendor> driver_;
  int device_;
};

template <class Vendor>
class DeviceMemory final : public VendorMemory<Vendor> {
 public:
  DeviceMemory(std::shared_ptr<Vendor> driver, int device, Memory memory, std::uint64_t bytes)
      : VendorMemory<Vendor>(std::move(driver), device, memory, bytes) {
    this->data_ = static_cast<std::byte*>(this->driver_->new_device_memory(device, memory, bytes));
    this->page_bytes_ = bytes >= kDevicePageBytes ? kDevicePageBytes : 0;
  }
  ~DeviceMemory() override { this->release(this->driver_->free_device); }
};

template <class Vendor>
class ManagedMemory final : public VendorMemory<Vendor> {
 public:
  ManagedMemory(std::shared_ptr<Vendor> driver, int device, Memory memory, std::uint64_t bytes)
      : VendorMemory<Vendor>(std::move(driver), device, memory, bytes) {
    this->data_ = static_cast<std::byte*>(this->driver_->new_managed_memory(device, memory, bytes));
    this->page_bytes_ =
        base_page_bytes();  // the host's, in which residency is kept; drivers move several at once
  }
  ~ManagedMemory() override { this->release(this->driver_->free_device); }
};

template <class Vendor>
class PinnedMemory final : public VendorMemory<Vendor> {
 public:
  PinnedMemory(std::shared_ptr<Vendor> driver, int device, Memory memory, std::uint64_t bytes, Host& host,
               int numa_domain)
      : VendorMemory<Vendor>(std::move(driver), device, memory, bytes) {
    const auto placement = host.place_thread(numa_domain);
    void* data = nullptr;
    this->driver_->call(device, this->driver_->allocate_pinned, &data, std::size_t{bytes},
                        Vendor::pinned_flags(memory));
    this->data_ = static_cast<std::byte*>(data);
    this->page_bytes_ = base_page_bytes();
  }
  ~PinnedMemory() override { this->release(this->driver_->free_pinned); }
};

// Ordinary pages of ours, placed and touched first, then locked and mapped by the vendor.
template <class Vendor>
class RegisteredMemory final : public VendorMemory<Vendor> {
 public:
  RegisteredMemory(std::shared_ptr<Vendor> driver, int device, std::uint64_t bytes, Host& host,
                   int numa_domain)
      : VendorMemory<Vendor>(std::move(driver), device, Memory::registered, bytes),
        pages_(host.populated_pages(bytes, numa_domain)) {
    this->driver_->call(device, this->driver_->register_host, static_cast<void*>(pages_->data()),
                        std::size_t{bytes}, Vendor::kHostPortable | Vendor::kHostMapped);
    this->data_ = pages_->data();
    this->page_bytes_ = pages_->page_bytes();
  }
  ~RegisteredMemory() override { this->release(this->driver_->unregister_host); }

 private:
  std::unique_ptr<Allocation> pages_;
};

}  // namespace byteways::gpu
