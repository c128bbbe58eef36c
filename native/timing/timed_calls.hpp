// Operations that another library enqueues and times itself, such as copies by PyTorch: measured by the same
// rules of batches, slope, warm-up, stopping and doubts as those of a runtime.
#pragma once
#include <cstdint>
#include <functional>

#include "timing/measure.hpp"

namespace byteways {

struct TimedCalls {
  std::function<double(std::uint64_t)> time_ns;  // runs so many operations on the device; by its events
  std::function<void(std::uint64_t)> spoil;      // the data of the next operations: one left out shows
  std::function<Verification()> check;           // of all that was moved since the last call
  std::function<bool()> gated;        // whether all batches since the last call were enqueued before they ran
  std::uint64_t bytes = 0;            // of an operation
  std::uint64_t most_operations = 1;  // of a batch
};

// Measures what the functions do. They are called on this thread, one after the other.
Measurement measure_calls(const TimedCalls& calls, const MeasureOptions& options);

}  // namespace byteways
