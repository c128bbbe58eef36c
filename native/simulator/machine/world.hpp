// The simulated machine in one process, which every entry point (vendors/) calls. One mutex guards all of it;
// every call charges the host's virtual time, looks at the gates' words, and only what has to be waited for
// makes the engine run (engine.hpp).
//
// GPUs are numbered as the model has them; hiding and renumbering (…_VISIBLE_DEVICES) is the entry points'
// work.
// world.cpp has time and health, world_memory.cpp memory, world_queues.cpp streams and what is enqueued.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/engine/engine.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/machine/common.hpp"
#include "simulator/machine/costs.hpp"
#include "simulator/machine/devices.hpp"
#include "simulator/machine/faults.hpp"
#include "simulator/machine/graphs.hpp"
#include "simulator/machine/kernels.hpp"
#include "simulator/machine/observer.hpp"
#include "simulator/machine/streams.hpp"
#include "simulator/memory/accounting.hpp"
#include "simulator/memory/allocation_cost.hpp"
#include "simulator/memory/memory.hpp"
#include "simulator/mpi/transfers.hpp"
#include "simulator/xccl/xccl.hpp"

namespace byteways::sim {

class World {
 public:
  explicit World(std::string_view sheet, std::uint64_t key = 0)
      : sheet_(sheet),
        model_(Model::from_sheet(sheet)),
        faults_(model_),
        time_(Timeline::of_process()),
        mutex_(time_.mutex()),
        costs_(model_, faults_, engine_),
        accounting_(model_, faults_, costs_),
        allocation_cost_(model_),
        devices_(model_, faults_, costs_, accounting_),
        streams_(model_, faults_, engine_, time_, devices_, key),
        graphs_(devices_),
        kernels_(model_, faults_, memory_, costs_, devices_, engine_, streams_),
        transfers_(model_, engine_, streams_, kernels_) {}

  // Loads the machine of this process, once; the same sheet again changes nothing, another one throws.
  static void load(std::string_view sheet);
  // Throws Failure (internal) when no machine is loaded, and none is named by the environment.
  static World& get();
  // The machine as it was loaded: its time is 0, nothing is allocated, no queue has a past. Its noise follows
  // from the model's seed and `key`, so that what happens next depends on nothing that happened before.
  // Throws Failure (invalid) while a program still has memory, streams or events there.
  static void restart(std::uint64_t key);
  const Model& model() const { return model_; }
  // Set once, before the first call that it is to see; it is kept for ever.
  void observe(Observer* observer) { observer_ = observer; }
  // Whether it serves a program that knows nothing of the simulator, and accesses all memory.
  bool serves_program() const { return memory_.all_real(); }
  void configure(const Settings& settings);  // before the first stream and the first allocation

  // --- time

  std::int64_t now_ns();                // the host's clock; reading it takes calls.clock_ns
  std::int64_t seen_ns();               // the same for an observer: it takes no time
  void pass(std::int64_t nanoseconds);  // the host's clock advances
  // Calls `action` once when the virtual time is reached, from inside whichever call makes time pass so far.
  // Returns a ticket for cancel_timer().
  std::uint64_t start_timer(std::int64_t delay_ns, std::function<void()> action);
  void cancel_timer(std::uint64_t ticket);

  // --- memory

  // `owner` is a GPU for device memory, else the domain that holds (or, managed, first gets) the pages.
  // Blocks smaller than 1 MiB are real memory that may be touched; larger ones are addresses only.
  void* allocate(Place owner, Kind kind, std::uint64_t bytes);
  void release(void* data);              // waits for all that is queued, as vendors' calls do
  void set_kind(void* data, Kind kind);  // registering, advice
  // Registers host memory of a program that knows nothing of the simulator, and undoes it: false if the
  // memory is known otherwise.
  bool register_own(void* data, std::uint64_t bytes, Place owner);
  bool unregister_own(void* data);
  Kind kind_of(const void* data);
  // The block that an address is in; no value: it is in none.
  struct Extent {
    std::byte* data;
    std::uint64_t bytes;
    Kind kind;
    Place owner;
    std::uint64_t number;  // which no other allocation has
  };
  std::optional<Extent> extent_of(const void* data);
  Place owner_of(const void* data);  // managed: where the first page is now
  std::map<int, std::uint64_t> placement(const void* data,
                                         std::uint64_t bytes);  // domain -> pages
  std::optional<Place> last_prefetch(const void* data,
                                     std::uint64_t bytes);  // where all of it went
  void hold(const void* data,
            bool hold);  // advice: kernels reach the block's pages where they are
  std::uint64_t free_bytes(Place place);
  // Host memory whose pages whoever touches them first decides about.
  void leave_to_first_touch(void* data);
  void touch(void* data, std::uint64_t bytes, Place by);  // a core writes every page
  void enable_peer(int gpu, int peer);                    // throws no_peer_access, already_enabled
  void disable_peer(int gpu, int peer);                   // throws invalid when it is not enabled
  bool can_access_peer(int gpu, int peer);

  // --- memory that peer access does not cover: it is opened to each GPU apart

  void open_pool(int owner, int gpu, bool open);  // throws no_peer_access
  void set_pool_threshold(int owner, std::uint64_t bytes);
  void trim_pool(int owner, std::uint64_t keep);
  // Gives memory back to its pool in order of a stream, without waiting. What the pool does not keep goes
  // back to the GPU when the host next waits for a stream of it or for all.
  void release_to_pool(void* data);
  // Physical memory by number, and addresses to map it to; release() gives them back.
  std::uint64_t create_physical(int gpu, std::uint64_t bytes);
  void release_physical(std::uint64_t number);
  void* reserve(std::uint64_t bytes);
  void map(void* data, std::uint64_t bytes, std::uint64_t number);
  void unmap(void* data);                             // waits for all that is queued
  void open_mapping(void* data, int gpu, bool open);  // throws no_peer_access
  // Memory of another rank by its handle: answers its address, which `gpu` may use from then on.
  void* open_shared(void* data, int gpu);
  void close_shared(void* data);
  void synchronize_device(int gpu);

