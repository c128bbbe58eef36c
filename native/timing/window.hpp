// Several lanes at once. Every lane starts behind one gate and leaves time marks as it goes; all marks are
// brought onto one timeline (the host's clock, to which an anchor event ties each device), and rates are
// taken from the window in which every lane was running.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "timing/lanes.hpp"

namespace byteways {

// Share of the shortest lane in which all lanes must have run, or they ran one after another, if in part
// only. On 4 x H200, copies that wait for each other's engine came to 0.51 at most, flows that share links to
// 0.89 or more.
inline constexpr double kSerialisedBelow = 0.75;

// What one lane did in one run, in ns on the common timeline.
struct Trace {
  double released = 0;        // when the gate let it go
  std::vector<double> marks;  // when operations[k] operations were done
  std::vector<std::uint64_t> operations;
  double end() const { return marks.back(); }
  // When its first operation began if that took as long as the later ones did: never before it was released,
  // and later where its queue first stood behind another's operations.
  double running_from() const;
  // Operations done by time t, linear between marks.
  double progress(double t) const;
};

struct WindowSample {
  // In bytes/s, or in operations/s of lanes that move none.
  std::vector<double> rates;        // of each lane in the common window
  std::vector<double> whole_rates;  // of each lane from the first start to the last end
  std::vector<double> own_rates;    // of each lane from its first mark to its end
  std::vector<double> skews;        // ns from the first lane's start
  double window_ns = 0;             // 0 when there was none
  bool marked = true;               // every lane left two marks, without which there is no window
  double end_to_end_ns = 0;
  double overlap = 0;  // share of the shortest lane in which all lanes were running
};

// The window opens when the last lane has its first mark and closes when the first lane ends. A lane counts
// as running from its first mark, not from its release: its queue may have stood behind another's operations.
// Both edges then are marks of some lane, so that lanes which take turns are cut at the same point of their
// turn at both ends, and what interpolation credits too much at one edge it takes back at the other.
// Where that is too short the rates are those of the whole run; with `interference`, where what disturbs is
// meant to go on longer, of each lane's own time.
// `units` is what an operation of each lane counts: its bytes, or 1. The window is cut back to marks of the
// lane `cut_at` (-1: none), so that no step of a walk is counted that went on when the others had ended.
WindowSample evaluate(const std::vector<Trace>& traces, const std::vector<std::uint64_t>& units,
                      bool interference, int cut_at = -1);

class WindowSampler final : public Sampler {
 public:
  WindowSampler(Session& session, std::vector<Lane>& lanes, Gate* gate, const MeasureOptions& options);
  void warm_up() override;
  double sample() override;
  std::uint64_t operations(const Lane& lane) const override;
  bool double_batch() override;

  const std::vector<WindowSample>& samples() const { return samples_; }
  void forget() { samples_.clear(); }
  double alignment_ns() const { return alignment_ns_; }

 private:
  struct Anchor {
    std::unique_ptr<Event> event;
    double host_ns = 0;
  };
  using Place = std::pair<Runtime*, int>;

  std::vector<Trace> run();
  void enqueue_lane(std::size_t index, std::vector<double>& host_marks);
  void run_gated();
  std::vector<std::vector<double>> run_threads();
  void anchor();
  void balance(double window_ns);
  void outlast(const std::vector<Trace>& traces);
  double stretch_of(std::size_t index) const;
  std::uint64_t marks_of(std::size_t index) const;
  std::uint64_t most_operations(const Lane& lane) const;
  double window_wanted() const;

  Session* session_;
  std::vector<Lane>* lanes_;
  Gate* gate_;
  const MeasureOptions* options_;
  std::map<Place, Anchor> anchors_;
  std::vector<std::uint64_t> counts_;
  std::vector<double> reach_;  // of disturbers: how much longer than planned they have to go on
  std::vector<WindowSample> samples_;
  double alignment_ns_ = 0;
  double stretch_ = 1;
};

}  // namespace byteways
