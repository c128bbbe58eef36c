// Interface `direct`: collectives by our own kernels, or by the vendor's copies, over memory of peer GPUs.
//
// One-shot: each rank gets all that it needs from every other rank in one step. Two-shot allreduce: each rank
// sums one block, and stores it into the destinations of all ranks. Protocol LL stores words with flags into
// workspaces; protocol Simple loads from the ranks' buffers between two barriers.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "core/rounding.hpp"
#include "interfaces/device/geometry.hpp"
#include "interfaces/direct/communicator.hpp"
#include "interfaces/direct/way.hpp"
#include "interfaces/pattern.hpp"
#include "interfaces/rank_calls.hpp"
#include "interfaces/rank_collective.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/scratch_page.hpp"
#include "interfaces/single_thread.hpp"
#include "interfaces/submission.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"

namespace byteways {
namespace {

// Far longer than ranks start apart on a busy machine, shorter than the limit for a hanging worker
// (measuring/conduct/conductor.py: at least 20 s).
constexpr std::uint64_t kPatienceNs = 10'000'000'000;
constexpr unsigned kDirectWarp = 64;  // of AMD; NVIDIA's is half of it
constexpr unsigned kBlocksOfMultiprocessor = 2;
// Copies to several ranks at once take three more calls each, about 5 us: for one thread that calls for all
// ranks that pays from this message on.
constexpr std::uint64_t kLaneLeastBytes = 1 << 20;

// "4 GPUs, one process each"
std::string launched(const Flow& flow) {
  const std::string launch = flow.word("launch", "process");
  return std::to_string(flow.ranks->size()) + " GPUs, " +
         (launch == "single" ? "one thread for all" : "one " + launch + " each");
}

PeerCommunicator& require_peers(const Flow& flow) {
  if (flow.peers == nullptr)
    throw Unsupported(flow.interface, "peers", "the ranks have not opened each other's memory");
  return *flow.peers;
}

// The buffers that other ranks use: in place, the source is the destination.
std::vector<Buffer*> shared_buffers(const Flow& flow) {
  return {flow.word("in_place") == "yes" ? flow.destination : flow.source, flow.destination};
}

class DirectMover final : public CollectiveMover, public RankCalls {
 public:
  DirectMover(Session& session, const Flow& flow, const std::string& name)
      : CollectiveMover(session, flow, name),
        peers_(&require_peers(flow)),
        adds_(name == "allreduce" || name == "reduce-scatter"),
        gathers_(name == "allgather") {
    if (!adds_ && !gathers_ && name != "alltoall")
      throw Unsupported(flow.interface, "operation", "there is no direct " + name);
    way_ = choose_way(flow, name, message_bytes(), peers_->obstacle());
    if (flow.word("submit") == "persistent")
      persistent_ = true;
    else
      submission_.emplace(flow);
    if (persistent_ && way_ == Way::copies)
      throw Unsupported(flow.interface, "submit", "copies are calls, and no part of a kernel");
    kernel_ = require_kernel(flow, executor(), kernel_of(way_));
    make_lanes();
    failure_ = &session.shared_scratch(executor()).failure;
    arguments_ = arguments(name);
    traits_.shape = shape();
    traits_.synchronous = false;
    traits_.entries_per_operation = persistent_ ? 0 : entries();
    traits_.entries_per_batch = persistent_ ? 1 : 0;
    describe(name);
  }

  // `buffers`: those of shared_buffers(), of all ranks.
  void connect(std::vector<PeerBuffers> buffers) {
    buffers_ = std::move(buffers);
    for (int rank = 0; rank < peers_->size(); ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      const std::uint64_t block = static_cast<std::uint64_t>(rank) * block_bytes();
      const bool own_block = in_place() && rank == this->rank() && adds_ && way_ != Way::two_shot &&
                             flow_.word("operation") == "reduce-scatter";
      arguments_.sources[rank] =
          reinterpret_cast<const char*>(buffers_[0].of_rank.at(at)) + (in_place() && gathers_ ? block : 0);
      arguments_.destinations[rank] =
          reinterpret_cast<char*>(buffers_[1].of_rank.at(at)) + (own_block ? block : 0);
      arguments_.workspaces[rank] = reinterpret_cast<DirectWorkspace*>(peers_->workspaces().at(at));
    }
  }

  ~DirectMover() override {
    if (!gave_up()) return;
    peers_->keep_for_good();  // another rank's kernel may still come, and store there
  }

