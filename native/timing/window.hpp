// Several lanes at once. Every lane starts behind one gate and leaves time marks as it goes; all marks are
// brought onto one timeline (the host's clock, to which an anchor event ties each device), and rates are
// taken from the window in which every lane was running.
#pragma once
#include <map>
#include <utility>
#include <vector>

#include "timing/lanes.hpp"

namespace byteways {

// What one lane did in one run, in ns on the common timeline.
struct Trace {
  double released = 0;        // when the gate let it go
  double start = 0;           // when its first operation began: find_start()
  std::vector<double> marks;  // when operations[k] operations were done
  std::vector<std::uint64_t> operations;
  double end() const { return marks.back(); }
  // Operations done by time t, linear between marks.
  double progress(double t) const;
  // A queue that waits for another's operations is not running, though it has been released: it began before
  // its first mark by what it takes to get there, alone (`operation_ns` each) or, when that is longer, at the
  // pace of its next operations.
  void find_start(double operation_ns);
};

struct WindowSample {
  std::vector<double> rates;        // bytes/s of each lane in the common window
  std::vector<double> whole_rates;  // bytes/s of each lane from the first start to the last end
  std::vector<double> own_rates;    // bytes/s of each lane over its own duration
  std::vector<double> skews;        // ns from the first lane's start
  double window_ns = 0;             // <= 0 when there was none
  double whole_ns = 0;
  double overlap = 0;  // window over the shortest lane
};

WindowSample evaluate(const std::vector<Trace>& traces,
                      const std::vector<std::uint64_t>& bytes_per_operation);

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
  void balance(double window_ns, const std::vector<double>& operations_per_ns);
  std::uint64_t most_operations(const Lane& lane) const;
  double window_wanted() const;

  Session* session_;
  std::vector<Lane>* lanes_;
  Gate* gate_;
  const MeasureOptions* options_;
  std::map<Place, Anchor> anchors_;
  std::vector<std::uint64_t> counts_;
  std::vector<WindowSample> samples_;
  double alignment_ns_ = 0;
  double stretch_ = 1;
};

}  // namespace byteways
