// A vendor's streams and events, destroyed by their owner.
#pragma once
#include <memory>
#include <utility>

#include "runtimes/gpu/driver.hpp"
#include "runtimes/runtime.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorStream final : public Stream {
 public:
  VendorStream(std::shared_ptr<Vendor> driver, int device) : driver_(std::move(driver)), device_(device) {
    driver_->make_current(device_);
    // Non-blocking: not ordered with the default stream, which other code in the process may use.
    driver_->call(device_, driver_->create_stream, &handle_, Vendor::kStreamNonBlocking);
  }
  ~VendorStream() override {
    try {
      driver_->make_current(device_);
      driver_->destroy_stream(handle_);
    } catch (const std::exception&) {  // destructors never throw
    }
  }
  int device() const { return device_; }
  typename Vendor::Stream handle() const { return handle_; }

 private:
  std::shared_ptr<Vendor> driver_;
  int device_;
  typename Vendor::Stream handle_ = nullptr;
};

template <class Vendor>
class VendorEvent final : public Event {
 public:
  VendorEvent(std::shared_ptr<Vendor> driver, int device) : driver_(std::move(driver)), device_(device) {
    driver_->make_current(device_);
    driver_->call(device_, driver_->create_event, &handle_, Vendor::kEventTiming);
  }
  ~VendorEvent() override {
    try {
      driver_->make_current(device_);
      driver_->destroy_event(handle_);
    } catch (const std::exception&) {  // destructors never throw
    }
  }
  int device() const { return device_; }
  typename Vendor::Event handle() const { return handle_; }

 private:
  std::shared_ptr<Vendor> driver_;
  int device_;
  typename Vendor::Event handle_ = nullptr;
};

}  // namespace byteways::gpu
