// The vendor's calls of copies beside the asynchronous one: those that wait, and those that name both GPUs.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "runtimes/capabilities.hpp"
#include "runtimes/gpu/queue.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorCopyCalls final : public CopyCalls {
 public:
  explicit VendorCopyCalls(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  Availability offers(CopyCall call) const override {
    switch (call) {
      case CopyCall::blocking:
        return has(driver_->copy_blocking);
      case CopyCall::peer:
        return has(driver_->copy_peer_async);
      case CopyCall::peer_blocking:
        return has(driver_->copy_peer);
      default:
        return {true, {}};
    }
  }
  Availability offers_blocking_set() const override { return has(driver_->set_bytes_blocking); }

  void copy(CopyCall call, const CopySeries& copies, int source, int destination, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    const int device = queue.device();
    queue.enter();
    const bool named = names_gpus(call);
    using Gpu = decltype(driver_->peer(source));
    const Gpu from_gpu = named ? driver_->peer(source) : Gpu{};
    const Gpu to_gpu = named ? driver_->peer(destination) : Gpu{};
    for (std::uint64_t k = copies.first; k < copies.first + copies.count; ++k) {
      const std::uint64_t offset = k % copies.slots * copies.stride_bytes;
      void* to = static_cast<std::byte*>(copies.destination) + offset;
      const void* from = static_cast<const std::byte*>(copies.source) + offset;
      const std::size_t bytes = copies.bytes;
      if (call == CopyCall::peer)
        driver_->call(device, driver_->copy_peer_async, to, to_gpu, from, from_gpu, bytes, queue.handle());
      else if (call == CopyCall::peer_blocking)
        driver_->call(device, driver_->copy_peer, to, to_gpu, from, from_gpu, bytes);
      else if (call == CopyCall::blocking)
        driver_->copy_and_wait(device, to, from, bytes);
      else
        driver_->copy(device, to, from, bytes, queue.handle());
    }
  }

  void set(const CopySeries& slots, unsigned char value, int device) override {
    driver_->make_current(device);
    for (std::uint64_t k = slots.first; k < slots.first + slots.count; ++k)
      driver_->call(device, driver_->set_bytes_blocking,
                    static_cast<void*>(static_cast<std::byte*>(slots.destination) +
                                       k % slots.slots * slots.stride_bytes),
                    value, slots.bytes);
  }

  void settle(int device) override {
    driver_->make_current(device);
    driver_->call(device, driver_->synchronize_device);
  }

 private:
  template <class Function>
  static Availability has(const Function& function) {
    if (function) return {true, {}};
    return {false, std::string("this driver has no ") + function.symbol()};
  }

  std::shared_ptr<Vendor> driver_;
};

}  // namespace byteways::gpu
