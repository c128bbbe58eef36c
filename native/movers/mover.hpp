// One interface on one flow of bytes: knows how to enqueue its operations, and how to prove afterwards that
// they did what they claim.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/arguments.hpp"
#include "runtimes/session.hpp"

namespace byteways {

// Of a grid, as both vendors take them; and of a CPU's team, beyond any machine's cores.
inline constexpr unsigned kMostBlocks = 0x7fffffff, kMostTeam = 4096;

// What a flow is, as the plan asked for it.
struct Flow {
  Buffer* source = nullptr;
  Buffer* destination = nullptr;  // chase: the same buffer
  Agent* executor = nullptr;
  std::string interface;  // a row of src/byteways/plan/interfaces.py
  std::uint64_t size_bytes = 0;
  bool cold = true;  // operations rotate through the slots of both buffers; else all use the first slot
  Buffer* second_source = nullptr;  // of interfaces that read two arrays
  Agent* partner = nullptr;         // the agent that answers, of interfaces that have one; where pages go to
  unsigned sharing = 1;  // flows of this executor that run at once: the kernel of each leaves room for all
  std::map<std::string, std::variant<std::int64_t, std::string>, std::less<>> options;

  // Of an option; `otherwise` where the case does not have it. `stream`: flows of one device with equal
  // numbers >= 0 share one.
  std::int64_t number(std::string_view option, std::int64_t otherwise = 0) const;
  // Of an option that counts things. Throws Unsupported when it is not from 1 to `most`.
  unsigned count(std::string_view option, unsigned otherwise, unsigned most = kMostBlocks) const;
  std::string word(std::string_view option, std::string_view otherwise = {}) const;
};

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

class Mover {
 public:
  virtual ~Mover() = default;
  Agent& executor() const { return *executor_; }

  // Bytes one operation moves in its direction; 0 where its time is the figure: the step of a chase, a call.
  virtual std::uint64_t bytes_per_operation() const = 0;
  // Whether an operation is a step of a walk: as many as are enqueued together are one launch.
  virtual bool walks() const { return false; }
  // Operations the queue holds for one enqueue() of `count` (device copies: count; a chase or the host: 1).
  virtual std::uint64_t queue_entries(std::uint64_t count) const = 0;
  // Enqueues `count` back-to-back operations, numbered from first_operation.
  virtual void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) = 0;
  // Before the gate is shut: whatever of enqueue(first_operation, count) may be done beforehand, untimed.
  virtual void make_ready(std::uint64_t, std::uint64_t) {}
  // The fewest operations of a batch.
  virtual std::uint64_t least_batch() const { return 1; }
  // Whether enqueue() carries its operations out itself, in no stream, and returns when they are done.
  virtual bool synchronous() const { return false; }

  // Why it does not run beside other flows; empty where it does.
  virtual std::string alone() const { return {}; }
  // Whether a batch may be enqueued while the one before still runs.
  virtual bool goes_on() const { return true; }

  // Whether an operation leaves its buffers elsewhere than it found them (managed pages move): then it runs
  // once on each slot, and restore() brings the pages back before a batch, untimed.
  virtual bool changes_residency() const { return false; }
  virtual void restore() {}
  // Whether it does nothing but to move pages: then each batch is asked whether it did.
  virtual bool must_move() const { return false; }
  // What was enqueued since the last restore(), and where the managed pages of such operations are. Asking
  // touches no page; empty where no page can move.
  virtual Operations since_restore() const { return {}; }
  virtual std::vector<SideResidency> residency(const Operations&) const { return {}; }
  // Bytes of pages that moved when the executor touched one word of them, as seen: what a driver moves at
  // once. 0 where none moves or nobody can tell.
  virtual std::uint64_t bytes_per_touch() { return 0; }

  // New data keyed by `key`: fills the source, poisons the destination, waits until both are done.
  virtual void prepare(std::uint64_t key) = 0;
  // Spoils some words of what the operations [first_operation, first_operation + count) are about to write,
  // so that one of them left out shows; waits until done.
  virtual void spoil(std::uint64_t first_operation, std::uint64_t count) = 0;
  // Checks every word that operations [first_operation, first_operation + count) should have written.
  virtual Verification verify(std::uint64_t first_operation, std::uint64_t count) = 0;
  // Checks some words of what these operations wrote, those that spoil() spoiled among them, at a cost that
  // does not grow with their size. Which words these are differs with `first_operation`.
  virtual Verification glance(std::uint64_t first_operation, std::uint64_t count) {
    return verify(first_operation, count);
  }
  // Different bytes touched on either side before an address repeats.
  virtual std::uint64_t distinct_source_bytes() const = 0;
  virtual std::uint64_t distinct_destination_bytes() const = 0;
  // Operations after which the rotation starts again (1 when warm).
  virtual std::uint64_t rotation() const = 0;
  // Blocks and threads in effect, for the record; zeros when the interface has none.
  virtual LaunchShape shape() const { return {0, 0, 0}; }
  // What moves the bytes when the interface alone decides it, and why; empty when it has to be observed.
  virtual std::string engine() const { return {}; }
  virtual std::string engine_evidence() const { return {}; }
  // Agents beside the executor that carry out a part of each operation.
  virtual std::vector<Agent*> helpers() const { return {}; }
  // Which part of the bytes takes which path ("cpu0>gpu1>gpu0"); empty when all take the same.
  virtual std::map<std::string, double> parts() const { return {}; }

 protected:
  explicit Mover(Agent& executor) : executor_(&executor) {}

 private:
  Agent* executor_;
};

// Operation k of a copy uses slot k % slots of both buffers, so that nothing is found in a cache (cold), or
// always slot 0 (warm).
struct Slots {
  std::uint64_t count = 1;
  std::uint64_t stride_bytes = 0;
};