  void make_ready(std::uint64_t first_operation, std::uint64_t count) override {
    if (submission_ && submission_->graph())
      submission_->record(executor(), first_operation, count, traits_.rotation, calls());
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    require_flags();
    begin(first_operation, count);
    if (persistent_)
      call(stream, first_operation, 0);
    else if (submission_->graph())
      submission_->launch(executor(), stream, first_operation, count, traits_.rotation, calls());
    else
      calls()(stream, first_operation, count);
  }

  void begin(std::uint64_t first_operation, std::uint64_t count) override {
    if (input_in_place().bytes > 0) count_repetitions(first_operation, count);
    first_ = first_operation;
    count_ = count;
  }

  // A persistent kernel does all operations of a batch when the first one is called.
  void call(Stream& stream, std::uint64_t k, int) override {
    if (persistent_ && k != first_) return;
    if (way_ == Way::copies) return copy(stream, k);
    arguments_.first_operation = k;
    arguments_.operations = persistent_ ? count_ : 1;
    if (!through_host()) return launch(stream, arguments_);
    // A piece of each message at a time.
    for (std::uint64_t done = 0; done < message_bytes(); done += kFlaggedMostBytes) {
      DirectArguments piece = arguments_;
      piece.bytes = std::min(kFlaggedMostBytes, message_bytes() - done);
      piece.sources[rank()] += done;
      piece.destinations[rank()] += done;
      launch(stream, piece);
    }
  }

  Verification verify(std::uint64_t first_operation, std::uint64_t count) override {
    require_flags();
    return CollectiveMover::verify(first_operation, count);
  }
  Verification spot_check(std::uint64_t first_operation, std::uint64_t count) override {
    require_flags();
    return CollectiveMover::spot_check(first_operation, count);
  }

 private:
  // Bytes that one rank sends to one other.
  std::uint64_t message_bytes() const { return sends_all() ? flow_.size_bytes : block_bytes(); }
  bool through_host() const { return !peers_->obstacle().empty(); }
  bool sends_all() const { return flow_.word("operation") == "allreduce"; }

  DirectArguments arguments(const std::string& name) const {
    static std::atomic<std::uint64_t> generations{0};
    DirectArguments a{};
    a.bytes = message_bytes();
    a.source_stride = name == "reduce-scatter" || name == "alltoall" ? block_bytes() : 0;
    a.destination_stride = adds_ ? 0 : block_bytes();
    a.slots = traits_.rotation;
    a.slot_stride = round_up(flow_.size_bytes, kSlotAlignment);
    a.patience_ns = kPatienceNs;
    a.generation = ++generations;
    a.failure = failure_;
    a.ranks = static_cast<unsigned>(ranks().size());
    a.rank = static_cast<unsigned>(rank());
    a.adds = adds_ ? 1 : 0;
    a.element_bytes = static_cast<unsigned>(element_bytes());
    a.stage = kDirectBegin;
    // One word for each thread, as long as there are blocks enough.
    const bool one_each = flagged_words() <= std::uint64_t{kFlaggedMostBlocks} * kDirectThreads;
    a.block_words = one_each ? kDirectThreads : kFlaggedBlockWords;
    a.operations = 1;
    // Blocks of whole vectors.
    if (way_ == Way::two_shot)
      a.source_stride = round_up((flow_.size_bytes + a.ranks - 1) / a.ranks, kAccessBytes);
    return a;
  }

  // Of a message, or of the largest of its pieces.
  std::uint64_t flagged_words() const { return words_in(std::min(message_bytes(), kFlaggedMostBytes)); }

