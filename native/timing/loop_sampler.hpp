// Sampler of a loop of fixed length (interfaces/fixed_loop.hpp). One sample is the whole loop: its iterations
// are timed one by one by the clock of the host, and their mean is the figure.
#pragma once
#include "timing/sampler.hpp"

namespace byteways {

struct MeasureOptions;

class LoopSampler final : public Sampler {
 public:
  LoopSampler(Session& session, FlowRunner& runner, const MeasureOptions& options, Team& team);
  void warm_up() override;
  Sample sample() override;
  std::uint64_t operations(const FlowRunner& runner) const override;
  bool double_batch() override { return false; }
  double resolution_ns() const override;

 private:
  // Runs one iteration; returns its time in ns if this rank has a clock, else 0.
  double iterate();

  Session* session_;
  FlowRunner* runner_;
  const MeasureOptions* options_;
  FixedLoop loop_;
  bool has_clock_;
};

}  // namespace byteways
