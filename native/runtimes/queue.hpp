// The queue part of a runtime: streams, events, copies, kernels and the times between events. Optional
// functions are capabilities (capabilities.hpp).
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/availability.hpp"
#include "core/error.hpp"

namespace byteways {

// Streams and events belong to one device of one runtime and are destroyed by their owner.
class Stream {
 public:
  virtual ~Stream() = default;
  // For libraries that enqueue on it themselves: makes its device current for this thread and returns the
  // vendor's handle. nullptr: the runtime has none.
  virtual void* lend() const { return nullptr; }
};
class Event {
 public:
  virtual ~Event() = default;
};

struct LaunchShape {
  unsigned blocks = 1;   // host: threads of the team
  unsigned threads = 1;  // per block; host: 1
  unsigned shared_bytes = 0;
};

// Launch limits of a kernel on one device.
struct KernelInfo {
  unsigned max_threads = 0;
  unsigned blocks_per_multiprocessor = 0;  // resident, at 0 dynamic shared memory and max_threads
  unsigned max_shared_bytes = 0;
};

// A loaded kernel: launches need no lookup.
struct PreparedKernel {
  std::string_view name;  // outlives it
  std::size_t argument_bytes = 0;
  const void* handle = nullptr;  // what the runtime launches
  KernelInfo info;
};

// A word of the argument block that is k % `count` * `stride` in launch k: a division of 64 bits would take a
// kernel half of the time of a small copy.
struct Rotation {
  unsigned long long* word = nullptr;
  std::uint64_t count = 1, stride = 1;
};

// Number of consecutive launches, the word of the argument block that counts them from `first` on, and those
// that rotate; nullptr: none.
struct LaunchSeries {
  unsigned long long* counter = nullptr;
  std::uint64_t first = 0, count = 1;
  std::array<Rotation, 2> rotations{};

  // Sets the words for launch k of the series.
  void set(std::uint64_t k) const {
    if (counter != nullptr) *counter = first + k;
    for (const Rotation& rotation : rotations)
      if (rotation.word != nullptr) *rotation.word = (first + k) % rotation.count * rotation.stride;
  }
};

// Consecutive copies, numbered from `first` on: copy k uses slot k % slots on both sides.
struct CopySeries {
  void* destination;
  const void* source;
  std::uint64_t bytes;
  std::uint64_t slots = 1, stride_bytes = 0;
  std::uint64_t first = 0, count = 1;
};

class QueueInterface {
 public:
  // These functions enqueue and return, except where the vendor call blocks.
  virtual std::unique_ptr<Stream> create_stream(int device) = 0;
  virtual std::unique_ptr<Event> create_event(int device) = 0;
  virtual void record(Event& event, Stream& stream) = 0;
  virtual void wait(Stream& stream, Event& event) = 0;
  // One driver call per copy, and nothing between them.
  virtual void copy_series(const CopySeries& copies, Stream& stream) = 0;
  // The same with calls that set each byte of the destination.
  virtual void set_series(const CopySeries&, unsigned char, Stream&) {
    throw Unsupported("memset", "unavailable", "this runtime has no call that sets bytes");
  }
  // Loads (compiles, caches) the kernel before it is needed inside a timed region. Thread-safe. Throws
  // Unsupported if the kernel is not available.
  virtual PreparedKernel prepare(int device, std::string_view kernel) = 0;
  // One driver call per launch, and nothing between them. `arguments` points to the kernel's argument block
  // (interfaces/*/arguments.hpp), which each launch copies.
  virtual void launch_series(const PreparedKernel& kernel, const LaunchShape& shape, const void* arguments,
                             std::size_t argument_bytes, const LaunchSeries& series, Stream& stream) = 0;

  // Whether an event after a kernel also says that its stores to another device's memory have arrived there.
  // If not, kernels with such stores end by a fence.
  virtual bool stores_arrive_by_kernel_end() const { return true; }

  virtual bool finished(Event& event) = 0;
  virtual void synchronize(Event& event) = 0;
  virtual void synchronize(Stream& stream) = 0;
  virtual double elapsed_ns(Event& begin, Event& end) = 0;  // both finished, both of one device
  virtual double timer_resolution_ns(int device) = 0;       // smallest observed step of elapsed_ns(), 0: none
  virtual unsigned queue_depth(int device) = 0;             // operations that may be enqueued unstarted

  void copy(void* destination, const void* source, std::uint64_t bytes, Stream& stream) {
    copy_series({destination, source, bytes}, stream);
  }
  void launch(int, const PreparedKernel& kernel, const LaunchShape& shape, const void* arguments,
              std::size_t argument_bytes, Stream& stream) {
    launch_series(kernel, shape, arguments, argument_bytes, {}, stream);
  }
  // Returns the launch limits without preparing a launch.
  KernelInfo kernel_info(int device, std::string_view kernel) { return prepare(device, kernel).info; }
  Availability offers_kernel(int device, std::string_view kernel) {
    try {
      prepare(device, kernel);
      return {true, {}};
    } catch (const Unsupported& error) {
      return {false, error.text()};
    }
  }

 protected:
  ~QueueInterface() = default;
};

}  // namespace byteways
