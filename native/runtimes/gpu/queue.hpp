// A vendor's streams and events, destroyed by their owner.
#pragma once
#include <memory>
#include <utility>

#include "runtimes/gpu/driver.hpp"
#include "runtimes/queue.hpp"

namespace byteways::gpu {

// The device of a stream or an event. Its place is looked up once, so that operations need no lookup.
template <class Vendor>
class OfDevice {
 public:
  int device() const { return device_; }
  // Makes the device current for this thread. Always calls the driver: a cached answer would be wrong as soon
  // as other code in the process (a framework in a worker) changes what is current, and the call takes
  // nanoseconds.
  void enter() const { driver_->enter(device_, place_); }

 protected:
  OfDevice(std::shared_ptr<Vendor> driver, int device)
      : driver_(std::move(driver)), device_(device), place_(driver_->place(device)) {
    enter();
  }
  ~OfDevice() = default;
  // Calls destroy(handle) from a destructor, and ignores errors.
  template <class Destroy, class Handle>
  void leave(const Destroy& destroy, Handle handle) noexcept {
    try {
      enter();
      destroy(handle);
    } catch (const std::exception&) {
    }
  }
  std::shared_ptr<Vendor> driver_;

 private:
  int device_;
  typename Vendor::Place place_;
};

template <class Vendor>
class VendorStream final : public Stream, public OfDevice<Vendor> {
 public:
  VendorStream(std::shared_ptr<Vendor> driver, int device) : OfDevice<Vendor>(std::move(driver), device) {
    // Non-blocking: not ordered with the default stream, which other code in the process may use.
    this->driver_->call(device, this->driver_->create_stream, &handle_, Vendor::kStreamNonBlocking);
  }
  ~VendorStream() override { this->leave(this->driver_->destroy_stream, handle_); }
  typename Vendor::Stream handle() const { return handle_; }
  void* lend() const override {
    this->enter();
    return handle_;
  }

 private:
  typename Vendor::Stream handle_ = nullptr;
};

template <class Vendor>
class VendorEvent final : public Event, public OfDevice<Vendor> {
 public:
  VendorEvent(std::shared_ptr<Vendor> driver, int device) : OfDevice<Vendor>(std::move(driver), device) {
    this->driver_->call(device, this->driver_->create_event, &handle_, Vendor::kEventTiming);
  }
  ~VendorEvent() override { this->leave(this->driver_->destroy_event, handle_); }
  typename Vendor::Event handle() const { return handle_; }

 private:
  typename Vendor::Event handle_ = nullptr;
};

template <class Vendor>
VendorStream<Vendor>& of(Stream& stream) {
  return static_cast<VendorStream<Vendor>&>(stream);
}
template <class Vendor>
VendorEvent<Vendor>& of(Event& event) {
  return static_cast<VendorEvent<Vendor>&>(event);
}

}  // namespace byteways::gpu
