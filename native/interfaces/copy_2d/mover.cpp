// Interfaces `copy-2d`, `kernel-2d` and `memcpy-2d`: rows of width_bytes, pitched by pitch_bytes on one side
// or both, contiguous on the other. The size counts the rows only, and the gaps between them must stay
// unchanged.
#include <algorithm>
#include <bit>

#include "interfaces/copy_2d/arguments.hpp"
#include "interfaces/copying_mover.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kSpotCheckWords = 8192;  // checked after a sample

struct Geometry {
  std::uint64_t width_bytes = 0, rows = 0, source_pitch = 0, destination_pitch = 0;
  std::uint64_t span_bytes() const { return rows * std::max(source_pitch, destination_pitch); }
};

[[noreturn]] void refuse(const Flow& flow, const std::string& why) {
  throw Unsupported(flow.interface, "rows", why, flow.executor->name());
}

Geometry geometry_of(const Flow& flow) {
  const auto width = static_cast<std::uint64_t>(std::max<std::int64_t>(0, flow.number("width_bytes")));
  const auto pitch = static_cast<std::uint64_t>(std::max<std::int64_t>(0, flow.number("pitch_bytes")));
  const std::string strided = flow.word("strided", "source");
  if (width == 0 || width % kWord != 0 || pitch % kWord != 0)
    refuse(flow, "width_bytes and pitch_bytes are multiples of 8 bytes, and there is no row without width");
  if (pitch < width)
    refuse(flow,
           "rows of " + std::to_string(width) + " bytes overlap at a pitch of " + std::to_string(pitch));
  if (flow.size_bytes == 0 || flow.size_bytes % width != 0)
    refuse(flow, std::to_string(flow.size_bytes) + " bytes are no whole number of rows");
  const std::uint64_t rows = flow.size_bytes / width;
  if (std::uint64_t span = 0; __builtin_mul_overflow(rows, pitch, &span))
    refuse(flow, std::to_string(rows) + " rows at a pitch of " + std::to_string(pitch) +
                     " bytes span more than there are addresses");
  return {width, rows, strided == "destination" ? width : pitch, strided == "source" ? width : pitch};
}

// The flow as its buffers see it: a slot contains rows and gaps.
Flow spanning(Flow flow) {
  flow.size_bytes = geometry_of(flow).span_bytes();
  return flow;
}

class Copy2dMover : public CopyingMover {
 protected:
  Copy2dMover(Session& session, const Flow& flow)
      : CopyingMover(session, spanning(flow)), rows_(geometry_of(flow)) {
    require_kernel(flow, flow.destination->service_device(), "check_2d");
    set_payload(payload(), payload());
    traits_.granularity_bytes = rows_.width_bytes;
    checks_strided_ = false;  // rows and gaps are distinguished by their offset in the slot
  }

  std::uint64_t payload() const { return rows_.width_bytes * rows_.rows; }

  // Checks every word of the rows, and that the gaps between and after them still hold the destination's
  // poison.
  CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index) override {
    Device& by = flow_.destination->service_device();
    return found_by(*session_, by, [&](CheckResult* result) {
      const Check2dArguments arguments{reinterpret_cast<unsigned long long*>(data),
                                       words,
                                       flow_.size_bytes / kWord,
                                       rows_.rows,
                                       rows_.width_bytes / kWord,
                                       rows_.destination_pitch / kWord,
                                       key_ + first_index,
                                       rows_.source_pitch / kWord,
                                       kPoison,
                                       result};
      by.runtime->launch(by.ordinal, by.runtime->prepare(by.ordinal, "check_2d"),
                         full_shape(by, "check_2d", words), &arguments, sizeof arguments,
                         session_->service_stream(by));
    });
  }

  // Checks the beginning of the slot, up to the spoiled word.
  CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t, std::uint64_t first_index,
                         std::uint64_t phase) override {
    CheckResult found =
        check_words(data - phase * kWord, std::min(words + phase, std::max(phase + 1, kSpotCheckWords)),
                    first_index - phase);
    found.first_bad -= phase;  // counted from `data`: of words before it the caller's sum wraps back
    return found;
  }

  Geometry rows_;
};

// The vendor's two-dimensional copy.
class VendorCopy2d final : public Copy2dMover {
 public:
  VendorCopy2d(Session& session, const Flow& flow) : Copy2dMover(session, flow) {
    if (executor().is_host()) refuse(flow, "the vendor's copy call needs a GPU's queue");
    const Availability offered = executor().runtime->capability<Copies2D>().availability();
    if (!offered.available) throw Unsupported(flow.interface, "unavailable", offered.reason);
    for (Buffer* buffer : {flow.source, flow.destination}) session.open_to(executor(), *buffer);
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      executor().runtime->capability<Copies2D>()->copy(
          {destination_slot(k), rows_.destination_pitch, flow_.destination->device().is_host(),
           source_slot(k), rows_.source_pitch, flow_.source->device().is_host(), rows_.width_bytes,
           rows_.rows},
          stream);
  }
};

