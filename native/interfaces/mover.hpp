// One interface on one flow of bytes: knows how to enqueue its operations, and how to prove afterwards that
// they did what they claim.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/device/data_pattern.hpp"
#include "interfaces/flow.hpp"
#include "runtimes/session.hpp"

namespace byteways {

struct Verification {
  bool ok = true;
  std::uint64_t checked_bytes = 0;
  std::uint64_t bad_count = 0;
  std::uint64_t first_offset_bytes = 0;
  std::uint64_t expected = 0;
  std::uint64_t got = 0;

  // What a check found of words that begin at `offset_bytes`.
  void note(const CheckResult& result, std::uint64_t offset_bytes);
};

// A range of a mover's operations.
struct Operations {
  std::uint64_t first = 0, count = 0;
};

// Where the managed pages of one side of some operations are: "source", "destination", or "pages" where both
// are one.
struct SideResidency {
  std::string side;
  PageResidency where;
};

// What a mover says of its operations. Its constructor fills it in, and nothing changes it afterwards.
struct Traits {
  // Bytes that an operation moves in its direction; 0 where its time is the result: a step of a walk, a call.
  std::uint64_t bytes_per_operation = 0;
  bool walks = false;  // an operation is a step of a walk: those enqueued together are one launch
  // Entries of the queue that a batch takes: so many for each operation, and so many in any case.
  std::uint64_t entries_per_operation = 1, entries_per_batch = 0;
  std::uint64_t least_batch = 1;     // fewest operations of a batch
  bool synchronous = false;          // enqueue() uses no stream, and returns when its operations are done
  std::string concurrency_obstacle;  // why it does not run beside other flows; empty where it does
  bool fixed_cost = true;            // a batch costs something beside its operations, which a slope removes
  bool can_pipeline = true;          // a batch may be enqueued while the one before still runs
  // An operation leaves its buffers elsewhere than it found them (managed pages move): then it runs once on
  // each slot, and restore() brings the pages back before a batch, untimed.
  bool changes_residency = false;
  bool must_move = false;      // it does nothing but to move pages: each batch is asked whether it did
  std::uint64_t rotation = 1;  // operations after which the buffers' slots start again
  // Different bytes touched on either side before an address repeats.
  std::uint64_t distinct_source_bytes = 0, distinct_destination_bytes = 0;
  LaunchShape shape{0, 0, 0};  // for the record; zeros where the interface has none
  // What moves the bytes when the interface alone decides it, and why; empty when it has to be observed.
  std::string engine, engine_evidence;
  // How it is observed: with a smaller size that is a multiple of this one, and what an operation is called.
  std::uint64_t granularity_bytes = 1;
  std::string noun = "copy";
  bool copy_rule = false;               // an operation is one copy call, of which runtimes have rules
  std::vector<Device*> helpers;         // devices beside the executor that carry out a part of each operation
  std::map<std::string, double> parts;  // path ("cpu0>gpu1>gpu0") to its part; empty when all take the same

  std::uint64_t queue_entries(std::uint64_t count) const {
    return entries_per_batch + count * entries_per_operation;
  }
};

// Of movers whose operations change where pages are, or what memory there is.
class Residency {
 public:
  virtual ~Residency() = default;
  // Undoes the operations since the last call, untimed.
  virtual void restore() = 0;
  // What was enqueued since then, and where the managed pages of such operations are. Asking touches no page;
  // empty where no page can move.
  virtual Operations since_restore() const { return {}; }
  virtual std::vector<SideResidency> of(const Operations&) const { return {}; }
  // Bytes of pages that moved when the executor touched one word of them, as seen: what a driver moves at
  // once. 0 where none moves or nobody can tell.
  virtual std::uint64_t bytes_per_touch() { return 0; }
};

class Mover {
 public:
  virtual ~Mover() = default;
  Device& executor() const { return *executor_; }
  const Traits& traits() const { return traits_; }

  // Enqueues `count` back-to-back operations, numbered from first_operation.
  virtual void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) = 0;
  // Before the gate is shut: whatever of enqueue(first_operation, count) may be done beforehand, untimed.
  virtual void make_ready(std::uint64_t, std::uint64_t) {}
  // New data keyed by `key`: fills the source, poisons the destination, waits until both are done.
  virtual void prepare(std::uint64_t key) = 0;
  // Spoils some words of what the operations [first_operation, first_operation + count) are about to write,
  // so that one of them left out shows; waits until done.
  virtual void spoil(std::uint64_t first_operation, std::uint64_t count) = 0;
  // Checks every word that operations [first_operation, first_operation + count) should have written.
  virtual Verification verify(std::uint64_t first_operation, std::uint64_t count) = 0;
  // Checks some words of what these operations wrote, those that spoil() spoiled among them, at a cost that
  // does not grow with their size. Which words these are differs with `first_operation`.
  virtual Verification spot_check(std::uint64_t first_operation, std::uint64_t count) {
    return verify(first_operation, count);
  }
  // nullptr where operations leave everything where it is.
  virtual Residency* residency() { return nullptr; }
  void restore() {
    if (Residency* changed = residency()) changed->restore();
  }

 protected:
  explicit Mover(Device& executor) : executor_(&executor) {}
  // Of loads and stores, and of arithmetic, that this process does itself.
  void moved_by_own(const std::string& what) {
    traits_.engine = executor().is_host() ? "cpu" : "kernel";
    traits_.engine_evidence = what;
  }
  // Of operations that are launches of one kernel of ours, which moves the bytes. The host goes through all
  // of a batch in one launch.
  void use_own_kernel(const LaunchShape& shape) {
    const bool host = executor().is_host();
    traits_.shape = shape;
    traits_.entries_per_operation = host ? 0 : 1;
    traits_.entries_per_batch = host ? 1 : 0;
    moved_by_own(host ? "loads and stores of this process's own threads"
                      : "loads and stores of a kernel that this process launched");
  }

  Traits traits_;

 private:
  Device* executor_;
};

// A queue of the device; of a CPU on the core of that number, -1: on any. Throws Unsupported.
std::unique_ptr<Stream> create_stream_for(Session& session, Device& device, std::int64_t core);

// The kernel, ready to be launched on this device. Throws Unsupported with the reason.
PreparedKernel require_kernel(const Flow& flow, Device& device, const char* kernel);

// Peer access between the executor and the owners of all buffers, proved; throws Unsupported with the
// reason.
void require_access(Session& session, const Flow& flow);

// Enqueues operations [first, first + count) by `kernel`: a GPU is launched once for each, a host's function
// goes through them.
template <class Arguments>
void launch_operations(Device& by, const PreparedKernel& kernel, const LaunchShape& shape,
                       Arguments arguments, std::uint64_t first, std::uint64_t count, Stream& stream) {
  arguments.operations = by.is_host() ? count : 1;
  by.runtime->launch_series(kernel, shape, &arguments, sizeof arguments,
                            {&arguments.first_operation, first, by.is_host() ? 1 : count}, stream);
}

}  // namespace byteways
