// Interfaces `copy-2d`, `kernel-2d` and `memcpy-2d`: rows of width_bytes that lie pitch_bytes apart on one
// side or both, and side by side on the other. The size is that of the rows alone, and the gaps between them
// must stay as they were.
#include <algorithm>

#include "kernels/arguments.hpp"
#include "movers/mover.hpp"
#include "movers/pattern.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kGlanceWords = 8192;  // that are looked at after a sample
constexpr unsigned kThreads = 512;
constexpr unsigned kBlocksPerMultiprocessor = 4;
constexpr unsigned kBytesInFlightPerThread = 128;

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

// The flow as its buffers see it: a slot spans rows and gaps.
Flow spanning(Flow flow) {
  flow.size_bytes = geometry_of(flow).span_bytes();
  return flow;
}

class RowsMover : public CopyingMover {
 public:
  std::uint64_t bytes_per_operation() const override { return payload(); }
  std::uint64_t distinct_source_bytes() const override { return slots_.count * payload(); }
  std::uint64_t distinct_destination_bytes() const override { return slots_.count * payload(); }

 protected:
  RowsMover(Session& session, const Flow& flow)
      : CopyingMover(session, spanning(flow)), rows_(geometry_of(flow)) {
    Agent& owner = flow.destination->agent();
    const Availability offered = owner.runtime->offers_kernel(owner.device, "check_rows");
    if (!offered.available) throw Unsupported(flow.interface, "unavailable", offered.reason, owner.name());
  }

  std::uint64_t payload() const { return rows_.width_bytes * rows_.rows; }

  // Every word of the rows, and that what is between and behind them still holds what the destination was
  // poisoned with.
  CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index) override {
    Agent& by = flow_.destination->agent();
    return found_by(*session_, by, [&](CheckResult* result) {
      const RowsCheckArguments arguments{reinterpret_cast<unsigned long long*>(data),
                                         words,
                                         flow_.size_bytes / kWord,
                                         rows_.rows,
                                         rows_.width_bytes / kWord,
                                         rows_.destination_pitch / kWord,
                                         key_ + first_index,
                                         rows_.source_pitch / kWord,
                                         kPoison,
                                         result};
      by.runtime->launch(by.device, by.runtime->prepare(by.device, "check_rows"),
                         full_shape(by, "check_rows", words), &arguments, sizeof arguments,
                         session_->service_stream(by));
    });
  }

  // Rows are told from gaps by their place in the slot: its beginning is looked at, up to what was spoiled.
  CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t, std::uint64_t first_index,
                         std::uint64_t phase) override {
    return check_words(data - phase * kWord, std::min(words + phase, std::max(phase + 1, kGlanceWords)),
                       first_index - phase);
  }

  bool checks_strided() const override { return false; }

  Geometry rows_;
};

// The vendor's two-dimensional copy.
class CopyRows final : public RowsMover {
 public:
  CopyRows(Session& session, const Flow& flow) : RowsMover(session, flow) {
    if (executor().is_host()) refuse(flow, "the vendor's copy call needs a GPU's queue");
    const Availability offered = executor().runtime->capability<Copies2D>().availability();
    if (!offered.available) throw Unsupported(flow.interface, "unavailable", offered.reason);
    for (Buffer* buffer : {flow.source, flow.destination}) session.open_to(executor(), *buffer);
  }

  std::uint64_t queue_entries(std::uint64_t count) const override { return count; }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      executor().runtime->capability<Copies2D>()->copy(
          {destination_slot(k), rows_.destination_pitch, flow_.destination->agent().is_host(), source_slot(k),
           rows_.source_pitch, flow_.source->agent().is_host(), rows_.width_bytes, rows_.rows},
          stream);
  }
};

// Our packing kernel, or memcpy row by row.
class KernelRows final : public RowsMover {
 public:
  KernelRows(Session& session, const Flow& flow)
      : RowsMover(session, flow), name_(flow.interface == "memcpy-2d" ? "memcpy_rows" : "copy_rows") {
    require_access(session, flow);
    const Availability offered = executor().runtime->offers_kernel(executor().device, name_);
    if (!offered.available)
      throw Unsupported(flow.interface, "unavailable", offered.reason, executor().name());
    arguments_ = {flow.source->data(),
                  flow.destination->data(),
                  rows_.width_bytes,
                  rows_.rows,
                  rows_.source_pitch,
                  rows_.destination_pitch,
                  slots_.count,
                  slots_.stride_bytes,
                  0,
                  1};
    shape_ = choose_shape();
    kernel_ = executor().runtime->prepare(executor().device, name_);
  }

  std::uint64_t queue_entries(std::uint64_t count) const override { return executor().is_host() ? 1 : count; }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    launch_operations(executor(), kernel_, shape_, arguments_, first_operation, count, stream);
  }

  LaunchShape shape() const override { return shape_; }
  std::string engine() const override { return executor().is_host() ? "cpu" : "kernel"; }
  std::string engine_evidence() const override {
    return executor().is_host() ? "loads and stores of this process's own thread"
                                : "loads and stores of a kernel that this process launched";
  }

 private:
  LaunchShape choose_shape() const {
    if (executor().is_host()) return {1, 1, 0};
    const KernelInfo info = executor().runtime->kernel_info(executor().device, name_);
    const unsigned threads = std::min(flow_.count("threads", kThreads), info.max_threads);
    const std::uint64_t per_block = std::uint64_t{threads} * kBytesInFlightPerThread;
    const auto processors = static_cast<std::uint64_t>(std::max(1, executor().info.multiprocessors));
    const std::uint64_t useful = std::max<std::uint64_t>(1, (payload() + per_block - 1) / per_block);
    const std::uint64_t room = processors * kBlocksPerMultiprocessor / flow_.sharing;
    const std::uint64_t blocks = std::min(useful, std::max<std::uint64_t>(1, room));
    return {flow_.count("blocks", static_cast<unsigned>(blocks)), threads, 0};
  }

  const char* name_;
  PreparedKernel kernel_;
  RowsArguments arguments_{};
  LaunchShape shape_;
};

}  // namespace

std::unique_ptr<Mover> make_rows(Session& session, const Flow& flow) {
  if (flow.interface == "copy-2d") return std::make_unique<CopyRows>(session, flow);
  if (flow.interface == "kernel-2d" && flow.executor->is_host())
    refuse(flow, "kernel-2d runs on a GPU; a CPU executes memcpy-2d");
  if (flow.interface == "memcpy-2d" && !flow.executor->is_host())
    refuse(flow, "memcpy-2d runs on CPU cores; a GPU executes copy-2d or kernel-2d");
  return std::make_unique<KernelRows>(session, flow);
}

}  // namespace byteways
