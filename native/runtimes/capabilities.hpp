// Optional capabilities of runtimes. Each is an interface of its own; a runtime returns for
// capability<Graphs>() the object, or the reason why it has none.
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

// Each capability has `kAbsent`: the reason of a runtime that does not implement it.
template <class Capability>
struct Offer {
  Capability* object = nullptr;
  std::string reason = Capability::kAbsent;  // why there is none; empty if there is an object

  explicit operator bool() const { return object != nullptr; }
  // Throws Unsupported if there is none.
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
  // Records what `work` enqueues on the stream passed to it, without executing it.
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
  // Enqueues all copies with one call. They have no order among themselves.
  virtual void copy(const std::vector<CopyPiece>& pieces, Stream& stream) = 0;

 protected:
  ~CopyBatches() = default;
};

// The vendor's calls for one copy: into a stream; one that waits for its copy; one that names both GPUs;
// both.
enum class CopyCall { async, blocking, peer, peer_blocking };
inline bool waits(CopyCall call) { return call == CopyCall::blocking || call == CopyCall::peer_blocking; }
inline bool names_gpus(CopyCall call) { return call == CopyCall::peer || call == CopyCall::peer_blocking; }

// The calls of copies and of setting bytes other than those of the queue interface.
class CopyCalls {
 public:
  static constexpr const char *kCall = "copy call",
                              *kAbsent =
                                  "this runtime has no other call for a copy than its asynchronous one";
  virtual Availability offers(CopyCall call) const = 0;
  virtual Availability offers_blocking_set() const = 0;
  // One driver call per copy, and nothing between them. `source` and `destination` are the GPUs that own the
  // memories, for calls that name them. Calls that wait use the default stream of the stream's device, and
  // may return before a copy has ended all the same, as CUDA's do between GPUs: settle() completes them.
  virtual void copy(CopyCall call, const CopySeries& copies, int source, int destination, Stream& stream) = 0;
  virtual void set(const CopySeries& slots, unsigned char value, int device) = 0;
  // Waits for all that the device was asked for.
  virtual void settle(int device) = 0;

 protected:
  ~CopyCalls() = default;
};

// Pitched (2D) rows of `width_bytes`; row starts are one pitch (bytes) apart on each side.
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

// Devices at both ends of a copy, numbered by the runtime; -1 is host memory.
struct CopyEnds {
  int source_device = -1, destination_device = -1;
  bool plain = false;   // either end is plain host memory
  bool opened = false;  // either end is memory of another process, of the GPU that owns it
};
// Engine of a copy by the vendor's rules: "copy-engine", "kernel", "staged", and the rule in one sentence.
// Empty if there is no rule.
struct CopyRule {
  std::string engine, rule;
};
// Copy engines that a program may choose for a copy between two devices: bit k is engine k. If none: the
// reason.
struct CopyEngines {
  std::uint32_t mask = 0;
  CopyRule rule;  // engine that the vendor's settings then select
  std::string reason;
};
class EngineChoice {
 public:
  static constexpr const char *kCall = "copy engine",
                              *kAbsent = "this runtime does not let a program choose the engine of a copy";
  // Returns the rule of this runtime's version and settings for a copy without a chosen engine.
  virtual CopyRule rule(const CopyEnds& ends, std::uint64_t bytes) = 0;
  // Call while no copy runs: busy engines may be omitted.
  virtual CopyEngines engines(const CopyEnds& ends) = 0;
  // Copies on one of engines(ends), outside of any stream. Returns when the copy is done.
  virtual void copy(void* destination, const void* source, std::uint64_t bytes, const CopyEnds& ends,
                    int engine) = 0;

 protected:
  ~EngineChoice() = default;
};

