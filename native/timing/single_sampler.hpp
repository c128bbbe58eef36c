// One flow alone: batches timed by events around them, or by the host's clock.
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
  void time_calls(Batch& batch);
  void time_round_trips(Batch& batch);
  // What is the figure of it: the device's time, or the host's where that is the clock.
  double figure_ns(const Batch& batch) const;
  // Of a new batch, on the slowest rank.
  double figure_of(std::uint64_t count);
  // The times of the slowest rank in place of this one's.
  Batch slowest(Batch batch) const;
  bool counts_submission() const;
  void choose_batch();
  void grow_batch(std::uint64_t most);
  bool gate_may_slow() const;
  std::uint64_t most_operations() const;

  Session* session_;
  FlowRunner* runner_;
  Gate* gate_;
  const MeasureOptions* options_;
  std::uint64_t repeats_ = 1;  // batches of one sample
};

}  // namespace byteways