  LaunchShape shape() const {
    for (const char* option : {"blocks", "threads"})
      if ((way_ == Way::flagged || way_ == Way::copies) && flow_.number(option) != 0)
        throw Unsupported(flow_.interface, option, "it is of kernels of protocol Simple", executor().name());
    const unsigned most = resident();
    if (way_ == Way::copies) return {1, kDirectWarp, 0};
    if (way_ == Way::flagged) {
      const std::uint64_t words = flagged_words();
      const auto blocks =
          static_cast<unsigned>((words + arguments_.block_words - 1) / arguments_.block_words);
      require_resident(blocks, most);
      const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(words, kDirectThreads));
      return {blocks, static_cast<unsigned>(round_up(wanted, kDirectWarp)), 0};
    }
    const unsigned threads = flow_.count("threads", kDirectThreads, kDirectThreads);
    if (threads % kDirectWarp != 0 || threads > kernel_.info.max_threads)
      throw Unsupported(flow_.interface, "threads",
                        "a block has whole warps, up to " + std::to_string(kDirectThreads) + " threads",
                        executor().name(), failure_->rank);
    const std::uint64_t moved = way_ == Way::two_shot ? arguments_.source_stride : message_bytes();
    const std::uint64_t tile = std::uint64_t{threads} * kAccessBytes;  // one vector for each thread
    const auto processors = static_cast<unsigned>(std::max(1, executor().info.multiprocessors));
    const auto useful = static_cast<unsigned>(std::clamp<std::uint64_t>(
        (moved + tile - 1) / tile, 1, std::min(most, processors * kBlocksOfMultiprocessor)));
    const unsigned blocks = flow_.count("blocks", useful);
    require_resident(blocks, most);
    return {blocks, threads, 0};
  }

  // Blocks that run at once, beside those of other ranks on this GPU: each waits for blocks of other ranks,
  // which must have started.
  unsigned resident() const {
    const auto processors = static_cast<unsigned>(std::max(1, executor().info.multiprocessors));
    const unsigned all = processors * std::max(1u, kernel_.info.blocks_per_multiprocessor);
    return std::max(1u, std::min(all / peers_->ranks_of_device(), kDirectMostBlocks));
  }
  void require_resident(unsigned blocks, unsigned most) const {
    if (blocks <= most) return;
    throw Unsupported(flow_.interface, "blocks",
                      std::to_string(blocks) + " blocks wait for each other, and " + std::to_string(most) +
                          " can be resident at once",
                      executor().name());
  }

  std::uint64_t entries() const {
    // Of copies: two launches and one event, and for each rank a copy, or an event to wait for.
    if (way_ == Way::copies) return 3 + static_cast<std::uint64_t>(ranks().size());
    return through_host() ? (message_bytes() + kFlaggedMostBytes - 1) / kFlaggedMostBytes : 1;
  }

  void describe(const std::string& name) {
    const char* by = way_ == Way::copies ? "" : "a kernel that this process launched: ";
    const char* submit = persistent_ ? ", a batch by one launch" : submission_->graph() ? ", as a graph" : "";
    traits_.engine = "kernel";
    if (way_ == Way::copies) find_engine();
    note_evidence(by + name + ", " + words_of(way_) + ", among " + launched(flow_) +
                  (in_place() ? ", in place" : "") + submit + engine_rule_ +
                  (through_host() ? ", through host memory: " + peers_->obstacle() : ""));
  }

  // Copies of several ranks wait for each other, so that a probe cannot hold some of their GPUs.
  void find_engine() {
    traits_.engine = "unknown";
    engine_rule_ = "; the engine of the copies was not observed";
    const Offer<EngineChoice>& choice = executor().runtime->capability<EngineChoice>();
    if (!choice) return;
    const int other = executor().ordinal == 0 ? 1 : 0;
    const CopyRule rule = choice->rule({executor().ordinal, other, false}, message_bytes());
    if (rule.engine.empty()) return;
    traits_.engine = rule.engine;
    engine_rule_ = "; the engine by rule (" + rule.rule + ")";
  }

  void launch(Stream& stream, const DirectArguments& arguments) const {
    executor().runtime->launch(executor().ordinal, kernel_, traits_.shape, &arguments, sizeof arguments,
                               stream);
  }

  // Each rank copies its messages into the destinations of all ranks, the next rank's first: to each rank in
  // a queue of its own, or in a graph one after another.
  void copy(Stream& stream, std::uint64_t k) {
    Runtime& runtime = *executor().runtime;
    const std::uint64_t slot = k % arguments_.slots * arguments_.slot_stride;
    arguments_.stage = kDirectBegin;
    launch(stream, arguments_);
    if (!lanes_.empty()) runtime.record(*forked_, stream);
    for (unsigned step = 1; step <= arguments_.ranks; ++step) {
      const unsigned other = (arguments_.rank + step) % arguments_.ranks;
      const char* from = arguments_.sources[arguments_.rank] + slot + other * arguments_.source_stride;
      char* to = arguments_.destinations[other] + slot + arguments_.rank * arguments_.destination_stride;
      Lane* const lane = step <= lanes_.size() ? &lanes_[step - 1] : nullptr;
      if (lane != nullptr) runtime.wait(*lane->stream, *forked_);
      if (to != from) runtime.copy(to, from, arguments_.bytes, lane != nullptr ? *lane->stream : stream);
      if (lane != nullptr) runtime.record(*lane->ended, *lane->stream);
    }
    for (Lane& lane : lanes_) runtime.wait(stream, *lane.ended);
    arguments_.stage = kDirectEnd;
    launch(stream, arguments_);
  }

