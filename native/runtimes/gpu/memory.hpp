// Memory allocated by a GPU vendor's runtime, and host memory that it has page-locked. Freed by the
// destructor, which ignores errors because it cannot report them.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "memory/allocation.hpp"
#include "memory/mapping.hpp"
#include "runtimes/gpu/driver.hpp"
#include "runtimes/gpu/memory_types.hpp"
#include "runtimes/host.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorMemory : public Allocation {
 public:
  int device() const { return device_; }

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
  }
  ~DeviceMemory() override { this->release(this->driver_->free_device); }
};

// GPU memory that is opened to each device separately.
template <class Vendor>
class GrantedMemory : public VendorMemory<Vendor> {
 public:
  // Opens the memory to a device. Returns the vendor's error code.
  virtual int open_to(int device, int flags) const = 0;

 protected:
  using VendorMemory<Vendor>::VendorMemory;
  typename Vendor::Access access(int device, int flags) const {
    return {{kLocationIsDevice, this->driver_->handle(device)}, flags};
  }
};

// Memory from the device's default pool. Allocation and release are ordered in a stream. Other streams may
// use the memory after that stream has been synchronised, which is done here unless a caller does it later.
template <class Vendor>
class PoolMemory final : public GrantedMemory<Vendor> {
 public:
  using Pool = typename Vendor::Pool;
  static Pool pool_of(const Vendor& vendor, int device) {
    Pool pool{};
    vendor.call(device, vendor.default_pool, &pool, vendor.handle(device));
    return pool;
  }

  // Allocates without waiting: one call of the vendor.
  PoolMemory(std::shared_ptr<Vendor> driver, int device, std::uint64_t bytes, Pool pool)
      : GrantedMemory<Vendor>(std::move(driver), device, Memory::pool, bytes), pool_(pool) {
    const Vendor& vendor = *this->driver_;
    void* data = nullptr;
    vendor.call(device, vendor.allocate_from_pool, &data, std::size_t{bytes}, pool_, Queue{});
    this->data_ = static_cast<std::byte*>(data);
  }
  PoolMemory(std::shared_ptr<Vendor> driver, int device, std::uint64_t bytes)
      : PoolMemory(driver, device, bytes, pool_of(*driver, device)) {
    const Vendor& vendor = *this->driver_;
    // The destructor gives it back: the object is complete after the first constructor.
    if (const int code = vendor.synchronize_stream(Queue{}); code != 0)
      vendor.fail(vendor.synchronize_stream.symbol(), code, device);
  }
  ~PoolMemory() override {
    if (held_) this->release([this](void*) { give_back(); });
  }
  // Frees without waiting: one call of the vendor. Nothing may be using the memory.
  void free_in_order() {
    const Vendor& vendor = *this->driver_;
    vendor.call(this->device_, vendor.free_to_pool, static_cast<void*>(this->data_), Queue{});
    held_ = false;
  }
  int open_to(int device, int flags) const override {
    const typename Vendor::Access access = this->access(device, flags);
    return this->driver_->set_pool_access(pool_, &access, 1);
  }

 private:
  using Queue = typename Vendor::Stream;
  void give_back() const {
    const Vendor& vendor = *this->driver_;
    vendor.synchronize_device();  // freeing waits for no stream but its own
    vendor.free_to_pool(this->data_, Queue{});
    vendor.synchronize_stream(Queue{});
  }
  Pool pool_{};
  bool held_ = true;
};

// Physical memory of whole granules, mapped to a reserved address range.
template <class Vendor>
class MappedMemory final : public GrantedMemory<Vendor> {
 public:
  MappedMemory(std::shared_ptr<Vendor> driver, int device, std::uint64_t bytes)
      : GrantedMemory<Vendor>(std::move(driver), device, Memory::vmm, bytes) {
    const Vendor& vendor = *this->driver_;
    typename Vendor::PhysicalProperties properties{};
    properties.type = kAllocationPinned;
    properties.location = {kLocationIsDevice, vendor.handle(device)};
    std::size_t granule = 0;
    vendor.call(device, vendor.granularity, &granule, &properties, kGranularityRecommended);
    if (granule == 0)
      throw Error(vendor.granularity.symbol(), "0", "a granule of 0 bytes", vendor.name_of(device));
    mapped_bytes_ = (std::size_t{bytes} + granule - 1) / granule * granule;
    this->page_bytes_ = granule;
    vendor.call(device, vendor.create_physical, &physical_, mapped_bytes_, &properties, 0ull);
    try {
      map(vendor, granule);
    } catch (const Error&) {
      undo();
      throw;
    }
  }
  ~MappedMemory() override {
    this->release([this](void*) { undo(); });
  }
  int open_to(int device, int flags) const override {
    const typename Vendor::Access access = this->access(device, flags);
    return this->driver_->set_access(this->data_, mapped_bytes_, &access, 1);
  }

