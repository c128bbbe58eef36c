// What flows did in one run, brought onto one timeline, and the rates that they had in the time in which all
// of them ran.
#pragma once
#include <cstdint>
#include <vector>

namespace byteways {

// What one flow did in one run, in ns on the common timeline.
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
  // In bytes/s, or in operations/s of flows that move none.
  std::vector<double> rates;        // of each flow in the common window
  std::vector<double> whole_rates;  // of each flow from the first start to the last end
  std::vector<double> own_rates;    // of each flow from its first mark to its end
  std::vector<double> skews;        // ns from the first flow's start
  double window_ns = 0;             // 0 when there was none
  bool marked = true;               // every flow left two marks, without which there is no window
  bool together = true;             // the window was long enough; else `rates` are of the whole run
  std::uint64_t walk_marks = 2;     // of the flow to cut at, within the window; below 2 nothing was cut
  double end_to_end_ns = 0;
  double overlap = 0;  // share of the shortest flow in which all flows were running
};

// The window opens when the last flow has its first mark and closes when the first flow ends. A flow counts
// as running from its first mark, not from its release: its queue may have stood behind another's operations.
// Both edges then are marks of some flow, so that flows which take turns are cut at the same point of their
// turn at both ends, and what interpolation credits too much at one edge it takes back at the other.
// Where that is too short the rates are those of the whole run; with `interference`, where what disturbs is
// meant to go on longer, of each flow's own time.
// `units` is what an operation of each flow counts: its bytes, or 1. The window is cut back to marks of the
// flow `cut_at` (-1: none), so that no step of a walk is counted that went on when the others had ended.
WindowSample evaluate(const std::vector<Trace>& traces, const std::vector<std::uint64_t>& units,
                      bool interference, int cut_at = -1);

// How far the longest time between two marks of a flow exceeds its shortest, per operation, of the flow where
// that is most: 1 where all go on evenly. What takes turns is cut somewhere in a turn at both edges.
double unevenness(const std::vector<Trace>& traces);

}  // namespace byteways