// Our packing kernel, or row-by-row memcpy.
class KernelCopy2d final : public Copy2dMover {
 public:
  KernelCopy2d(Session& session, const Flow& flow) : Copy2dMover(session, flow) {
    require_access(session, flow);
    arguments_ = {.source = flow.source->data(),
                  .destination = flow.destination->data(),
                  .width_bytes = rows_.width_bytes,
                  .rows = rows_.rows,
                  .source_pitch = rows_.source_pitch,
                  .destination_pitch = rows_.destination_pitch,
                  .fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u,
                  .slots = slots_.count,
                  .stride = slots_.stride_bytes};
    choice_ = executor().is_host() ? KernelChoice{require_kernel(flow, executor(), "memcpy_2d"), {1, 1, 0}}
                                   : grid();
    traits_.shape = choice_.shape;
    traits_.entries_per_operation = executor().is_host() ? 0 : 1;
    traits_.entries_per_batch = executor().is_host() ? 1 : 0;
    moved_by_own(executor().is_host() ? "loads and stores of this process's own thread"
                                      : "loads and stores of a kernel that this process launched");
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    launch_operations(executor(), choice_.kernel, traits_.shape, arguments_, first_operation, count, stream);
  }

 private:
  // As measured on H100 (docs/reference/peers.md): tiles where buffers in the own memory fit the L2.
  KernelChoice grid() {
    const auto addresses = reinterpret_cast<std::uintptr_t>(arguments_.source) |
                           reinterpret_cast<std::uintptr_t>(arguments_.destination) | arguments_.stride |
                           rows_.width_bytes | rows_.source_pitch | rows_.destination_pitch;
    arguments_.element_bytes = addresses % kAccessBytes == 0 ? kAccessBytes : kWord;
    const std::uint64_t per_row = rows_.width_bytes / arguments_.element_bytes;
    if (per_row > kNarrow2dElements) refuse(flow_, "a kernel copies rows of at most 8 GiB");
    set_divisor(static_cast<unsigned>(per_row));
    const std::uint64_t elements = per_row * rows_.rows;
    const bool tiled =
        &flow_.destination->device() == &executor() && payload() >= 2 << 20 && payload() <= 32 << 20;
    const char* covering = elements <= kNarrow2dElements ? "copy_2d" : "copy_2d_resident";
    const char* covering_tiled = elements <= kNarrow2dElements ? "copy_2d_tiled" : "copy_2d_resident";
    return choose_kernel(flow_, {covering, covering_tiled, "copy_2d_resident"}, elements,
                         tiled ? kTileAccesses : 1);
  }

  void set_divisor(unsigned divisor) {
    arguments_.row_shift = 31u + static_cast<unsigned>(std::bit_width(divisor - 1));
    arguments_.row_factor =
        static_cast<unsigned>(((std::uint64_t{1} << arguments_.row_shift) + divisor - 1) / divisor);
  }

  KernelChoice choice_;
  Copy2dArguments arguments_{};
};

const gpu::RegisterKernels<Copy2dArguments> kCopy2dKernels("interfaces/copy_2d/kernel.cu",
                                                           {"copy_2d", "copy_2d_tiled", "copy_2d_resident"});
const gpu::RegisterKernels<Check2dArguments> kCheck2dKernels("interfaces/copy_2d/kernel.cu", {"check_2d"});
std::unique_ptr<Mover> make_kernel_2d(Session& session, const Flow& flow) {
  if (flow.executor->is_host()) refuse(flow, "kernel-2d runs on a GPU; a CPU executes memcpy-2d");
  return std::make_unique<KernelCopy2d>(session, flow);
}
std::unique_ptr<Mover> make_memcpy_2d(Session& session, const Flow& flow) {
  if (!flow.executor->is_host())
    refuse(flow, "memcpy-2d runs on CPU cores; a GPU executes copy-2d or kernel-2d");
  return std::make_unique<KernelCopy2d>(session, flow);
}

const RegisterInterface kCopy2d("copy-2d", make<VendorCopy2d>);
const RegisterInterface kKernel2d("kernel-2d", make_kernel_2d);
const RegisterInterface kMemcpy2d("memcpy-2d", make_memcpy_2d);

}  // namespace
}  // namespace byteways
