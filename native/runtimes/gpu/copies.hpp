// Copies other than the plain one: batched and pitched (2D).
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtimes/capabilities.hpp"
#include "runtimes/gpu/queue.hpp"

namespace byteways::gpu {

template <class Vendor>
class VendorCopyBatches final : public CopyBatches {
 public:
  explicit VendorCopyBatches(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  void copy(const std::vector<CopyPiece>& pieces, Stream& stream) override {
    std::vector<void*> to;
    std::vector<const void*> from;
    std::vector<std::size_t> sizes;
    for (const CopyPiece& piece : pieces) {
      to.push_back(piece.destination);
      from.push_back(piece.source);
      sizes.push_back(piece.bytes);
    }
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    driver_->copy_all(queue.device(), to, from, sizes, queue.handle());
  }

 private:
  std::shared_ptr<Vendor> driver_;
};

template <class Vendor>
class VendorCopies2D final : public Copies2D {
 public:
  explicit VendorCopies2D(std::shared_ptr<Vendor> driver) : driver_(std::move(driver)) {}

  void copy(const RowsCopy& rows, Stream& stream) override {
    const auto& queue = of<Vendor>(stream);
    queue.enter();
    driver_->copy_rows(queue.device(), rows, queue.handle());
  }

 private:
  std::shared_ptr<Vendor> driver_;
};

}  // namespace byteways::gpu
