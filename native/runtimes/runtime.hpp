// The neutral runtime interface: what a measurement may ask of a machine, whoever made it.
//
// The host is a runtime like any other: a device is a NUMA domain, a stream is a thread bound to it, a kernel
// is a host function of the same name. No code above this file names a vendor or reads another clock, so a
// simulated machine only has to implement this interface (or the vendor functions below it).
//
// Threading: one thread at a time may use a stream; threads may use different streams of one runtime at once.
// Errors: every call may throw Error, OutOfMemory or Unsupported.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace byteways {

using Nanoseconds = std::int64_t;

// How a buffer is allocated. Names in files and on the command line: memory_name().
enum class Memory {
  pageable,
  hugepage,
  pinned,              // cached by the GPU in no way that hides the host's stores (coherent)
  pinned_noncoherent,  // the GPU may cache it while a kernel runs
  write_combined,      // pinned; cores write it past their caches, and read it word by word
  registered,
  managed,
  managed_coarse,  // managed, and advised to be coherent at kernel boundaries only
  device,
  device_fine,      // coherent with other agents while a kernel runs
  device_uncached,  // passes the GPU's caches by
  pool,             // from a memory pool, in the order of a stream
  vmm,              // physical memory, mapped to addresses that were reserved for it
};
inline constexpr Memory kMemories[] = {
    Memory::pageable,
    Memory::hugepage,
    Memory::pinned,
    Memory::pinned_noncoherent,
    Memory::write_combined,
    Memory::registered,
    Memory::managed,
    Memory::managed_coarse,
    Memory::device,
    Memory::device_fine,
    Memory::device_uncached,
    Memory::pool,
    Memory::vmm,
};

std::string_view memory_name(Memory memory);
Memory memory_from_name(std::string_view name);  // throws Unsupported

// Pages that move between agents.
constexpr bool is_managed(Memory memory) {
  return memory == Memory::managed || memory == Memory::managed_coarse;
}
// A GPU's own memory.
constexpr bool is_device(Memory memory) {
  return memory == Memory::device || memory == Memory::device_fine || memory == Memory::device_uncached ||
         memory == Memory::pool || memory == Memory::vmm;
}
// A GPU's own memory that peer access does not cover: it is opened to each other device apart.
constexpr bool needs_grant(Memory memory) { return memory == Memory::pool || memory == Memory::vmm; }
// The operating system's ordinary pages, which no GPU runtime knows of.
constexpr bool is_plain(Memory memory) { return memory == Memory::pageable || memory == Memory::hugepage; }

struct DeviceInfo {
  std::string agent;         // "gpu0", "cpu1": filled by the session
  std::string name;          // "NVIDIA H200"
  std::string uuid;          // GPUs: "GPU-…", equal to what the vendor's tools print
  std::string pci_address;   // GPUs: "0000:3b:00.0"
  std::string architecture;  // "sm_90", "gfx90a", "x86_64"
  int numa_domain = -1;      // host domain nearest to the device, -1 when unknown
  int multiprocessors = 0;   // SMs or CUs; host: cores this process may use
  std::uint64_t memory_bytes = 0;
  std::uint64_t last_level_cache_bytes = 0;
  std::uint64_t memory_bytes_per_s = 0;  // nominal, 0 when unknown
  int copy_engines = 0;                  // asynchronous copy engines the runtime reports
  bool pageable_access = false;          // kernels may touch plain malloc memory (HMM, ATS, XNACK)
  bool host_access = false;              // CPU threads may touch this device's memory (an APU)
};

// Owned memory; freed on destruction (which never throws).
class Allocation {
 public:
  virtual ~Allocation() = default;
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // 0 when unknown. Transparent huge pages are known after the first touch only, and are then looked up.
  virtual std::uint64_t page_bytes() const { return page_bytes_; }
  Memory memory() const { return memory_; }

 protected:
  Allocation() = default;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t page_bytes_ = 0;
  Memory memory_ = Memory::pageable;
};

// Streams and events belong to one device of one runtime and are destroyed by their owner.
class Stream {
 public:
  virtual ~Stream() = default;
};
class Event {
 public:
  virtual ~Event() = default;
};