// Managed pages that are kept where they are for as long as it lives.
class HeldPages;

// What all movers that copy share: the slots, and data that proves the copy.
class CopyingMover : public Mover {
 public:
  ~CopyingMover() override;
  std::uint64_t bytes_per_operation() const override { return flow_.size_bytes; }
  bool changes_residency() const override;
  void restore() override;
  std::vector<SideResidency> residency(const Operations& of) const override;
  std::uint64_t bytes_per_touch() override;
  void prepare(std::uint64_t key) override;
  void spoil(std::uint64_t first_operation, std::uint64_t count) override;
  Verification verify(std::uint64_t first_operation, std::uint64_t count) override;
  Verification glance(std::uint64_t first_operation, std::uint64_t count) override;
  std::uint64_t rotation() const override { return slots_.count; }
  std::uint64_t distinct_source_bytes() const override { return slots_.count * flow_.size_bytes; }
  std::uint64_t distinct_destination_bytes() const override { return slots_.count * flow_.size_bytes; }

 protected:
  CopyingMover(Session& session, const Flow& flow);
  // Every enqueue() says which operations it enqueues, so that restore() brings back what they moved.
  void moves(std::uint64_t first_operation, std::uint64_t count);
  std::byte* source_slot(std::uint64_t operation) const;
  // What the words of the sources are, and what those of the destination have to be: as a copy has them.
  // `words` from the first slot on; `first_index` is that of data[0] within the destination.
  virtual void fill_sources(std::uint64_t words);
  virtual CheckResult check_words(std::byte* data, std::uint64_t words, std::uint64_t first_index);
  // Some words of one slot from data[0] on, which is word `phase` of it: every `stride`-th, or as good a
  // part.
  virtual CheckResult check_some(std::byte* data, std::uint64_t words, std::uint64_t stride,
                                 std::uint64_t first_index, std::uint64_t phase);
  // Whether check_some() looks at the `stride`-th words alone, so that slots may be checked in one go.
  virtual bool checks_strided() const { return true; }
  std::byte* destination_slot(std::uint64_t operation) const;

  Session* session_;
  Flow flow_;
  Slots slots_;
  std::uint64_t key_ = 0;  // of the data

 private:
  bool contiguous() const { return slots_.stride_bytes == flow_.size_bytes; }
  // Ranges of slots that `count` operations write, before and after the rotation starts again.
  template <class Action>
  void for_written(std::uint64_t first_operation, std::uint64_t count, Action action) const;
  // Where in each slot the words lie that are spoiled and looked at, one in `stride`.
  struct Spots {
    std::uint64_t phase = 0, stride = 1;
  };
  Spots spots(std::uint64_t first_operation) const;
  void check_word(std::uint64_t word, std::uint64_t first_slot, std::uint64_t count,
                  Verification& verification);
  void check_range(std::uint64_t first_slot, std::uint64_t count, Verification& verification);
  void restore_slots(std::uint64_t first_slot, std::uint64_t count);
  // The arrays of the flow, the destination last.
  std::vector<Buffer*> buffers() const;
  // The managed ones of them, with the side that they are.
  std::vector<std::pair<const char*, Buffer*>> managed() const;
  void hold_pages();
  // Of option `migration` off: pages stay where they are while the executor reaches them.
  std::vector<std::unique_ptr<HeldPages>> held_;
  std::uint64_t moved_first_ = 0, moved_count_ = 0;  // operations since the last restore()
};

// One factory per interface family; make_mover() picks.
std::unique_ptr<Mover> make_copy(Session& session, const Flow& flow);         // the vendor's copy call
std::unique_ptr<Mover> make_kernel_copy(Session& session, const Flow& flow);  // kernels and the host's memcpy
std::unique_ptr<Mover> make_rows(Session& session, const Flow& flow);         // rows that lie a pitch apart
std::unique_ptr<Mover> make_route(Session& session, const Flow& flow);        // a copy over several paths
std::unique_ptr<Mover> make_chase(Session& session, const Flow& flow);
std::unique_ptr<Mover> make_call(Session& session, const Flow& flow);      // launch, synchronize, event
std::unique_ptr<Mover> make_stream(Session& session, const Flow& flow);    // the four loops of STREAM
std::unique_ptr<Mover> make_prefetch(Session& session, const Flow& flow);  // pages of one allocation
std::unique_ptr<Mover> make_compute(Session& session, const Flow& flow);   // arithmetic, no transfer
std::unique_ptr<Mover> make_ping_pong(Session& session, const Flow& flow);

// A queue of the agent; of a CPU on the core of that number, -1: on any. Throws Unsupported.
std::unique_ptr<Stream> create_stream_for(Session& session, Agent& agent, std::int64_t core);

// Steps that have memory, give it back or open it; nullptr when the interface is none of them.
std::unique_ptr<Mover> make_memory_step(Session& session, const Flow& flow);

// Peer access between the executor and the owners of all buffers, proved; throws Unsupported with the
// reason.
void require_access(Session& session, const Flow& flow);

// Enqueues operations [first, first + count) by `kernel`: a GPU is launched once for each, a host's function
// goes through them.
template <class Arguments>
void launch_operations(Agent& by, const PreparedKernel& kernel, const LaunchShape& shape, Arguments arguments,
                       std::uint64_t first, std::uint64_t count, Stream& stream) {
  arguments.operations = by.is_host() ? count : 1;
  by.runtime->launch_series(kernel, shape, &arguments, sizeof arguments,
                            {&arguments.first_operation, first, by.is_host() ? 1 : count}, stream);
}

// Throws Unsupported when the interface cannot run with this executor and these buffers.
std::unique_ptr<Mover> make_mover(Session& session, const Flow& flow);

}  // namespace byteways
