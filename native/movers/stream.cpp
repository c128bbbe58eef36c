// Interfaces `stream-copy`, `stream-scale`, `stream-add` and `stream-triad`: the loops of STREAM on a CPU's
// team of threads or a GPU. Sources hold doubles whose sums and products are exact, so that every word of the
// result is known, whatever the order of operations.
#include <algorithm>

#include "kernels/arguments.hpp"
#include "movers/mover.hpp"
#include "movers/pattern.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kGlanceWords = 512;  // of each piece that is looked at after a sample
constexpr unsigned kThreads = 512;
constexpr unsigned kBytesPerThread =
    64;  // of each array: four accesses of 16 bytes (native/kernels/stream.cu)
constexpr unsigned kAccessBytes = 16;
// Of a destination that is not the executor's own: stores have to arrive before a block ends, so blocks stay
// and go on, as those of the interface `kernel` do.
constexpr unsigned kBlocksPerMultiprocessor = 4;
constexpr std::uint64_t kSecondKey = std::uint64_t{1}
                                     << 61;  // from the first source's pattern to the second's

struct Interface {
  const char* name;
  const char* kernel;
  StreamOperation operation;
};
constexpr Interface kInterfaces[] = {
    {"stream-copy", "stream_copy", kStreamCopy},
    {"stream-scale", "stream_scale", kStreamScale},
    {"stream-add", "stream_add", kStreamAdd},
    {"stream-triad", "stream_triad", kStreamTriad},
};

class StreamMover final : public CopyingMover {
 public:
  StreamMover(Session& session, const Flow& flow, const Interface& interface)
      : CopyingMover(session, flow), interface_(interface) {
    const bool two = interface.operation == kStreamAdd || interface.operation == kStreamTriad;
    if (two != (flow.second_source != nullptr))
      throw Unsupported(flow.interface, "buffers", two ? "it reads two arrays" : "it reads one array");
    if (flow.size_bytes % kAccessBytes != 0)
      throw Unsupported(flow.interface, "size", "arrays are multiples of 16 bytes");
    require_access(session, flow);
    offered(executor(), interface.kernel);
    for (const Buffer* source : {flow.source, flow.second_source})
      if (source != nullptr) offered(source->agent(), "stream_fill");
    offered(flow.destination->agent(), "stream_check");
    const bool away = &flow.destination->agent() != &executor();
    arguments_ = {flow.source->data(),
                  two ? flow.second_source->data() : nullptr,
                  flow.destination->data(),
                  flow.size_bytes,
                  slots_.count,
                  slots_.stride_bytes,
                  0,
                  1,
                  away ? 1u : 0u};
    shape_ = executor().is_host() ? team() : grid(away);
    kernel_ = executor().runtime->prepare(executor().device, interface.kernel);
  }

  // As STREAM counts: every array that is read or written.
  std::uint64_t bytes_per_operation() const override {
    return (flow_.second_source == nullptr ? 2 : 3) * flow_.size_bytes;
  }
  std::uint64_t distinct_source_bytes() const override {
    return (flow_.second_source == nullptr ? 1 : 2) * CopyingMover::distinct_source_bytes();
  }
  std::uint64_t queue_entries(std::uint64_t count) const override { return executor().is_host() ? 1 : count; }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    launch_operations(executor(), kernel_, shape_, arguments_, first_operation, count, stream);
  }

  LaunchShape shape() const override { return shape_; }
  std::string engine() const override { return executor().is_host() ? "cpu" : "kernel"; }
  std::string engine_evidence() const override {
    return executor().is_host() ? "loads and stores of this process's own threads"
                                : "loads and stores of a kernel that this process launched";
  }

 protected:
  void fill_sources(std::uint64_t words) override {
    fill_one(*flow_.source, words, key_);
    if (flow_.second_source != nullptr) fill_one(*flow_.second_source, words, key_ + kSecondKey);
  }

  CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index) override {
    Agent& by = flow_.destination->agent();
    return found_by(*session_, by, [&](CheckResult* result) {
      launch_pattern(by, "stream_check",
                     {reinterpret_cast<unsigned long long*>(data), words, key_, key_ + kSecondKey,
                      first_index, interface_.operation, result});
    });
  }

  // A piece behind the first spoiled word and one behind the last.
  CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                         std::uint64_t first_index, std::uint64_t) override {
    const std::uint64_t last = (words - 1) / stride * stride;
    const CheckResult found = check_words(data, std::min(words, kGlanceWords), first_index);
    if (found.bad_count != 0 || last == 0) return found;
    CheckResult behind =
        check_words(data + last * kWord, std::min(words - last, kGlanceWords), first_index + last);
    behind.first_bad += behind.bad_count != 0 ? last : 0;
    return behind;
  }
  bool checks_strided() const override { return false; }

 private:
  void offered(Agent& agent, const char* kernel) const {
    const Availability found = agent.runtime->offers_kernel(agent.device, kernel);
    if (!found.available) throw Unsupported(flow_.interface, "unavailable", found.reason, agent.name());
  }

  void launch_pattern(Agent& by, const char* kernel, const StreamPatternArguments& arguments) {
    by.runtime->launch(by.device, by.runtime->prepare(by.device, kernel),
                       full_shape(by, kernel, arguments.count), &arguments, sizeof arguments,
                       session_->service_stream(by));
  }

  void fill_one(Buffer& buffer, std::uint64_t words, std::uint64_t key) {
    launch_pattern(
        buffer.agent(), "stream_fill",
        {reinterpret_cast<unsigned long long*>(buffer.data()), words, key, 0, 0, kStreamCopy, nullptr});
  }

  LaunchShape team() const {
    if (flow_.number("blocks") != 0)
      throw Unsupported(flow_.interface, "blocks", "a CPU has no blocks; its threads are the option threads",
                        executor().name());
    const auto cores = static_cast<unsigned>(std::max(1, executor().info.multiprocessors));
    return {flow_.count("threads", cores, kMostTeam), 1, 0};
  }

  // Own memory: a block for every tile, gone when it is done. Small arrays are spread over the whole device.
  LaunchShape grid(bool away) const {
    const KernelInfo info = executor().runtime->kernel_info(executor().device, interface_.kernel);
    const unsigned threads = std::min(flow_.count("threads", kThreads), info.max_threads);
    const auto processors = static_cast<std::uint64_t>(std::max(1, executor().info.multiprocessors));
    const std::uint64_t tiles = flow_.size_bytes / (std::uint64_t{threads} * kBytesPerThread);
    const std::uint64_t spread = (flow_.size_bytes / kAccessBytes + threads - 1) / threads;
    const std::uint64_t room =
        std::max<std::uint64_t>(1, processors * kBlocksPerMultiprocessor / flow_.sharing);
    std::uint64_t blocks = tiles > room ? tiles : std::min(std::max<std::uint64_t>(1, spread), room);
    if (away) blocks = std::min(blocks, room);
    return {flow_.count("blocks", static_cast<unsigned>(std::min<std::uint64_t>(blocks, kMostBlocks))),
            threads, 0};
  }

  Interface interface_;
  PreparedKernel kernel_;
  StreamArguments arguments_{};
  LaunchShape shape_;
};

}  // namespace

std::unique_ptr<Mover> make_stream(Session& session, const Flow& flow) {
  for (const Interface& interface : kInterfaces)
    if (flow.interface == interface.name) return std::make_unique<StreamMover>(session, flow, interface);
  throw Unsupported("interface", "unknown", "there is no interface named '" + flow.interface + "'");
}

}  // namespace byteways
