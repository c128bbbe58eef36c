// What only some runtimes can do. Each capability is an interface of its own; a runtime answers
// capability<Graphs>() with the object or with the reason why it has none.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/availability.hpp"
#include "core/error.hpp"
#include "memory/allocation.hpp"
#include "runtimes/queue.hpp"

namespace byteways {

// Each has `kAbsent`: the reason of a runtime that knows nothing of it.
template <class Capability>
struct Offer {
  Capability* object = nullptr;
  std::string reason = Capability::kAbsent;  // why there is none; empty with an object

  explicit operator bool() const { return object != nullptr; }
  // Throws Unsupported where there is none.
  Capability* operator->() const {
    if (object == nullptr) throw Unsupported(Capability::kCall, "unavailable", reason);
    return object;
  }
  Availability availability() const { return {object != nullptr, reason}; }
};

// Operations recorded once, to be launched together.
class Recording {
 public:
  virtual ~Recording() = default;
};
class Graphs {
 public:
  static constexpr const char *kCall = "graph", *kAbsent = "this runtime submits nothing as a graph";
  // What `work` enqueues on the stream it is given, not carried out but recorded.
  virtual std::unique_ptr<Recording> record(int device, const std::function<void(Stream&)>& work) = 0;
  virtual void launch(Recording& recording, Stream& stream) = 0;

 protected:
  ~Graphs() = default;
};

// One copy of a batch.
struct CopyPiece {
  void* destination;
  const void* source;
  std::uint64_t bytes;
};
class CopyBatches {
 public:
  static constexpr const char *kCall = "batch", *kAbsent = "this runtime submits nothing as a batch";
  // All of them by one call, in no order among themselves.
  virtual void copy(const std::vector<CopyPiece>& pieces, Stream& stream) = 0;

 protected:
  ~CopyBatches() = default;
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
class Copies2D {
 public:
  static constexpr const char *kCall = "copy 2D", *kAbsent = "this runtime has no copy of rows";
  virtual void copy(const RowsCopy& rows, Stream& stream) = 0;

 protected:
  ~Copies2D() = default;
};

// The two ends of a copy as its runtime counts devices; -1 is host memory.
struct CopyEnds {
  int source_device = -1, destination_device = -1;
  bool plain = false;  // either end is plain host memory
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
class EngineChoice {
 public:
  static constexpr const char *kCall = "copy engine",
                              *kAbsent = "this runtime does not let a program choose the engine of a copy";
  // The rule of this runtime's version and settings for a copy that leaves the choice to it.
  virtual CopyRule rule(const CopyEnds& ends, std::uint64_t bytes) = 0;
  // Asked while nothing is being copied: engines at work may be left out.
  virtual CopyEngines engines(const CopyEnds& ends) = 0;
  // A copy on one of engines(ends). It waits until the copy is done, in no stream.
  virtual void copy(void* destination, const void* source, std::uint64_t bytes, const CopyEnds& ends,
                    int engine) = 0;

 protected:
  ~EngineChoice() = default;
};

// Where managed pages are sent: to a device, or with `device` -1 to the host, there to a NUMA domain, or with
// `numa_domain` -1 to whichever one the driver takes.
struct PagePlace {
  int device = -1, numa_domain = -1;
};
class ManagedPages {
 public:
  static constexpr const char *kCall = "managed memory", *kAbsent = "this runtime has no pages that move";
  // Where managed memory is wanted before a timed operation; waits until it is there.
  virtual void make_resident(void* data, std::uint64_t bytes, PagePlace to) = 0;
  // The same as an operation of a stream: the vendor's prefetch call.
  virtual void prefetch(void* data, std::uint64_t bytes, PagePlace to, Stream& stream) = 0;
  // Whether the prefetch call can name a domain of the host; where it cannot, pages that are sent to the host
  // go to the domain near the GPU whose stream takes the call.
  virtual Availability names_domains() const = 0;
  // Where the runtime says that all of these pages were last prefetched to, -1 being the host. Nothing when
  // it does not tell, or when they went to different places. What it was asked for, not what it did.
  virtual std::optional<int> last_prefetch(const void* data, std::uint64_t bytes) = 0;
  // Keeps pages at `owner` (-1: the host) while kernels of `device` reach them there; `hold` false lets them
  // move again when touched. Not available: why pages cannot be kept.
  virtual Availability hold(void* data, std::uint64_t bytes, int owner, int device, bool hold) = 0;

 protected:
  ~ManagedPages() = default;
};

// Plain pages that a GPU runtime locks and maps: `registered` memory.
class PageLocking {
 public:
  static constexpr const char *kCall = "lock", *kAbsent = "no GPU's runtime is there to lock pages for";
  virtual std::unique_ptr<Allocation> lock(std::unique_ptr<Allocation> pages, int device) = 0;
  // The pages again, no longer locked.
  virtual std::unique_ptr<Allocation> unlock(std::unique_ptr<Allocation> locked) = 0;

 protected:
  ~PageLocking() = default;
};

class MemoryPools {
 public:
  static constexpr const char *kCall = "pool", *kAbsent = "this runtime has no memory pools";
  // What the device's pool may keep of what is given back to it, from now on; the rest it gives up.
  virtual void keep(int device, std::uint64_t bytes) = 0;

 protected:
  ~MemoryPools() = default;
};

// Memory of other processes.
class ProcessHandles {
 public:
  static constexpr const char *kCall = "handle", *kAbsent = "this runtime has no handles for other processes";
  // How another process names an allocation of this one.
  virtual std::string handle_of(Allocation& allocation) = 0;
  // Memory here that is another process's allocation.
  virtual std::unique_ptr<Allocation> open(const std::string& handle, int device, std::uint64_t bytes) = 0;

 protected:
  ~ProcessHandles() = default;
};

// Access of one device to another's memory. Believed only after a verified write.
class PeerAccess {
 public:
  static constexpr const char *kCall = "peer access", *kAbsent = "this runtime has no peer access";
  // Lets kernels and copies of `device` use memory of `peer` (same runtime); takes it back.
  virtual Availability enable(int device, int peer) = 0;
  virtual void disable(int device, int peer) = 0;
  // Opens memory of a kind that needs_grant() to another device: the whole pool that it is from, or its own
  // mapping. After enable(). And takes it back.
  virtual Availability grant(Allocation& allocation, int device) = 0;
  virtual void revoke(Allocation& allocation, int device) = 0;

 protected:
  ~PeerAccess() = default;
};

using CapabilityOffers =
    std::tuple<Offer<Graphs>, Offer<CopyBatches>, Offer<Copies2D>, Offer<EngineChoice>, Offer<ManagedPages>,
               Offer<PageLocking>, Offer<MemoryPools>, Offer<ProcessHandles>, Offer<PeerAccess>>;

}  // namespace byteways
