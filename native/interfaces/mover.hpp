// A mover implements one interface for one flow: it enqueues the operations, and verifies afterwards that
// they moved the right data.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "interfaces/device/data_pattern.hpp"
#include "interfaces/evidence.hpp"
#include "interfaces/fixed_loop.hpp"
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
  // The buffer behind whose end the wrong words are ("gpu1:device"), and its size; empty: they are within
  // one.
  std::string guard_of;
  std::uint64_t buffer_bytes = 0;

  // Adds the result of a check of words that begin at `offset_bytes`.
  void note(const CheckResult& result, std::uint64_t offset_bytes);
};

// A range of a mover's operations.
struct Operations {
  std::uint64_t first = 0, count = 0;
};

// Location of the managed pages of some operations, for one side: "source", "destination", or "pages" if both
// sides are one allocation.
struct SideResidency {
  std::string side;
  PageResidency where;
};

// Properties of a mover's operations. The constructor sets them, and nothing changes them afterwards.
struct Traits {
  std::uint64_t bytes_per_operation = 0;  // that an operation moves in its direction
  // The time of an operation is the result (chase step, API call), not a rate of bytes.
  bool time_is_result() const { return bytes_per_operation == 0; }
  bool walks = false;  // an operation is a step of a pointer chase: those enqueued together are one launch
  // Queue entries that a batch uses: per operation, and in addition per batch.
  std::uint64_t entries_per_operation = 1, entries_per_batch = 0;
  std::uint64_t least_batch = 1;  // fewest operations of a batch
  bool synchronous = false;       // enqueue() uses no stream and returns when its operations have completed
  // Of a call that waits: the word of the option `call` that asks for the same operation without waiting,
  // with which the engine is observed. Empty: none.
  std::string call_without_wait;
  bool works_in_call =
      false;  // … as part of it is the caller's work, or a wait: a gate would hold back nothing
  std::string concurrency_obstacle;  // why it cannot run concurrently with other flows; empty: it can
  bool fixed_cost = true;            // a batch costs time beside its operations, which a slope removes
  bool can_pipeline = true;          // a batch may be enqueued while the previous one still runs
  // An operation migrates the managed pages of its buffers. It then runs once on each slot, and restore()
  // moves the pages back before a batch, untimed.
  bool changes_residency = false;
  bool changes_input = false;  // an operation reads what the one before it has written: sums in place
  bool must_move = false;      // its only effect is to migrate pages: checked after each batch
  FixedLoop loop;              // of another program, repeated; without iterations the samplers choose
  std::uint64_t rotation = 1;  // number of operations after which the slots repeat
  // Distinct bytes touched on each side before an address repeats.
  std::uint64_t distinct_source_bytes = 0, distinct_destination_bytes = 0;
  LaunchShape shape{0, 0, 0};  // for the record; zeros if the interface has none
  // Engine and evidence if the interface alone determines them; empty if the engine must be observed.
  std::string engine, engine_evidence;
  EvidenceFields evidence;
  // For the observation of the engine: sizes are multiples of this, and the word for an operation.
  std::uint64_t granularity_bytes = 1;
  std::string noun = "copy";
  bool size_moves_places = false;       // where its bytes lie depends on the size: scattered blocks
  bool copy_rule = false;               // an operation is one copy call, for which runtimes may know a rule
  std::vector<Device*> helpers;         // devices other than the executor that execute part of each operation
  std::map<std::string, double> parts;  // path ("cpu0>gpu1>gpu0") to its share; empty: one path

  // Sets what holds of vendor's calls that wait for their operation.
  void waits_in_call(const char* without_wait) {
    entries_per_operation = 0;
    entries_per_batch = 1;
    synchronous = works_in_call = true;
    call_without_wait = without_wait;
    concurrency_obstacle = "a call that waits for its operation holds up all others";
  }
  std::uint64_t queue_entries(std::uint64_t count) const {
    return entries_per_batch + count * entries_per_operation;
  }
};

