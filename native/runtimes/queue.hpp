// The queue part of a runtime: streams, events, copies, kernels and the times between events. What only some
// runtimes can enqueue is a capability (capabilities.hpp).
#pragma once
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

// The shapes that suit a kernel on one device.
struct KernelInfo {
  unsigned max_threads = 0;
  unsigned blocks_per_multiprocessor = 0;  // resident, at 0 dynamic shared memory and max_threads
  unsigned max_shared_bytes = 0;
};

// A kernel that was looked for and loaded once, so that its launches look for nothing.
struct PreparedKernel {
  std::string_view name;  // outlives it
  std::size_t argument_bytes = 0;
  const void* handle = nullptr;  // what the runtime launches
  KernelInfo info;
};

class QueueInterface {
 public:
  // All of these enqueue and return, but for calls that the vendor makes blocking.
  virtual std::unique_ptr<Stream> create_stream(int device) = 0;
  virtual std::unique_ptr<Event> create_event(int device) = 0;
  virtual void record(Event& event, Stream& stream) = 0;
  virtual void wait(Stream& stream, Event& event) = 0;
  virtual void copy(void* destination, const void* source, std::uint64_t bytes, Stream& stream) = 0;
  // Loads (compiles, caches) the kernel before it is needed inside a timed region. Thread-safe. Throws
  // Unsupported where the kernel cannot be had.
  virtual PreparedKernel prepare(int device, std::string_view kernel) = 0;
  // `arguments` points to the kernel's one argument block (kernels/arguments.hpp), copied before return.
  virtual void launch(int device, const PreparedKernel& kernel, const LaunchShape& shape,
                      const void* arguments, std::size_t argument_bytes, Stream& stream) = 0;

  virtual bool finished(Event& event) = 0;
  virtual void synchronize(Event& event) = 0;
  virtual void synchronize(Stream& stream) = 0;
  virtual double elapsed_ns(Event& begin, Event& end) = 0;  // both finished, both of one device
  virtual double timer_resolution_ns(int device) = 0;  // smallest step elapsed_ns() was seen to make, 0: none
  virtual unsigned queue_depth(int device) = 0;        // operations that may be enqueued unstarted

  // What prepare() finds, for those who do not launch.
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
