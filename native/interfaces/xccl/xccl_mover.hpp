// Base of the movers of NCCL and RCCL: one rank's calls, as they are or as a graph recorded in advance.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "interfaces/rank_calls.hpp"
#include "interfaces/rank_mover.hpp"
#include "interfaces/submission.hpp"
#include "runtimes/xccl/xccl.hpp"

namespace byteways {

// Throws Unsupported when the flow has no communicator of NCCL or RCCL.
XcclCommunicator& require_xccl(const Flow& flow);
// "4 GPUs, one process each"; "one thread each"; "one thread for all".
std::string launched(const Flow& flow);

// `Base`: RankMover, or CollectiveMover.
template <class Base>
class XcclMover : public Base, public RankCalls {
 public:
  void make_ready(std::uint64_t first_operation, std::uint64_t count) override {
    if (submission_.graph())
      submission_.record(this->executor(), first_operation, count, this->traits_.rotation, calls());
  }
  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    begin(first_operation, count);
    if (submission_.graph())
      submission_.launch(this->executor(), stream, first_operation, count, this->traits_.rotation, calls());
    else
      calls()(stream, first_operation, count);
  }
  void begin(std::uint64_t first_operation, std::uint64_t count) override {
    if (this->input_in_place().bytes > 0) this->count_repetitions(first_operation, count);
  }
  void together(const std::function<void()>& calls) override { xccl_->group(calls); }

 protected:
  template <class... Further>
  explicit XcclMover(Session& session, const Flow& flow, Further&&... further)
      : Base(session, flow, std::forward<Further>(further)...),
        xccl_(&require_xccl(flow)),
        submission_(flow),
        awaits_each_(this->traits_.loop.iterations != 0) {
    this->traits_.synchronous = false;
    this->traits_.engine = "xccl";
    const bool as_window = flow.interface == "xccl-put" || flow.word("registration", "buffer") == "window";
    for (const Buffer* buffer : {flow.source, flow.destination})
      if (buffer != nullptr && buffer->allocation().memory() == Memory::xccl)
        registered_.push_back(as_window ? xccl_->window(*buffer) : xccl_->registered(*buffer));
    if (!registered_.empty()) registration_ = as_window ? ", in symmetric windows" : ", registered memory";
  }
  void describe(const std::string& what) {
    this->note_evidence(xccl_->library_name() + ": " + what + (submission_.graph() ? ", as a graph" : "") +
                        registration_);
    this->traits_.evidence.library = xccl_->library().kind();
    this->traits_.evidence.library_version = xccl_->library().report().version;
  }

  // Those of this rank's buffers, in the order source, destination.
  const std::vector<std::shared_ptr<void>>& registered() const { return registered_; }

  XcclCommunicator* xccl_;

 private:
  Submission::Calls calls() {
    return [this](Stream& stream, std::uint64_t first, std::uint64_t count) {
      for (std::uint64_t k = first; k < first + count; ++k)
        for (int step = 0; step < this->steps(); ++step) {
          this->call(stream, k, step);
          if (awaits_each_) this->executor().runtime->synchronize(stream);
        }
    };
  }
  std::string registration_;                       // for the evidence
  std::vector<std::shared_ptr<void>> registered_;  // outlives what was recorded
  Submission submission_;
  const bool awaits_each_;  // as the osu_xccl programs do: also between the two messages of a ping-pong
};

}  // namespace byteways