// For movers whose operations migrate pages, or allocate memory.
class Residency {
 public:
  virtual ~Residency() = default;
  // Undoes the operations since the last call, untimed.
  virtual void restore() = 0;
  // Operations enqueued since the last restore(), and the location of their managed pages. The query touches
  // no page. Empty if no page can migrate.
  virtual Operations since_restore() const { return {}; }
  virtual std::vector<SideResidency> of(const Operations&) const { return {}; }
  // Bytes that migrated when the executor touched one word: the migration granularity of the driver. 0 if
  // nothing migrates or it is unknown.
  virtual std::uint64_t bytes_per_touch() { return 0; }
};

class Mover {
 public:
  virtual ~Mover() = default;
  Device& executor() const { return *executor_; }
  const Traits& traits() const { return traits_; }

  // Enqueues `count` back-to-back operations, numbered from first_operation.
  virtual void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) = 0;
  // Waits for all other ranks of the flow, by the barrier of what carries the flow.
  virtual void meet() {}
  // Called before the gate is shut: does the part of enqueue(first_operation, count) that can be done in
  // advance, untimed.
  virtual void make_ready(std::uint64_t, std::uint64_t) {}
  // Fills the source with the pattern of `key` and poisons the destination; waits until both are done.
  virtual void prepare(std::uint64_t key) = 0;
  // Overwrites some words that operations [first_operation, first_operation + count) are about to write, so
  // that a missing operation is detected; waits until done.
  virtual void spoil(std::uint64_t first_operation, std::uint64_t count) = 0;
  // Checks every word that operations [first_operation, first_operation + count) should have written.
  virtual Verification verify(std::uint64_t first_operation, std::uint64_t count) = 0;
  // Checks some words that these operations wrote, including those that spoil() overwrote. The cost does not
  // grow with their size. The choice of words changes with `first_operation`.
  virtual Verification spot_check(std::uint64_t first_operation, std::uint64_t count) {
    return verify(first_operation, count);
  }
  // nullptr if operations neither migrate pages nor allocate memory.
  virtual Residency* residency() { return nullptr; }
  void restore() {
    if (Residency* changed = residency()) changed->restore();
  }

 protected:
  explicit Mover(Device& executor) : executor_(&executor) {}
  // Sets the traits of loads, stores and arithmetic that the CPU threads of this process execute.
  void moved_by_own(const std::string& what) {
    traits_.engine = executor().is_host() ? "cpu" : "kernel";
    traits_.engine_evidence = what;
  }
  // Sets the traits of operations that are launches of one of our kernels. A host executes a whole batch in
  // one launch.
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

// Returns a queue of the device. For a CPU, `core` is the core to bind to, -1: any. Throws Unsupported.
std::unique_ptr<Stream> create_stream_for(Session& session, Device& device, std::int64_t core);

// Returns the kernel, ready to launch on this device. Throws Unsupported with the reason.
PreparedKernel require_kernel(const Flow& flow, Device& device, const char* kernel);

// Whether a kernel of `executor` that stores into memory of `owner` must end by a fence, so that its time
// includes the arrival of the stores there.
inline bool must_fence(const Device& executor, const Device& owner) {
  return &executor != &owner && !executor.runtime->stores_arrive_by_kernel_end();
}

// Enables peer access between the executor and the owners of all buffers, and verifies it with a write.
// Throws Unsupported with the reason.
void require_access(Session& session, const Flow& flow);

// Enqueues operations [first, first + count) of `kernel`: one launch per operation on a GPU, one launch for
// all on a host. Argument blocks have the words that a device reads first, next to each other, and among them
// the offset of the operation's slot, which is set here.
template <class Arguments>
void launch_operations(Device& by, const PreparedKernel& kernel, const LaunchShape& shape,
                       Arguments arguments, std::uint64_t first, std::uint64_t count, Stream& stream) {
  arguments.operations = by.is_host() ? count : 1;
  LaunchSeries series{&arguments.first_operation, first, by.is_host() ? 1 : count};
  if constexpr (requires { arguments.offset; })
    series.rotations = {{{&arguments.offset, arguments.slots, arguments.stride}}};
  else
    series.rotations = {
        {{&arguments.source_offset, arguments.source_slots, arguments.source_stride},
         {&arguments.destination_offset, arguments.destination_slots, arguments.destination_stride}}};
  by.runtime->launch_series(kernel, shape, &arguments, sizeof arguments, series, stream);
}

}  // namespace byteways
