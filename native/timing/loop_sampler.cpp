// See loop_sampler.hpp.
#include "timing/loop_sampler.hpp"

#include <vector>

#include "timing/measure.hpp"

namespace byteways {

LoopSampler::LoopSampler(Session& session, FlowRunner& runner, const MeasureOptions& options, Team& team)
    : Sampler(team),
      session_(&session),
      runner_(&runner),
      options_(&options),
      loop_(runner.mover->traits().loop),
      has_clock_(loop_.mean_of_ranks || team.rank() == 0) {
  gated_ = false;
  batch_ = loop_.iterations * loop_.operations;
}

// The loop has iterations of its own that warm up.
void LoopSampler::warm_up() { learn_flow(*session_, *runner_, nullptr, *options_, *team_); }

double LoopSampler::iterate() {
  const auto run = [this] {
    runner_->enqueue(loop_.operations);
    if (!runner_->blocks()) runner_->runtime().synchronize(*runner_->stream);
  };
  if (!has_clock_) {
    run();
    return 0;
  }
  const Nanoseconds begin = session_->clock().now();
  run();
  return static_cast<double>(session_->clock().now() - begin);
}

Sample LoopSampler::sample() {
  runner_->mover->meet();
  double timed_ns = 0;
  Nanoseconds begin = session_->clock().now();
  for (std::uint64_t k = 0; k < loop_.skipped + loop_.iterations; ++k) {
    if (loop_.meet == Meet::before_each_iteration) runner_->mover->meet();
    if (k == loop_.skipped) begin = session_->clock().now();
    const double took_ns = iterate();
    if (k >= loop_.skipped) timed_ns += took_ns;
    if (loop_.meet == Meet::after_each_iteration) runner_->mover->meet();
  }
  const auto lasted_ns = static_cast<double>(session_->clock().now() - begin);
  const auto count = static_cast<double>(batch_);
  const std::vector<std::vector<double>> all =
      team_->gather("times of a loop",
                    {timed_ns / count, static_cast<double>(begin) - options_->clock_offset_ns, lasted_ns});
  std::vector<Presence> ranks;
  double sum_ns = 0;
  for (const std::vector<double>& rank : all) {
    sum_ns += rank[0];
    ranks.push_back({rank[1], rank[1] + rank[2], loop_.mean_of_ranks ? rank[0] : 0});
  }
  if (team_->size() > 1) skew_.note(ranks);
  Sample sample;
  sample.time_ns = loop_.mean_of_ranks ? sum_ns / static_cast<double>(all.size()) : all.front()[0];
  sample.times.host_ns = sample.time_ns;
  return sample;
}

std::uint64_t LoopSampler::operations(const FlowRunner&) const {
  return (loop_.skipped + loop_.iterations) * loop_.operations;
}

double LoopSampler::resolution_ns() const {
  return session_->host().timer_resolution_ns(0) / static_cast<double>(batch_);
}

}  // namespace byteways
