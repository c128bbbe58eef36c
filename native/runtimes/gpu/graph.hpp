// Operations recorded by a vendor's stream capture, launched as one graph with one call.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "runtimes/capabilities.hpp"
#include "runtimes/gpu/queue.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorGraph final : public Recording, public OfDevice<Vendor> {
 public:
  VendorGraph(std::shared_ptr<Vendor> driver, int device, typename Vendor::Graph graph)
      : OfDevice<Vendor>(std::move(driver), device), graph_(graph) {
    const Vendor& vendor = *this->driver_;
    const int code = vendor.instantiate_graph(&launchable_, graph_, 0ull);
    if (code == 0) return;
    vendor.destroy_graph(graph_);
    vendor.fail(vendor.instantiate_graph.symbol(), code, device);
  }
  ~VendorGraph() override {
    this->leave(this->driver_->destroy_launchable, launchable_);
    this->leave(this->driver_->destroy_graph, graph_);
  }
  typename Vendor::Launchable handle() const { return launchable_; }

 private:
  typename Vendor::Graph graph_;
  typename Vendor::Launchable launchable_ = nullptr;
};

template <class Vendor>
class VendorGraphs final : public Graphs {
 public:
  explicit VendorGraphs(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  std::string obstacle() const {
    if (driver_->begin_capture && driver_->end_capture && driver_->instantiate_graph &&
        driver_->launch_graph && driver_->destroy_graph && driver_->destroy_launchable)
      return {};
    return std::string("this runtime cannot record a queue (") + driver_->begin_capture.symbol() +
           " and what belongs to it)";
  }

  std::unique_ptr<Recording> record(int device, const std::function<void(Stream&)>& work) override {
    VendorStream<Vendor> stream(driver_, device);
    const auto queue = stream.handle();
    driver_->call(device, driver_->begin_capture, queue, Vendor::kCaptureThreadLocal);
    typename Vendor::Graph graph = nullptr;
    try {
      work(stream);
    } catch (...) {
      stream.enter();
      if (driver_->end_capture(queue, &graph) == 0 && graph != nullptr) driver_->destroy_graph(graph);
      throw;
    }
    stream.enter();
    driver_->call(device, driver_->end_capture, queue, &graph);
    auto recording = std::make_unique<VendorGraph<Vendor>>(driver_, device, graph);
    // Otherwise the first launch would upload it and be slower than the others.
    if (driver_->upload_graph) driver_->call(device, driver_->upload_graph, recording->handle(), queue);
    driver_->call(device, driver_->synchronize_stream, queue);
    return recording;
  }

  void launch(Recording& recording, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    driver_->call(queue.device(), driver_->launch_graph,
                  static_cast<VendorGraph<Vendor>&>(recording).handle(), queue.handle());
  }

 private:
  std::shared_ptr<Vendor> driver_;
};

}  // namespace byteways::gpu
