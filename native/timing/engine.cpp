// See engine.hpp.
#include "timing/engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "interfaces/registry.hpp"
#include "interfaces/scratch_page.hpp"
#include "interfaces/service/arguments.hpp"

namespace byteways {
namespace {

constexpr double kStartLimitNs = 1e8;  // time limit for all blocks of the spinning kernel to start
// With all multiprocessors spinning, an H200's engine copied this much in 3 to 15 ms, 20 times slower than
// alone; a copy by a kernel did not progress at all.
constexpr std::uint64_t kMostProbedBytes = 16 << 20;
constexpr double kPatienceNs = 1e8;
constexpr std::uint64_t kMostProbedEntries =
    64;  // of a queue: thousands of copies would outlast the patience
// Streams that are tried before it is given up. ROCclr has four hardware queues for each GPU by default
// (GPU_MAX_HW_QUEUES), and gives a new stream the one with the fewest streams.
constexpr int kMostStreams = 8;
// Virtual time: each look comes later than the last by this part of the time waited. By a step of a clock's
// reading, ranks that wait for each other would take turns millions of times.
constexpr Nanoseconds kLooks = 20;

// Occupies every multiprocessor of a device until it goes out of scope.
class Occupation {
 public:
  Occupation(Session& session, Device& device)
      : device_(&device),
        stream_(device.runtime->create_stream(device.ordinal)),
        word_(&session.shared_scratch(device).occupied),
        running_(&session.shared_scratch(device).running) {
    const PreparedKernel kernel = device.runtime->prepare(device.ordinal, "occupy");
    const KernelInfo& info = kernel.info;
    blocks_ =
        static_cast<unsigned>(device.info.multiprocessors) * std::max(1u, info.blocks_per_multiprocessor);
    std::atomic_ref(*running_).store(0);
    const OccupyArguments arguments{word_, std::atomic_ref(*word_).load() + 1, running_};
    device.runtime->launch(device.ordinal, kernel, {blocks_, info.max_threads, 0}, &arguments,
                           sizeof arguments, *stream_);
  }
  ~Occupation() { release(); }
  Occupation(const Occupation&) = delete;
  Occupation& operator=(const Occupation&) = delete;

  bool complete() const { return std::atomic_ref(*running_).load() == blocks_; }
  void release() {
    if (released_) return;
    released_ = true;
    std::atomic_ref(*word_).fetch_add(1, std::memory_order_release);
    try {
      device_->runtime->synchronize(*stream_);
    } catch (const Error&) {  // reported by the next call on this device
    }
  }

 private:
  Device* device_;
  std::unique_ptr<Stream> stream_;
  unsigned int* word_;
  unsigned int* running_;
  unsigned blocks_ = 0;
  bool released_ = false;
};

template <class Condition>
bool wait_until(Session& session, double limit_ns, Condition condition) {
  const Nanoseconds begin = session.clock().now();
  while (!condition()) {
    const Nanoseconds waited = session.clock().now() - begin;
    if (static_cast<double>(waited) > limit_ns) return false;
    session.clock().pass(waited / kLooks);
  }
  return true;
}

// Devices whose multiprocessors are all occupied.
class Occupations {
 public:
  explicit Occupations(Session& session) : session_(&session) {}

  // Returns why the device cannot be held; empty if it is.
  std::string hold(Device& device) {
    held_.push_back(std::make_unique<Occupation>(*session_, device));
    if (wait_until(*session_, kStartLimitNs, [&] { return held_.back()->complete(); })) return {};
    return "not all multiprocessors could be held, something else is running on " + device.name();
  }
  // The same for the device of a stream, whose work must not wait behind the occupying kernel: runtimes map
  // streams on few hardware queues, which work in order.
  std::string hold_beside(FlowRunner& runner) {
    for (int tried = 0; tried < kMostStreams; ++tried) {
      if (std::string obstacle = hold(runner.device()); !obstacle.empty()) return obstacle;
      runner.runtime().record(*runner.end, *runner.stream);
      if (wait_until(*session_, kPatienceNs, [&] { return runner.runtime().finished(*runner.end); }))
        return {};
      held_.back()->release();
      runner.runtime().synchronize(*runner.stream);
      // Its stream lives on and keeps its place, so that the next one gets another hardware queue.
      sharing_.push_back(std::move(held_.back()));
      held_.pop_back();
    }
    return "the runtime has no hardware queue for the copy beside that of the spinning kernel";
  }
  void release() {
    for (const auto& each : held_) each->release();
  }

