// Sampler of concurrent flows. All flows start behind one gate and record time marks. The marks are put on
// one timeline (the host's clock, to which an anchor event relates each device), and rates are taken from the
// window in which every flow was running.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "timing/sampler.hpp"
#include "timing/trace.hpp"

namespace byteways {

// If all flows ran together for less than this share of the shortest flow, they were serialised, at least in
// part. On 4 x H200, copies that wait for each other's engine reached 0.51 at most, flows that share links
// 0.89 or more.
inline constexpr double kSerialisedBelow = 0.75;

// Required operations of the shortest flow. Serialised flows are cut somewhere in a turn at both ends of the
// window: with 4 operations this changed sums by 5 % (median) and 17 % (90th percentile), with 16 by about 1
// %.
inline constexpr std::uint64_t kEnoughOperations = 16;

struct KnownFlow;

class WindowSampler final : public Sampler {
 public:
  WindowSampler(Session& session, std::vector<FlowRunner>& runners, Gate* gate, const MeasureOptions& options,
                Team& team, KnownFlow* known = nullptr);
  void warm_up() override;
  Sample sample() override;
  std::uint64_t operations(const FlowRunner& runner) const override;
  bool double_batch() override;
  double resolution_ns() const override { return 0; }  // times are sums over many marks

  double alignment_ns() const { return alignment_ns_; }

 private:
  struct Anchor {
    std::unique_ptr<Event> event;
    double host_ns = 0;
  };
  using Place = std::pair<Runtime*, int>;

  // One run of all flows, each with its operations.
  struct Run {
    std::vector<Trace> traces;
    Times times;  // of the whole run
    bool gate_opened = false;
  };
  Run run();
  bool held_back() const;
  void make_marks();
  void enqueue_flow(std::size_t index, std::vector<double>& host_marks);
  // Returns the time that this rank waited for the others, in ns.
  double run_gated(Run& done);
  void agree_on(Run& done);
  Trace trace_of(std::size_t index, const std::vector<double>& host_marks);
  std::vector<std::vector<double>> run_threads();
  void anchor();
  void balance(double window_ns);
  void outlast(const std::vector<Trace>& traces);
  bool lasting(double before_ns, double now_ns) const;
  std::uint64_t least_operations(double operation_ns) const;
  double stretch_of(std::size_t index) const;
  std::uint64_t marks_of(std::size_t index) const;
  std::uint64_t most_operations(const FlowRunner& runner) const;
  double window_wanted() const;

  Session* session_;
  std::vector<FlowRunner>* runners_;
  Gate* gate_;
  const MeasureOptions* options_;
  KnownFlow* known_;  // of these flows together; null: nothing is kept
  std::map<Place, Anchor> anchors_;
  std::vector<std::uint64_t> counts_;
  std::vector<double> reach_;  // per background flow: factor by which it must run longer than planned
  double alignment_ns_ = 0;
  double stretch_ = 1;
};

}  // namespace byteways
