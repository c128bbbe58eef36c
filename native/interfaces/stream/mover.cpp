// Interfaces `stream-copy`, `stream-scale`, `stream-add` and `stream-triad`: the loops of STREAM on a CPU
// thread team or a GPU. Sources hold doubles whose sums and products are exact, so every word of the result
// is known, whatever the order of operations.
#include <algorithm>

#include "interfaces/copying_mover.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/stream/arguments.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kSpotCheckWords = 512;  // per piece checked after a sample
constexpr std::uint64_t kSecondKey = std::uint64_t{1}
                                     << 61;  // offset between the patterns of the two sources

constexpr KernelForms kStreamForms[] = {{"stream_copy", nullptr, "stream_copy_resident"},
                                        {"stream_scale", nullptr, "stream_scale_resident"},
                                        {"stream_add", nullptr, "stream_add_resident"},
                                        {"stream_triad", nullptr, "stream_triad_resident"}};

class StreamMover final : public CopyingMover {
 public:
  StreamMover(Session& session, const Flow& flow, StreamOperation operation)
      : CopyingMover(session, flow), operation_(operation) {
    const bool two = operation == kStreamAdd || operation == kStreamTriad;
    if (two != (flow.second_source != nullptr))
      throw Unsupported(flow.interface, "buffers", two ? "it reads two arrays" : "it reads one array");
    if (flow.size_bytes % kAccessBytes != 0)
      throw Unsupported(flow.interface, "size", "arrays are multiples of 16 bytes");
    require_access(session, flow);
    choice_ = choose_kernel(flow, kStreamForms[operation], flow.size_bytes / kAccessBytes);
    for (const Buffer* source : {flow.source, flow.second_source})
      if (source != nullptr) require_kernel(flow, source->service_device(), "stream_fill");
    require_kernel(flow, flow.destination->service_device(), "stream_check");
    arguments_ = {.first = flow.source->data(),
                  .second = two ? flow.second_source->data() : nullptr,
                  .destination = flow.destination->data(),
                  .bytes = flow.size_bytes,
                  .fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u,
                  .slots = slots_.count,
                  .stride = slots_.stride_bytes};
    checks_strided_ = false;
    use_own_kernel(choice_.shape);
    set_payload((two ? 2 : 1) * flow.size_bytes, flow.size_bytes);
    traits_.bytes_per_operation =
        (two ? 3 : 2) * flow.size_bytes;  // as STREAM counts: bytes read plus bytes written
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    launch_operations(executor(), choice_.kernel, traits_.shape, arguments_, first_operation, count, stream);
  }

 protected:
  void fill_sources(std::uint64_t words) override {
    fill_one(*flow_.source, words, key_);
    if (flow_.second_source != nullptr) fill_one(*flow_.second_source, words, key_ + kSecondKey);
  }

  CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index) override {
    Device& by = flow_.destination->service_device();
    return found_by(*session_, by, [&](CheckResult* result) {
      launch_pattern(by, "stream_check",
                     {reinterpret_cast<unsigned long long*>(data), words, key_, key_ + kSecondKey,
                      first_index, operation_, result});
    });
  }

  // Checks a piece after the first spoiled word and one after the last.
  CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                         std::uint64_t first_index, std::uint64_t) override {
    const std::uint64_t last = (words - 1) / stride * stride;
    const CheckResult found = check_words(data, std::min(words, kSpotCheckWords), first_index);
    if (found.bad_count != 0 || last == 0) return found;
    CheckResult behind =
        check_words(data + last * kWord, std::min(words - last, kSpotCheckWords), first_index + last);
    behind.first_bad += behind.bad_count != 0 ? last : 0;
    return behind;
  }

 private:
  void launch_pattern(Device& by, const char* kernel, const StreamPatternArguments& arguments) {
    by.runtime->launch(by.ordinal, by.runtime->prepare(by.ordinal, kernel),
                       full_shape(by, kernel, arguments.count), &arguments, sizeof arguments,
                       session_->service_stream(by));
  }

  void fill_one(Buffer& buffer, std::uint64_t words, std::uint64_t key) {
    launch_pattern(
        buffer.service_device(), "stream_fill",
        {reinterpret_cast<unsigned long long*>(buffer.data()), words, key, 0, 0, kStreamCopy, nullptr});
  }

  StreamOperation operation_;
  KernelChoice choice_;
  StreamArguments arguments_{};
};

const gpu::RegisterKernels<StreamArguments> kStreamKernels("interfaces/stream/kernel.cu",
                                                           {"stream_copy", "stream_copy_resident",
                                                            "stream_scale", "stream_scale_resident",
                                                            "stream_add", "stream_add_resident",
                                                            "stream_triad", "stream_triad_resident"});
const gpu::RegisterKernels<StreamPatternArguments> kStreamPatternKernels("interfaces/stream/pattern.cu",
                                                                         {"stream_fill", "stream_check"});
template <StreamOperation operation>
std::unique_ptr<Mover> make_stream(Session& session, const Flow& flow) {
  return std::make_unique<StreamMover>(session, flow, operation);
}

const RegisterInterface kCopy("stream-copy", make_stream<kStreamCopy>);
const RegisterInterface kScale("stream-scale", make_stream<kStreamScale>);
const RegisterInterface kAdd("stream-add", make_stream<kStreamAdd>);
const RegisterInterface kTriad("stream-triad", make_stream<kStreamTriad>);

}  // namespace
}  // namespace byteways