 private:
  Session* session_;
  std::vector<std::unique_ptr<Occupation>> held_, sharing_;
};

EngineFinding probe(Session& session, FlowRunner& runner, const Flow& flow) {
  Device& device = runner.device();
  const Availability offered = device.runtime->offers_kernel(device.ordinal, "occupy");
  if (!offered.available)
    return {"unknown", "not observed: the multiprocessors could not be held: " + offered.reason};
  // Operation 0 of the smaller copy writes the same data as operation 0 of the case, so that verification
  // still holds, unless the places depend on the size.
  Flow smaller = flow;
  smaller.size_bytes = std::min(flow.size_bytes, kMostProbedBytes);
  const std::uint64_t granularity = runner.mover->traits().granularity_bytes;
  const std::uint64_t entries = runner.mover->traits().entries_per_operation;
  if (entries > kMostProbedEntries)
    smaller.size_bytes = std::min(smaller.size_bytes, flow.size_bytes / entries * kMostProbedEntries);
  smaller.size_bytes = std::max(granularity, smaller.size_bytes / granularity * granularity);
  const std::string& without_wait = runner.mover->traits().call_without_wait;
  if (!without_wait.empty())
    smaller.options["call"] = without_wait;  // the other one would wait for the kernel
  const auto mover = make_mover(session, smaller);
  mover->restore();
  mover->make_ready(0, 1);
  // All devices that might run a copy kernel: ROCr runs it on the source, whoever issues the copy.
  std::vector<Device*> involved{&device};
  const auto involve = [&](Device& other) {
    if (!other.is_host() && std::find(involved.begin(), involved.end(), &other) == involved.end())
      involved.push_back(&other);
  };
  for (const Buffer* end : {flow.source, flow.destination}) involve(end->device());
  for (Device* helper : mover->traits().helpers) involve(*helper);
  Occupations occupations(session);
  std::string names;
  for (Device* each : involved) {
    const std::string obstacle = each == &device ? occupations.hold_beside(runner) : occupations.hold(*each);
    if (!obstacle.empty()) return {"unknown", "not observed: " + obstacle};
    names += (names.empty() ? "" : ", ") + each->name();
  }
  mover->enqueue(*runner.stream, 0, 1);
  runner.runtime().record(*runner.end, *runner.stream);
  const bool done = wait_until(session, kPatienceNs, [&] { return runner.runtime().finished(*runner.end); });
  occupations.release();
  runner.runtime().synchronize(*runner.stream);
  mover->restore();  // the case's own mover does not know what this one moved
  const std::string copy = "a " + mover->traits().noun + " of " + std::to_string(smaller.size_bytes) +
                           " bytes " + (without_wait.empty() ? "" : "by the call that does not wait ");
  const std::string meanwhile = " while a spinning kernel held every multiprocessor of " + names;
  const bool elsewhere = smaller.size_bytes != flow.size_bytes && mover->traits().size_moves_places;
  if (done) return {"copy-engine", copy + "completed" + meanwhile, elsewhere};
  return {"kernel", copy + "did not complete in 0.1 s" + meanwhile, elsewhere};
}

// The runtime's rule for the probed copy. None for managed memory, whose pages may be anywhere.
CopyRule rule_for(const Flow& flow) {
  const auto device = [&](const Buffer& buffer) {
    return buffer.device().runtime == flow.executor->runtime ? buffer.device().ordinal : -1;
  };
  const Memory from = flow.source->allocation().memory(), to = flow.destination->allocation().memory();
  if (is_managed(from) || is_managed(to)) return {};
  const Offer<EngineChoice>& choice = flow.executor->runtime->capability<EngineChoice>();
  if (!choice) return {};
  const bool opened = from == Memory::ipc || to == Memory::ipc;
  return choice->rule(
      {device(*flow.source), device(*flow.destination), is_plain(from) || is_plain(to), opened},
      std::min(flow.size_bytes, kMostProbedBytes));
}

// Compares observation and rule. Without an observation the rule is used, and the evidence says so.
EngineFinding weigh(const EngineFinding& seen, const CopyRule& rule) {
  if (rule.engine.empty()) return seen;
  EngineFinding both = seen;
  if (seen.engine == "unknown")
    both = {rule.engine, "by rule (" + rule.rule + "); " + seen.evidence, seen.changed_data};
  else
    both.evidence +=
        std::string(seen.engine == rule.engine ? ", as by rule (" : ", against the rule (") + rule.rule + ")";
  return both;
}

EngineFinding observe(Session& session, FlowRunner& runner, const Flow& flow) {
  if (!runner.unobservable.empty()) return {"unknown", "not observed: " + runner.unobservable};
  if (!runner.staged.empty()) return {"staged", runner.staged};
  const std::array<const Buffer*, 2> ends{flow.source, flow.destination};
  // GPUs of one model copy alike within their own memory and to the host's. Between GPUs the pair matters.
  const bool own = flow.partner == nullptr && std::all_of(ends.begin(), ends.end(), [&](const Buffer* end) {
                     return end->device().is_host() || &end->device() == flow.executor;
                   });
  const auto called = [&](const Device& device) {
    return own && &device == flow.executor ? device.info.model : device.name();
  };
  const auto end = [&](const Buffer& buffer) {
    return called(buffer.device()) + ":" + std::string(memory_name(buffer.allocation().memory()));
  };
  const auto rows = std::to_string(flow.number("width_bytes")) + "/" +
                    std::to_string(flow.number("pitch_bytes")) + "/" + flow.word("strided") + "/" +
                    std::to_string(flow.number("block_bytes")) + "/" + flow.word("layout") + "/" +
                    flow.word("scattered");
  const std::string question = flow.interface + " " + flow.word("submit") + " " + flow.word("call") + " " +
                               flow.word("via") + " " + rows + " " + called(*flow.executor) + " " +
                               (flow.partner == nullptr ? "" : flow.partner->name() + " ") +
                               end(*flow.source) + " " + end(*flow.destination) + " " +
                               std::to_string(std::min(flow.size_bytes, kMostProbedBytes));
  auto& known = session.engines()[question];
  if (!known.first.empty()) return {known.first, known.second};
  EngineFinding finding = probe(session, runner, flow);
  known = {finding.engine, finding.evidence};
  return finding;
}

}  // namespace

EngineFinding observe_engine(Session& session, FlowRunner& runner, const Flow& flow) {
  if (!runner.mover->traits().engine.empty())
    return {runner.mover->traits().engine, runner.mover->traits().engine_evidence};
  const EngineFinding seen = observe(session, runner, flow);
  return runner.mover->traits().copy_rule ? weigh(seen, rule_for(flow)) : seen;
}

}  // namespace byteways