 private:
  void map(const Vendor& vendor, std::size_t granule) {
    void* data = nullptr;
    vendor.call(this->device_, vendor.reserve_addresses, &data, mapped_bytes_, granule,
                static_cast<void*>(nullptr), 0ull);
    this->data_ = static_cast<std::byte*>(data);
    vendor.call(this->device_, vendor.map_physical, data, mapped_bytes_, std::size_t{0}, physical_, 0ull);
    is_mapped_ = true;
    const int code = open_to(this->device_, kAccessReadWrite);
    if (code != 0) vendor.fail(vendor.set_access.symbol(), code, this->device_);
  }
  // Undoes the completed steps in reverse order.
  void undo() const {
    const Vendor& vendor = *this->driver_;
    if (is_mapped_) {
      vendor.synchronize_device();  // unmapping waits for nothing
      vendor.unmap_physical(this->data_, mapped_bytes_);
    }
    if (this->data_ != nullptr) vendor.free_addresses(this->data_, mapped_bytes_);
    vendor.release_physical(physical_);
  }
  std::size_t mapped_bytes_ = 0;
  bool is_mapped_ = false;
  typename Vendor::Physical physical_{};
};

// Returns why a library cannot provide memory that needs these functions; empty if it has them all.
template <class... Functions>
std::string lacking(const Functions&... functions) {
  std::string names;
  const auto look = [&names](const auto& function) {
    if (!function) names += (names.empty() ? "" : ", ") + std::string(function.symbol());
  };
  (look(functions), ...);
  return names.empty() ? std::string() : "the library that was found lacks " + names;
}
// The same for the functions that a kind of memory needs; empty for kinds that every runtime allocates.
template <class Vendor>
std::string lacking_of(const Vendor& vendor, Memory memory) {
  if (memory == Memory::pool)
    return lacking(vendor.default_pool, vendor.set_pool_access, vendor.allocate_from_pool,
                   vendor.free_to_pool);
  if (memory == Memory::vmm)
    return lacking(vendor.granularity, vendor.create_physical, vendor.release_physical,
                   vendor.reserve_addresses, vendor.free_addresses, vendor.map_physical,
                   vendor.unmap_physical, vendor.set_access);
  if (memory == Memory::ipc) return lacking(vendor.get_handle, vendor.open_handle, vendor.close_handle);
  return {};
}

// Another process's memory, opened by its handle.
template <class Vendor>
class OpenedMemory final : public VendorMemory<Vendor> {
 public:
  OpenedMemory(std::shared_ptr<Vendor> driver, int device, std::uint64_t bytes, const MemoryHandle& handle)
      : VendorMemory<Vendor>(std::move(driver), device, Memory::ipc, bytes) {
    void* data = nullptr;
    this->driver_->call(device, this->driver_->open_handle, &data, handle, this->driver_->handle_flags());
    this->data_ = static_cast<std::byte*>(data);
  }
  ~OpenedMemory() override { this->release(this->driver_->close_handle); }
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

// Ordinary pages, placed and touched by us, then page-locked and mapped by the vendor.
template <class Vendor>
class RegisteredMemory final : public VendorMemory<Vendor> {
 public:
  RegisteredMemory(std::shared_ptr<Vendor> driver, int device, std::unique_ptr<Allocation> pages)
      : VendorMemory<Vendor>(std::move(driver), device, Memory::registered, pages->bytes()),
        pages_(std::move(pages)) {
    this->driver_->call(device, this->driver_->register_host, static_cast<void*>(pages_->data()),
                        std::size_t{this->bytes_}, Vendor::kHostPortable | Vendor::kHostMapped);
    this->data_ = pages_->data();
    this->page_bytes_ = pages_->page_bytes();
  }
  ~RegisteredMemory() override {
    if (pages_ != nullptr) this->release(this->driver_->unregister_host);
  }
  // Unlocks and returns the pages; this object is then empty.
  std::unique_ptr<Allocation> take_pages() {
    this->driver_->make_current(this->device_);
    this->driver_->call(this->device_, this->driver_->unregister_host, static_cast<void*>(pages_->data()));
    return std::move(pages_);
  }

 private:
  std::unique_ptr<Allocation> pages_;
};

}  // namespace byteways::gpu
