// Traces of concurrent flows on one timeline, and their rates while all of them ran.
#pragma once
#include <cstdint>
#include <vector>

namespace byteways {

// Trace of one flow in one run, in ns on the common timeline.
struct Trace {
  double released = 0;        // when the gate released it
  std::vector<double> marks;  // when operations[k] operations were done
  std::vector<std::uint64_t> operations;
  double end() const { return marks.back(); }
  // Returns the start of the first operation, assuming that it took as long as later ones: not before the
  // release, and later if its queue first waited for another queue's operations.
  double running_from() const;
  // Returns the number of operations done at time t, linear between marks.
  double progress(double t) const;
};

struct WindowSample {
  // In bytes/s, or in operations/s for flows that move no bytes.
  std::vector<double> rates;        // per flow, in the common window
  std::vector<double> whole_rates;  // per flow, from the first start to the last end
  std::vector<double> own_rates;    // per flow, from its first mark to its end
  std::vector<double> skews;        // per flow, ns after the first flow's start
  double window_ns = 0;             // 0: no common window
  bool marked = true;               // every flow has two marks, which a window requires
  bool together = true;             // the window was long enough; else `rates` are for the whole run
  std::uint64_t walk_marks = 2;     // marks of the flow `cut_at` within the window; below 2: not cut
  double end_to_end_ns = 0;
  double overlap = 0;  // share of the shortest flow during which all flows ran
};

// Evaluates the common window: it opens at the last flow's first mark and closes when the first flow ends. A
// flow counts as running from its first mark, not from its release, because its queue may have waited for
// another queue's operations. Both edges are marks of some flow, so serialised flows are cut at the same
// point of their turn at both ends, and the errors of interpolation at the two edges cancel.
//
// If the window is too short, the rates are those of the whole run; with `interference`, where background
// flows run longer by design, those of each flow's own time.
//
// `units`: what an operation of each flow counts, its bytes or 1. The window is cut back to marks of the flow
// `cut_at` (-1: none), so that no chase step counts that ran after the other flows had ended.
WindowSample evaluate(const std::vector<Trace>& traces, const std::vector<std::uint64_t>& units,
                      bool interference, int cut_at = -1);

// Returns the ratio of the longest to the shortest time between two marks of a flow, per operation, for the
// flow where it is largest: 1 if all run evenly. A large value means that flows are serialised, and that the
// window may cut their turns anywhere.
double unevenness(const std::vector<Trace>& traces);

}  // namespace byteways