// Destination of managed pages: a device, or with `device` -1 the host; there a NUMA domain, or with
// `numa_domain` -1 the one that the driver chooses.
struct PagePlace {
  int device = -1, numa_domain = -1;
};
class ManagedPages {
 public:
  static constexpr const char *kCall = "managed memory", *kAbsent = "this runtime has no pages that move";
  // Moves managed memory to its place before a timed operation; returns when it is there.
  virtual void make_resident(void* data, std::uint64_t bytes, PagePlace to) = 0;
  // Enqueues the vendor's prefetch call.
  virtual void prefetch(void* data, std::uint64_t bytes, PagePlace to, Stream& stream) = 0;
  // Whether the prefetch call takes a NUMA domain. If not, pages sent to the host go to the domain nearest to
  // the GPU whose stream takes the call.
  virtual Availability names_domains() const = 0;
  // Returns where all of these pages were last prefetched to, as the runtime reports it; -1: the host. No
  // value if it is unknown or differs between pages. It is the requested place, not the observed one.
  virtual std::optional<int> last_prefetch(const void* data, std::uint64_t bytes) = 0;
  // Keeps pages at `owner` (-1: the host) while kernels of `device` access them there; `hold` false lets them
  // migrate again. Returns why pages cannot be kept.
  virtual Availability hold(void* data, std::uint64_t bytes, int owner, int device, bool hold) = 0;

 protected:
  ~ManagedPages() = default;
};

// Page-locks and maps plain pages for a GPU: `registered` memory.
class PageLocking {
 public:
  static constexpr const char *kCall = "lock", *kAbsent = "no GPU's runtime is there to lock pages for";
  virtual std::unique_ptr<Allocation> lock(std::unique_ptr<Allocation> pages, int device) = 0;
  // Returns the pages, no longer locked.
  virtual std::unique_ptr<Allocation> unlock(std::unique_ptr<Allocation> locked) = 0;

 protected:
  ~PageLocking() = default;
};

class MemoryPools {
 public:
  static constexpr const char *kCall = "pool", *kAbsent = "this runtime has no memory pools";
  // Sets the bytes of freed memory that the device's pool may keep from now on, and releases the rest.
  virtual void keep(int device, std::uint64_t bytes) = 0;
  // One call of the vendor each, as a program makes it: in order of the device's default stream, and without
  // waiting. The memory may be used otherwise, or must no longer be in use, when settle() has returned.
  virtual std::unique_ptr<Allocation> allocate_in_order(int device, std::uint64_t bytes) = 0;
  virtual void free_in_order(std::unique_ptr<Allocation> allocation) = 0;
  // Waits for these calls of a device. A pool releases what it does not keep.
  virtual void settle(int device) = 0;

 protected:
  ~MemoryPools() = default;
};

// Memory of other processes.
class ProcessHandles {
 public:
  static constexpr const char *kCall = "handle", *kAbsent = "this runtime has no handles for other processes";
  // Returns a handle by which another process opens the allocation.
  virtual std::string handle_of(Allocation& allocation) = 0;
  // Opens another process's allocation by its handle.
  virtual std::unique_ptr<Allocation> open(const std::string& handle, int device, std::uint64_t bytes) = 0;

 protected:
  ~ProcessHandles() = default;
};

// Access of one device to another's memory. Callers trust it only after a verified write.
class PeerAccess {
 public:
  static constexpr const char *kCall = "peer access", *kAbsent = "this runtime has no peer access";
  // Lets kernels and copies of `device` use memory of `peer` (same runtime); disable() revokes it.
  virtual Availability enable(int device, int peer) = 0;
  virtual void disable(int device, int peer) = 0;
  // Opens memory of a kind that needs_grant() to another device: its whole pool, or its mapping. Call after
  // enable(). revoke() undoes it.
  virtual Availability grant(Allocation& allocation, int device) = 0;
  virtual void revoke(Allocation& allocation, int device) = 0;

 protected:
  ~PeerAccess() = default;
};

using CapabilityOffers = std::tuple<Offer<Graphs>, Offer<CopyBatches>, Offer<CopyCalls>, Offer<Copies2D>,
                                    Offer<EngineChoice>, Offer<ManagedPages>, Offer<PageLocking>,
                                    Offer<MemoryPools>, Offer<ProcessHandles>, Offer<PeerAccess>>;

}  // namespace byteways
