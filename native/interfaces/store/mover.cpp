// Interfaces that write one buffer and read nothing. `store`: the executor's own stores of the pattern.
// `memset`: the vendor's call, or memset of a team, which sets each byte to one value.
#include <algorithm>

#include "interfaces/called_copies.hpp"
#include "interfaces/copying_mover.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/service/arguments.hpp"
#include "interfaces/store/arguments.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

// A copy from registers.
Flow into_buffer(Flow flow) {
  if (flow.source != flow.destination)
    throw Unsupported("store", "buffers", "it writes one buffer", flow.executor->name());
  if (flow.size_bytes % kAccessBytes != 0)
    throw Unsupported("store", "size", "it writes multiples of 16 bytes", flow.executor->name());
  flow.source = nullptr;
  return flow;
}

class Store final : public CopyingMover {
 public:
  Store(Session& session, const Flow& flow) : CopyingMover(session, into_buffer(flow)) {
    require_access(session, flow);
    choice_ = grid();
    arguments_ = {.data = flow.destination->data(),
                  .bytes = flow.size_bytes,
                  .fence = must_fence(executor(), flow.destination->device()) ? 1u : 0u,
                  .slots = slots_.count,
                  .stride = slots_.stride_bytes};
    set_payload(0, flow.size_bytes);
    use_own_kernel(choice_.shape);
  }

  void prepare(std::uint64_t key) override {
    arguments_.key = key;
    CopyingMover::prepare(key);
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    launch_operations(executor(), choice_.kernel, traits_.shape, arguments_, first_operation, count, stream);
  }

 private:
  void fill_sources(std::uint64_t) override {}

  // As measured on H100 (docs/reference/peers.md): from 1 MiB on tiles to other memory, large blocks in its
  // own.
  KernelChoice grid() const {
    const bool away = &flow_.destination->device() != &executor(), large = flow_.size_bytes >= 1 << 20;
    return choose_kernel(flow_, {"store", "store_tiled", "store_resident"}, flow_.size_bytes / kAccessBytes,
                         away && large ? kTileAccesses : 1, large && !away ? kBlockThreads : kCoverThreads);
  }

  KernelChoice choice_;
  StoreArguments arguments_{};
};

// A byte that poison does not repeat eight times, so that no spoiled word is right.
constexpr unsigned char kByte = 0xA7;
constexpr std::uint64_t kBytes = 0x0101010101010101ull * kByte;

constexpr std::string_view kRefusal = "invalid argument";  // of both vendors

// The vendor's call that sets bytes, in a GPU's queue or waiting. Vendors do not document which engine
// executes it, so it must be observed (timing/engine.hpp). On a CPU, memset of a team.
class Memset final : public CopyingMover {
 public:
  Memset(Session& session, const Flow& flow) : CopyingMover(session, into_buffer(flow)) {
    require_access(session, flow);
    set_payload(0, flow.size_bytes);
    traits_.noun = "memset";
    if (const CopyCall call = copy_call(flow); call != CopyCall::async) choose_call(call);
    if (!executor().is_host()) {
      try_plain_memory();
      return;
    }
    choice_ = choose_kernel(flow, {"memset"}, flow.size_bytes);
    use_own_kernel(choice_.shape);
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    std::byte* data = flow_.destination->data();
    const CopySeries series{
        data, nullptr, flow_.size_bytes, slots_.count, slots_.stride_bytes, first_operation, count};
    if (calls_ != nullptr) {
      calls_->set(series, kByte, executor().ordinal);
      return calls_->settle(executor().ordinal);  // it may return before the memory of a GPU is set
    }
    if (!executor().is_host()) return executor().runtime->set_series(series, kByte, stream);
    const StoreArguments arguments{.data = data,
                                   .bytes = flow_.size_bytes,
                                   .key = kByte,
                                   .slots = slots_.count,
                                   .stride = slots_.stride_bytes};
    launch_operations(executor(), choice_.kernel, traits_.shape, arguments, first_operation, count, stream);
  }

 private:
  void choose_call(CopyCall call) {
    const Offer<CopyCalls>& calls = executor().runtime->capability<CopyCalls>();
    const Availability offered = calls ? calls.object->offers_blocking_set() : calls.availability();
    const char* obstacle = call == CopyCall::blocking ? offered.reason.c_str() : "it names one GPU, not two";
    if (*obstacle != '\0') throw Unsupported("memset", "call", obstacle, executor().name());
    calls_ = calls.object;
    traits_.waits_in_call("async");
  }

  // A runtime may refuse memory that it neither allocated nor registered, although its kernels reach it.
  void try_plain_memory() {
    if (!is_plain(flow_.destination->allocation().memory())) return;
    try {
      Stream& stream = session_->service_stream(executor());
      enqueue(stream, 0, 1);
      executor().runtime->synchronize(stream);
    } catch (const Error& error) {
      if (error.text() != kRefusal) throw;
      throw Unsupported("memset", error.code(), error.what(), executor().name());
    }
  }

  void fill_sources(std::uint64_t) override {}

  CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t) override {
    CheckResult found = every(data, words, 2);
    if (words < 2) return found;
    const CheckResult odd = every(data + kWord, words - 1, 2);
    const std::uint64_t bad = found.bad_count + odd.bad_count;
    if (odd.bad_count != 0 && odd.first_bad + 1 < found.first_bad)
      found = {0, odd.first_bad + 1, odd.expected, odd.got};
    found.bad_count = bad;
    return found;
  }

  CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t stride, std::uint64_t,
                         std::uint64_t) override {
    return stride > 1 ? every(data, words, stride) : check_words(data, words, 0);
  }

  // Compares every `stride`-th word, 2 or more: all bits are those of a constant, none those of a pattern.
  CheckResult every(std::byte* data, std::uint64_t words, std::uint64_t stride) {
    Device& owner = flow_.destination->service_device();
    return found_by(*session_, owner, [&](CheckResult* result) {
      const PatternArguments arguments{
          reinterpret_cast<unsigned long long*>(data), words, 0, 0, stride, result, 0, kBytes};
      owner.runtime->launch(owner.ordinal, owner.runtime->prepare(owner.ordinal, "check"),
                            full_shape(owner, "check", words / stride), &arguments, sizeof arguments,
                            session_->service_stream(owner));
    });
  }

  KernelChoice choice_;
  CopyCalls* calls_ = nullptr;  // with the option `call`
};

const gpu::RegisterKernels<StoreArguments> kStoreKernels("interfaces/store/kernel.cu",
                                                         {"store", "store_tiled", "store_resident"});
const RegisterInterface kStore("store", make<Store>);
const RegisterInterface kMemset("memset", make<Memset>);

}  // namespace
}  // namespace byteways
