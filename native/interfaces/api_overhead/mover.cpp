// Interfaces `launch`, `synchronize` and `event`: the cost of the calls themselves, without data. A flow's
// buffer holds one word, in which a launch of each batch leaves a stamp: it proves that the enqueued work
// ran, and in order.

#include "interfaces/api_overhead/arguments.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

class Call : public Mover {
 public:
  Call(Session& session, const Flow& flow) : Mover(*flow.executor), session_(&session), flow_(flow) {
    if (flow.source != flow.destination)
      throw Unsupported(flow.interface, "buffers", "a call has one buffer");
    if (flow.size_bytes != sizeof(std::uint64_t) || flow.source->bytes() < sizeof(std::uint64_t))
      throw Unsupported(flow.interface, "size", "the buffer of a call holds one word of 8 bytes");
    require_access(session, flow);
    empty_ = require_kernel(flow, executor(), "empty");
    traits_.distinct_source_bytes = traits_.distinct_destination_bytes = flow.size_bytes;
  }

  void prepare(std::uint64_t key) override {
    key_ = key;
    spoil(0, 0);
  }

  void spoil(std::uint64_t, std::uint64_t) override {
    poison(*session_, executor(), flow_.source->data(), 1, 1);
    executor().runtime->synchronize(session_->service_stream(executor()));
  }

  Verification verify(std::uint64_t first_operation, std::uint64_t count) override {
    return compare_word(*session_, executor(), flow_.source->data(),
                        pattern_word(key_, first_operation + count), sizeof(std::uint64_t));
  }

 protected:
  void launch(const LaunchShape& shape, Stream& stream) const { launch(shape, stream, {nullptr, 0}); }
  // Writes the stamp of a batch whose last operation is `last` - 1.
  void launch_stamp(const LaunchShape& shape, Stream& stream, std::uint64_t last) const {
    launch(shape, stream,
           {reinterpret_cast<unsigned long long*>(flow_.source->data()), pattern_word(key_, last)});
  }

  Session* session_;
  Flow flow_;

 private:
  void launch(const LaunchShape& shape, Stream& stream, const EmptyArguments& arguments) const {
    executor().runtime->launch(executor().ordinal, empty_, shape, &arguments, sizeof arguments, stream);
  }
  PreparedKernel empty_;
  std::uint64_t key_ = 0;
};

// On a CPU the launch starts a thread team, like other kernels there.
class Launch final : public Call {
 public:
  Launch(Session& session, const Flow& flow) : Call(session, flow) {
    const unsigned most = executor().runtime->kernel_info(executor().ordinal, "empty").max_threads;
    traits_.shape = executor().is_host()
                        ? LaunchShape{flow.count("threads", 1, kMostTeam), 1, 0}
                        : LaunchShape{flow.count("blocks", 1), flow.count("threads", 1, most), 0};
    moved_by_own("kernels of this process that end at once");
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    for (std::uint64_t k = 1; k < count; ++k) launch(traits_.shape, stream);
    launch_stamp(traits_.shape, stream, first_operation + count);
  }
};

// On a queue without pending work. A launch before the first call proves that the queue works; it takes the
// same time in every batch, so the slope removes it.
class Synchronize final : public Call {
 public:
  Synchronize(Session& session, const Flow& flow) : Call(session, flow) {
    traits_.entries_per_operation = 0;
    traits_.entries_per_batch = 1;
    traits_.synchronous = true;
    traits_.engine = "cpu";
    traits_.engine_evidence = "calls of this process's own thread";
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    launch_stamp({1, 1, 0}, stream, first_operation + count);
    for (std::uint64_t k = 0; k < count; ++k) executor().runtime->synchronize(stream);
  }
};

// Event round trip: the second queue waits for an event of the case's queue, which then waits for one of the
// second.
class EventPair final : public Call {
 public:
  EventPair(Session& session, const Flow& flow)
      : Call(session, flow),
        other_(executor().runtime->create_stream(executor().ordinal)),
        there_(executor().runtime->create_event(executor().ordinal)),
        back_(executor().runtime->create_event(executor().ordinal)) {
    traits_.entries_per_operation = 2;  // in each queue
    traits_.engine = "queue";
    traits_.engine_evidence =
        "events of two queues of this process, which wait for each other and move nothing";
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    Runtime& runtime = *executor().runtime;
    for (std::uint64_t k = 0; k < count; ++k) {
      runtime.record(*there_, stream);
      runtime.wait(*other_, *there_);
      if (k + 1 == count) launch_stamp({1, 1, 0}, *other_, first_operation + count);
      runtime.record(*back_, *other_);
      runtime.wait(stream, *back_);
    }
  }

 private:
  std::unique_ptr<Stream> other_;
  std::unique_ptr<Event> there_, back_;
};

const gpu::RegisterKernels<EmptyArguments> kEmptyKernels("interfaces/api_overhead/kernel.cu", {"empty"});
// Interfaces of a GPU's queues.
template <class Interface>
std::unique_ptr<Mover> make_on_gpu(Session& session, const Flow& flow) {
  if (flow.executor->is_host())
    throw Unsupported(flow.interface, "executor", "the queues are those of a GPU's runtime",
                      flow.executor->name());
  return make<Interface>(session, flow);
}

const RegisterInterface kLaunch("launch", make<Launch>);
const RegisterInterface kSynchronize("synchronize", make_on_gpu<Synchronize>);
const RegisterInterface kEvent("event", make_on_gpu<EventPair>);

}  // namespace
}  // namespace byteways
