// Peer access between GPUs, memory handles between processes, and the limit of memory pools.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtimes/capabilities.hpp"
#include "runtimes/gpu/memory.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorPeers final : public PeerAccess {
 public:
  explicit VendorPeers(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  Availability enable(int device, int peer) override {
    if (device == peer) return {true, {}};
    int possible = 0;
    driver_->call(device, driver_->can_access_peer, &possible, driver_->handle(device),
                  driver_->handle(peer));
    const std::string pair = driver_->name_of(device) + " and " + driver_->name_of(peer);
    if (possible == 0)
      return {false, pair + " have no peer access: the driver reports no path between them (" +
                         driver_->can_access_peer.symbol() + ")"};
    const auto other = driver_->peer(peer);
    driver_->make_current(device);
    const int code = driver_->enable_peer_access(other, 0);
    if (code == 0 || code == Vendor::kPeerAccessAlreadyEnabled) return {true, {}};
    return {false, "the driver refuses peer access between " + pair + ": " + driver_->words(code)};
  }
  void disable(int device, int peer) override {
    const auto other = driver_->peer(peer);
    driver_->make_current(device);
    driver_->call(device, driver_->disable_peer_access, other);
  }

  Availability grant(Allocation& allocation, int device) override {
    auto& memory = static_cast<GrantedMemory<Vendor>&>(allocation);
    driver_->make_current(memory.device());
    const int code = memory.open_to(device, kAccessReadWrite);
    if (code == 0) return {true, {}};
    return {false, driver_->name_of(device) + " is refused access to " +
                       std::string(memory_name(memory.memory())) + " memory of " +
                       driver_->name_of(memory.device()) + ": " + driver_->words(code)};
  }
  void revoke(Allocation& allocation, int device) override {
    auto& memory = static_cast<GrantedMemory<Vendor>&>(allocation);
    driver_->make_current(memory.device());
    const int code = memory.open_to(device, kAccessNone);
    if (code != 0) driver_->fail("revoke access", code, memory.device());
  }

 private:
  std::shared_ptr<Vendor> driver_;
};

template <class Vendor>
class VendorHandles final : public ProcessHandles {
 public:
  explicit VendorHandles(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  std::string obstacle() const { return lacking_of(*driver_, Memory::ipc); }
  std::string handle_of(Allocation& allocation) override {
    // A pool has handles where it was made for that, which the device's own was not; a mapping has a file
    // descriptor, which is no text.
    if (needs_grant(allocation.memory()))
      throw Unsupported("handle", std::string(memory_name(allocation.memory())),
                        "its handles are of other kinds, which are not told but sent");
    const auto& memory = static_cast<VendorMemory<Vendor>&>(allocation);
    driver_->make_current(memory.device());
    MemoryHandle handle{};
    driver_->call(memory.device(), driver_->get_handle, &handle, static_cast<void*>(allocation.data()));
    return to_digits(handle);
  }
  std::unique_ptr<Allocation> open(const std::string& digits, int device, std::uint64_t bytes) override {
    return std::make_unique<OpenedMemory<Vendor>>(driver_, device, bytes, handle_from(digits));
  }

 private:
  std::shared_ptr<Vendor> driver_;
};

template <class Vendor>
class VendorPools final : public MemoryPools {
 public:
  explicit VendorPools(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  void keep(int device, std::uint64_t bytes) override {
    driver_->make_current(device);
    const auto pool = PoolMemory<Vendor>::pool_of(*driver_, device);
    driver_->call(device, driver_->trim_pool, pool, std::size_t{bytes});
    // Last, so that a failure leaves nothing to undo.
    driver_->call(device, driver_->set_pool_attribute, pool, kPoolReleaseThreshold,
                  static_cast<void*>(&bytes));
  }
  std::unique_ptr<Allocation> allocate_in_order(int device, std::uint64_t bytes) override {
    auto known = pools_.find(device);
    if (known == pools_.end()) {
      driver_->make_current(device);
      known = pools_.emplace(device, PoolMemory<Vendor>::pool_of(*driver_, device)).first;
    }
    return std::make_unique<PoolMemory<Vendor>>(driver_, device, bytes, known->second);
  }
  void free_in_order(std::unique_ptr<Allocation> allocation) override {
    dynamic_cast<PoolMemory<Vendor>&>(*allocation).free_in_order();
  }
  void settle(int device) override {
    driver_->make_current(device);
    driver_->call(device, driver_->synchronize_stream, typename Vendor::Stream{});
  }

 private:
  std::shared_ptr<Vendor> driver_;
  std::map<int, typename Vendor::Pool> pools_;  // by device, so that an allocation is one call
};

}  // namespace byteways::gpu