  void make_lanes() {
    if (way_ != Way::copies || submission_->graph()) return;
    if (flow_.word("launch") == "single" && message_bytes() < kLaneLeastBytes) return;
    Runtime& runtime = *executor().runtime;
    forked_ = runtime.create_event(executor().ordinal);
    for (int other = 1; other < ranks().size(); ++other)
      lanes_.push_back({runtime.create_stream(executor().ordinal), runtime.create_event(executor().ordinal)});
  }

  Submission::Calls calls() {
    return [this](Stream& stream, std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t k = first; k < first + count; ++k) call(stream, k, 0);
    };
  }

  bool gave_up() const {
    return failure_ != nullptr && std::atomic_ref(failure_->generation).load() == arguments_.generation;
  }
  // Throws Error if a flag did not come to a kernel of this rank.
  void require_flags() const {
    if (!gave_up()) return;
    static const char* const stages[] = {"the beginning", "the end", "a word"};
    const auto stage = std::min<unsigned long long>(failure_->stage, kDirectStages);
    throw Error("direct", "no flag",
                "rank " + std::to_string(rank()) + " waited " + std::to_string(kPatienceNs / 1'000'000'000) +
                    " s for the flag of rank " + std::to_string(failure_->rank) + " at " + stages[stage] +
                    " of operation " + std::to_string(failure_->epoch) + ", gave up, and released its GPU",
                executor().name());
  }

  struct Lane {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Event> ended;
  };

  PeerCommunicator* peers_;
  const bool adds_, gathers_;
  Way way_ = Way::flagged;
  bool persistent_ = false;
  std::optional<Submission> submission_;
  PreparedKernel kernel_;
  DirectArguments arguments_{};
  DirectFailure* failure_ = nullptr;
  std::vector<PeerBuffers> buffers_;
  std::unique_ptr<Event> forked_;
  std::vector<Lane> lanes_;  // for copies to other ranks
  std::string engine_rule_;
  std::uint64_t first_ = 0, count_ = 0;  // operations of the batch
};

std::unique_ptr<DirectMover> make_unconnected(Session& session, const Flow& flow) {
  return std::make_unique<DirectMover>(session, flow, flow.word("operation"));
}

// What fails on this rank alone is told to all: none of them waits.
std::unique_ptr<Mover> make_rank(Session& session, const Flow& flow) {
  PeerCommunicator& peers = require_peers(flow);
  std::unique_ptr<DirectMover> mover;
  std::vector<Buffer*> mine;
  std::exception_ptr failure;
  std::string text;
  try {
    mover = make_unconnected(session, flow);
    mine = shared_buffers(flow);
  } catch (const Error& error) {
    failure = std::current_exception();
    text = error.what();
  }
  try {
    std::vector<PeerBuffers> buffers = peers.share(mine, text);
    mover->connect(std::move(buffers));
  } catch (const Error&) {
    if (failure) std::rethrow_exception(failure);
    throw;
  }
  return mover;
}

std::unique_ptr<Mover> make_direct(Session& session, const Flow& flow) {
  if (flow.others.empty()) return make_rank(session, flow);
  std::vector<std::vector<Buffer*>> all = {shared_buffers(flow)};
  for (const Flow& other : flow.others) all.push_back(shared_buffers(other));
  return std::make_unique<SingleThreadMover>(session, flow, [&](Session& in, const Flow& of_rank) {
    auto mover = make_unconnected(in, of_rank);
    mover->connect(require_peers(of_rank).share_here(all));
    return std::unique_ptr<Mover>(std::move(mover));
  });
}

const gpu::RegisterKernels<DirectArguments> kFlaggedKernel("interfaces/direct/flagged.cu",
                                                           {"direct_flagged"});
const gpu::RegisterKernels<DirectArguments> kDirectKernels("interfaces/direct/kernel.cu",
                                                           {"direct_pull", "direct_pull_in_place",
                                                            "direct_two_shot", "direct_barrier"});
const RegisterInterface kDirect("direct", make_direct);

}  // namespace
}  // namespace byteways