  // --- queues

  Stream* create_stream(Place place);
  Stream* default_stream(int gpu);
  Stream* stream_of_thread(int gpu);  // the calling thread's own default stream
  void destroy(Stream* stream);       // waits for what is queued
  Event* create_event(Place place);
  void destroy(Event* event);
  void record(Event* event, Stream* stream);
  void wait(Stream* stream, Event* event);
  void copy(void* destination, const void* source, std::uint64_t bytes, Stream* stream,
            const CopyPolicy& policy);  // pageable ends: returns when the copy is done
  // Rows of `width_bytes`, a pitch in bytes apart on either side.
  void copy_rows(void* destination, std::uint64_t destination_pitch, const void* source,
                 std::uint64_t source_pitch, std::uint64_t width_bytes, std::uint64_t rows, Stream* stream,
                 const CopyPolicy& policy);
  void fill(void* data, unsigned char value, std::uint64_t bytes,
            Stream* stream);  // by a kernel of the runtime
  void prefetch(void* data, std::uint64_t bytes, Place to, Stream* stream);
  // `kernel` and `arguments` as in interfaces/*/arguments.hpp and the host's kernels of the same names.
  void launch(std::string_view kernel, const Shape& shape, const void* arguments, std::size_t bytes,
              Stream* stream);
  // What is enqueued between the two is recorded and not done. A graph plays it, in order, at the cost of one
  // call.
  void begin_recording(Stream* stream);
  Graph* end_recording(Stream* stream);
  Graph* copy_of(Graph* graph);
  void launch(Graph* graph, Stream* stream);
  void destroy(Graph* graph);
  // Several copies by one call.
  struct Piece {
    void* destination;
    const void* source;
    std::uint64_t bytes;
  };
  void copy_batch(const std::vector<Piece>& pieces, Stream* stream, const CopyPolicy& policy);
  bool finished(Event* event);  // never recorded counts as finished
  bool finished(Stream* stream);
  void synchronize(Event* event);
  void synchronize(Stream* stream);
  double elapsed_ns(Event* begin, Event* end);  // throws invalid when either has not happened

  // --- health

  Health health(int gpu);
  // Gives back the memory of a GPU, and takes its streams and events from whoever has them.
  void reset_gpu(int gpu);
  std::uint64_t resets(int gpu);

  // --- parts, for the libraries of ranks

  void configure_first(const Settings& settings);  // nobody else has the machine, or the mutex is held
  const std::string& sheet() const { return sheet_; }
  mpi::Transfers& transfers() { return transfers_; }
  xccl::Machine for_xccl() { return {model_, engine_, streams_, kernels_}; }
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }
  void check(Place place) const { devices_.check(place); }
  const Faults& faults() const { return faults_; }
  const Settings& settings() const { return settings_; }
  // The machine's time is that of the process from now on.
  void take_time() {
    time_.play(engine_);
    xccl::Library::of_process().refuse({});
    time_.when_broken(
        [this] {
          const std::string lost = devices_.failures();
          return lost.empty() ? xccl::Library::of_process().refusal() : lost;
        },
        [this] { return AtFault{-1, devices_.first_failed(), devices_.failures().empty()}; });
  }
  bool idle() const { return engine_.idle(); }
  bool in_use() const { return memory_.blocks() > transfers_.spare_buffers() || streams_.in_use(); }

 private:
  static void load_named();
  Lock enter(double cost_ns);
  void launch_now(Lock& lock, std::string_view kernel, const Shape& shape, const std::byte* arguments,
                  std::size_t bytes, Stream* stream);
  // A copy call of `bytes` from place to place; `effect` is what it leaves in memory.
  void submit_copy(Lock& lock, const Range& to, const Range& from, double bytes, Stream* stream,
                   const CopyPolicy& policy, std::function<void()> effect);
  void require_known_memory(const Range& range) const;
  Block& known(const void* data) const;
  // A call is refused for an address with which a kernel would have broken its GPU.
  Range range_of_call(const void* data, std::uint64_t bytes) const;
  // The same for copies, where memory may be the program's own. It counts as near the GPU that copies it.
  Range range_of_copy(const void* data, std::uint64_t bytes, Place executor);
  Place near(Place executor) const;
  void observe_copy(Operation& operation, const Range& to, const Range& from, double bytes, bool by_kernel);
  // As freeing memory does with vendors, and so that no operation ends on memory that is gone.
  void wait_for_all(Lock& lock);
  // Ends the releases to the pool of a GPU that has been waited for.
  void settle_pool(Lock& lock, int gpu);
  void require_link(int owner, int gpu);

  const std::string sheet_;
  Settings settings_;
  const Model model_;
  const Faults faults_;
  Engine engine_;
  Timeline& time_;
  std::mutex& mutex_;
  Memory memory_;
  Costs costs_;
  MemoryAccounting accounting_;
  std::multimap<int, void*> released_to_pool_;  // by GPU, since it was last waited for
  const AllocationCost allocation_cost_;
  Devices devices_;
  Streams streams_;
  Graphs graphs_;
  Kernels kernels_;
  mpi::Transfers transfers_;
  Observer* observer_ = nullptr;
};

}  // namespace byteways::sim