// Operations recorded once, to be launched together.
class Recording {
 public:
  virtual ~Recording() = default;
};

// One copy of a batch.
struct CopyPiece {
  void* destination;
  const void* source;
  std::uint64_t bytes;
};

struct LaunchShape {
  unsigned blocks = 1;   // host: threads of the team
  unsigned threads = 1;  // per block; host: 1
  unsigned shared_bytes = 0;
};

// A kernel ready to launch on one device, with the shapes that suit it there.
struct KernelInfo {
  unsigned max_threads = 0;
  unsigned blocks_per_multiprocessor = 0;  // resident, at 0 dynamic shared memory and max_threads
  unsigned max_shared_bytes = 0;
};

// A kernel that was looked for and loaded once, so that its launches look for nothing. Names outlive it.
struct PreparedKernel {
  std::string_view name;
  std::size_t argument_bytes = 0;
  const void* loaded = nullptr;  // the runtime's own; nullptr where it goes by the name
};

// The two ends of a copy as its runtime counts devices; -1 is host memory.
struct CopyEnds {
  int source_device = -1, destination_device = -1;
  bool plain = false;  // either end is plain host memory
};

// Rows of `width_bytes` that lie a pitch (in bytes) apart on either side.
struct RowsCopy {
  void* destination;
  std::uint64_t destination_pitch;
  bool destination_on_host;
  const void* source;
  std::uint64_t source_pitch;
  bool source_on_host;
  std::uint64_t width_bytes, rows;
};

// What the vendor says carries a copy out: "copy-engine", "kernel", "staged", and the rule in a sentence.
// Empty when it says nothing.
struct CopyRule {
  std::string engine, rule;
};

// The copy engines that a program may choose among for a copy between two ends: bit k is engine k. None: why.
struct CopyEngines {
  std::uint32_t mask = 0;
  CopyRule rule;  // what the vendor's settings then let carry it out
  std::string reason;
};

// Whether something can be had here, and in one sentence why not.
struct Availability {
  bool available = false;
  std::string reason;
};

// Where managed pages are sent: to a device, or with `device` -1 to the host, there to a NUMA domain, or with
// `numa_domain` -1 to whichever one the driver takes.
struct PagePlace {
  int device = -1, numa_domain = -1;
};

class Runtime {
 public:
  virtual ~Runtime() = default;

  virtual std::string_view name() const = 0;      // "host", "cuda", "hip"
  virtual std::string_view timed_by() const = 0;  // what elapsed() reads: "device-events", "host-clock"
  virtual std::string version() const = 0;        // driver and runtime version, for the manifest
  virtual int device_count() const = 0;
  virtual DeviceInfo device(int device) = 0;

