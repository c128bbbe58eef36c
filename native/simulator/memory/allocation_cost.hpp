// Allocation costs on the simulated machine, in ns of host time: the calls, and the pages that they create,
// lock or map.
#pragma once
#include <algorithm>
#include <cstdint>

#include "simulator/machine/model.hpp"
#include "simulator/memory/memory.hpp"

namespace byteways::sim {

class AllocationCost {
 public:
  explicit AllocationCost(const Model& model) : model_(model.memory), enqueue_ns_(model.calls.enqueue_ns) {}

  // Plain and managed memory has no pages before it is touched.
  double allocate_ns(Kind kind, std::uint64_t bytes) const {
    if (is_plain(kind)) return 0;
    if (is_managed(kind)) return model_.call_ns;
    if (is_device(kind)) return model_.call_ns + granules(bytes) * model_.granule_ns;
    return model_.call_ns + pages(bytes) * (model_.page_ns + model_.lock_page_ns);
  }
  double free_ns(Kind kind, std::uint64_t bytes, bool touched) const {
    if (is_plain(kind)) return enqueue_ns_ + (touched ? model_.release_part * touch_ns(kind, bytes) : 0);
    if (is_managed(kind)) return model_.call_ns;
    return model_.release_part * allocate_ns(kind, bytes);
  }
  // A huge page takes as long as its bytes in base pages, because zeroing dominates.
  double touch_ns(Kind kind, std::uint64_t bytes) const {
    return is_device(kind) ? 0 : pages(bytes) * model_.page_ns;
  }
  double lock_ns(std::uint64_t bytes, Kind kind, bool touched) const {
    return model_.call_ns + pages(bytes) * model_.lock_page_ns + (touched ? 0 : touch_ns(kind, bytes));
  }
  double unlock_ns(std::uint64_t bytes) const {
    return model_.release_part * (model_.call_ns + pages(bytes) * model_.lock_page_ns);
  }
  double open_ns(std::uint64_t bytes) const { return model_.call_ns + granules(bytes) * model_.granule_ns; }

 private:
  static double pages(std::uint64_t bytes) {
    constexpr std::uint64_t kPageBytes = 4 << 10;
    return static_cast<double>((bytes + kPageBytes - 1) / kPageBytes);
  }
  static double granules(std::uint64_t bytes) {
    constexpr std::uint64_t kGranuleBytes = 2 << 20;
    return static_cast<double>((bytes + kGranuleBytes - 1) / kGranuleBytes);
  }
  MemoryModel model_;
  double enqueue_ns_;  // ns of a call that changes no GPU's mapping
};

}  // namespace byteways::sim
