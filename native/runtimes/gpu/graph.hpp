// Operations that a vendor's stream capture recorded, as one graph that is launched with one call.
#pragma once
#include <memory>
#include <utility>

#include "runtimes/gpu/driver.hpp"
#include "runtimes/runtime.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorGraph final : public Recording {
 public:
  VendorGraph(std::shared_ptr<Vendor> driver, int device, typename Vendor::Graph graph)
      : driver_(std::move(driver)), device_(device), graph_(graph) {
    const int code = driver_->instantiate_graph(&launchable_, graph_, 0ull);
    if (code == 0) return;
    driver_->destroy_graph(graph_);
    driver_->fail(driver_->instantiate_graph.symbol(), code, device_);
  }
  ~VendorGraph() override {
    try {
      driver_->make_current(device_);
      driver_->destroy_launchable(launchable_);
      driver_->destroy_graph(graph_);
    } catch (const std::exception&) {  // destructors never throw
    }
  }
  typename Vendor::Launchable handle() const { return launchable_; }

 private:
  std::shared_ptr<Vendor> driver_;
  int device_;
  typename Vendor::Graph graph_;
  typename Vendor::Launchable launchable_ = nullptr;
};

}  // namespace byteways::gpu