  // Memory. `numa_domain` places host memory (-1: leave it to first touch).
  virtual Availability offers(Memory memory, int device) = 0;
  virtual std::unique_ptr<Allocation> allocate(Memory memory, int device, std::uint64_t bytes,
                                               int numa_domain) = 0;
  // Locks plain pages and maps them: `registered` memory, which keeps them.
  virtual std::unique_ptr<Allocation> lock(std::unique_ptr<Allocation>, int) {
    throw Unsupported("lock", "registered", "no GPU's runtime is there to lock pages for");
  }
  // The pages again, no longer locked.
  virtual std::unique_ptr<Allocation> unlock(std::unique_ptr<Allocation>) {
    throw Unsupported("unlock", "registered", "no GPU's runtime is there that locked pages");
  }
  // What the device's pool may keep of what is given back to it, from now on; the rest it gives up.
  virtual void keep_in_pool(int, std::uint64_t) {
    throw Unsupported("pool", "unavailable", "this runtime has no memory pools");
  }
  // Of another process: how it names an allocation of its own, and memory here that is that allocation.
  virtual std::string handle_of(Allocation&) {
    throw Unsupported("handle", "unavailable", "this runtime has no handles for other processes");
  }
  virtual std::unique_ptr<Allocation> open_handle(const std::string&, int, std::uint64_t) {
    throw Unsupported("handle", "unavailable", "this runtime opens no handles of other processes");
  }
  // Why handles cannot be had here; empty when they can.
  virtual std::string handle_obstacle() const { return "this runtime has no handles for other processes"; }
  // Lets kernels and copies of `device` use memory of `peer` (same runtime). Believed only after a verified
  // write.
  virtual Availability enable_peer(int device, int peer) = 0;
  // Opens memory of a kind that needs_grant() to another device: the whole pool that it is from, or its own
  // mapping. After enable_peer(), and believed as little.
  virtual Availability grant(Allocation&, int) {
    return {false, "this runtime has no memory that is opened to single devices"};
  }
  // Takes back what enable_peer() and grant() gave.
  virtual void disable_peer(int, int) {}
  virtual void revoke(Allocation&, int) {}
  // Where managed memory is wanted before a timed operation; waits until it is there.
  virtual void make_resident(void* data, std::uint64_t bytes, PagePlace to) = 0;
  // The same as an operation of a stream: the vendor's prefetch call.
  virtual void prefetch(void*, std::uint64_t, PagePlace, Stream&) {
    throw Unsupported("prefetch", "runtime", "this runtime has no pages that move");
  }
  // Whether the prefetch call can name a domain of the host; where it cannot, pages that are sent to the host
  // go to the domain near the GPU whose stream takes the call.
  virtual Availability offers_prefetch_to_domain() const {
    return {false, "this runtime has no pages that move"};
  }
  // Where the runtime says that all of these pages were last prefetched to, -1 being the host. Nothing when
  // it does not tell, or when they went to different places. What it was asked for, not what it did.
  virtual std::optional<int> last_prefetch(const void*, std::uint64_t) { return std::nullopt; }
  // Keeps managed pages at `owner` (-1: the host) while kernels of `device` reach them there; `hold` false
  // lets them move again when touched. Not available: why pages cannot be kept.
  virtual Availability hold_pages(void*, std::uint64_t, int, int, bool) {
    return {false, "this runtime has no pages that move"};
  }
  // What of the device's memory nobody uses; 0 when unknown.
  virtual std::uint64_t free_bytes(int) { return 0; }

  // Queues. All of these enqueue and return, but for calls that the vendor makes blocking.
  virtual std::unique_ptr<Stream> create_stream(int device) = 0;
  virtual std::unique_ptr<Event> create_event(int device) = 0;
  virtual void record(Event& event, Stream& stream) = 0;
  virtual void wait(Stream& stream, Event& event) = 0;
  virtual void copy(void* destination, const void* source, std::uint64_t bytes, Stream& stream) = 0;
  // Other ways to submit operations than a call each: "graph", "batch".
  virtual Availability offers_submission(std::string_view how) {
    return {false, "this runtime submits nothing as a " + std::string(how)};
  }
  // What `work` enqueues on the stream it is given, not carried out but recorded.
  virtual std::unique_ptr<Recording> record_work(int, const std::function<void(Stream&)>&) {
    throw Unsupported("submit", "graph", offers_submission("graph").reason);
  }
  virtual void launch(Recording&, Stream&) {
    throw Unsupported("submit", "graph", offers_submission("graph").reason);
  }
  // All of them by one call, in no order among themselves.
  virtual void copy_batch(const std::vector<CopyPiece>&, Stream&) {
    throw Unsupported("submit", "batch", offers_submission("batch").reason);
  }
  // The vendor's copy of rows, where it has one.
  virtual Availability offers_copy_rows() { return {false, "this runtime has no copy of rows"}; }
  virtual void copy_rows(const RowsCopy&, Stream&) {
    throw Unsupported("copy", "rows", offers_copy_rows().reason);
  }
  // The rule of this runtime's version and settings for a copy issued by `device`.
  virtual CopyRule copy_rule(int device, const CopyEnds& ends, std::uint64_t bytes) = 0;
  // Asked while nothing is being copied: engines at work may be left out.
  virtual CopyEngines copy_engines(const CopyEnds&) {
    return {0, {}, "this runtime does not let a program choose the engine of a copy"};
  }
  // A copy on an engine of copy_engines(ends). It waits until the copy is done, in no stream.
  virtual void copy_on_engine(void*, const void*, std::uint64_t, const CopyEnds& ends, int) {
    throw Unsupported("copy", "copy_engine", copy_engines(ends).reason);
  }
  // Loads (compiles, caches) the kernel before it is needed inside a timed region. Thread-safe.
  virtual Availability offers_kernel(int device, std::string_view kernel) = 0;
  virtual KernelInfo kernel_info(int device, std::string_view kernel) = 0;
  // `arguments` points to the kernel's one argument block (interfaces/*/arguments.hpp), copied before return.
  virtual void launch(int device, std::string_view kernel, const LaunchShape& shape, const void* arguments,
                      std::size_t argument_bytes, Stream& stream) = 0;

