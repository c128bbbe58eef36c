// Sampler of a single flow: batches timed by events around them, or by the host's clock.
#pragma once
#include "timing/sampler.hpp"

namespace byteways {

class SingleSampler final : public Sampler {
 public:
  SingleSampler(Session& session, FlowRunner& runner, Gate* gate, const MeasureOptions& options, Team& team);
  void warm_up() override;
  Sample sample() override;
  std::uint64_t operations(const FlowRunner& runner) const override;
  bool double_batch() override;
  double resolution_ns() const override;

 private:
  Batch time_batch(std::uint64_t count);
  Batch time_batches(std::uint64_t count);
  bool gate_slows();
  bool clocks_may_rise(Nanoseconds began) const;
  void time_calls(Batch& batch);
  void time_round_trips(Batch& batch);
  // Returns the time of the batch by the selected clock: the device's or the host's.
  double figure_ns(const Batch& batch) const;
  // Runs a new batch and returns its time on the slowest rank.
  double figure_of(std::uint64_t count);
  // Replaces the times of this rank by those of the slowest rank, and `doubtful` by whether any rank says so.
  // Notes when each rank began and ended.
  Batch slowest(Batch batch, bool& doubtful);
  bool counts_submission() const;
  // Finds out how the flow completes and how long a batch has to be.
  void learn();
  // Takes over what an earlier warm-up of the session found out. Returns false if there is none, or if its
  // batch is too short now. `now_ns` receives the time of one batch.
  bool takes_over(double& now_ns);
  void keep(double batch_ns);
  void choose_batch();
  void grow_batch(std::uint64_t most);
  bool gate_may_slow() const;
  std::uint64_t most_operations() const;

  Session* session_;
  FlowRunner* runner_;
  Gate* gate_;
  const MeasureOptions* options_;
  std::uint64_t repeats_ = 1;  // batches per sample
  double wanted_ns_ = 0;       // least time of a batch; 0: none by itself
  Slopes slopes_;              // of batches of the present length
};

}  // namespace byteways