  // For whoever launches often. Throws Unsupported where the kernel cannot be had.
  virtual PreparedKernel prepare(int, std::string_view kernel) { return {kernel}; }
  virtual void launch(int device, const PreparedKernel& kernel, const LaunchShape& shape,
                      const void* arguments, std::size_t argument_bytes, Stream& stream) {
    launch(device, kernel.name, shape, arguments, argument_bytes, stream);
  }

  virtual bool finished(Event& event) = 0;
  virtual void synchronize(Event& event) = 0;
  virtual void synchronize(Stream& stream) = 0;
  virtual double elapsed_ns(Event& begin, Event& end) = 0;  // both finished, both of one device
  virtual double timer_resolution_ns(int device) = 0;  // smallest step elapsed_ns() was seen to make, 0: none
  virtual unsigned queue_depth(int device) = 0;        // operations that may be enqueued unstarted

  // Moves the calling thread onto the cores nearest to the device; false when nothing is known.
  virtual bool bind_thread_near(int device) = 0;
};

// Acts when something takes too long. Its action runs at most once for each arm(), on a thread of the clock's
// choosing, never from inside arm() or disarm(). disarm() and destruction wait for an action that is running:
// one that comes late would take the next arm() for its own.
class Watchdog {
 public:
  virtual ~Watchdog() = default;
  virtual void arm(Nanoseconds delay) = 0;
  virtual void disarm() = 0;
};

// The host's clock: the only wall clock of the core. Simulated machines answer virtual time, which passes
// only while somebody waits for something or asks: a loop that waits for a word of memory has to ask.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds now() = 0;
  virtual std::unique_ptr<Watchdog> watchdog(std::function<void()> action) = 0;
  // Whether threads that wait for each other make time pass: in virtual time only the one that asks does.
  virtual bool runs_by_itself() const = 0;
};

// The host as a runtime knows more than a vendor's: its pages and its clock.
class Host : public Runtime {
 public:
  virtual Clock& clock() = 0;
  // NUMA domain -> pages of a sample of at most 4096 of host memory, whoever allocated it.
  virtual std::map<int, std::uint64_t> placement(const void* data, std::uint64_t bytes) = 0;
  // Plain pages that are there, on `numa_domain` (-1: anywhere), for a vendor to lock. Throws OutOfMemory.
  virtual std::unique_ptr<Allocation> populated_pages(std::uint64_t bytes, int numa_domain) = 0;
  // A queue whose thread stays on one core: number `core` of those that this process may use of the domain,
  // the first of every physical core before their siblings. Throws Unsupported when there is none.
  virtual std::unique_ptr<Stream> create_stream_on(int device, std::int64_t core) = 0;
  // Plain pages as a program would map them, for callers that know there is room: nothing is asked, guarded
  // or touched. And a write to every page of such memory from the calling thread.
  virtual std::unique_ptr<Allocation> map_pages(Memory memory, std::uint64_t bytes, int numa_domain) = 0;
  virtual void touch(void* data, std::uint64_t bytes) = 0;
  // While the result lives, pages that the calling thread makes the kernel allocate come from `numa_domain`.
  virtual std::shared_ptr<void> place_thread(int numa_domain) = 0;
  // Of a PCI device ("0000:3b:00.0"): its NUMA domain, -1 when unknown; and the calling thread onto the cores
  // beside it, false when nothing is known.
  virtual int numa_domain_of(const std::string& pci_address) = 0;
  virtual bool bind_thread_near_pci(const std::string& pci_address) = 0;
};

}  // namespace byteways
