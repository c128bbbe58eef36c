// The front of the simulated machine: it takes the mutex, charges the call and puts the parts together.
// world.cpp has time and health, world_memory.cpp memory, world_queues.cpp streams and what is enqueued.
#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/allocation_cost.hpp"
#include "simulator/costs.hpp"
#include "simulator/devices.hpp"
#include "simulator/engine.hpp"
#include "simulator/faults.hpp"
#include "simulator/graphs.hpp"
#include "simulator/kernels.hpp"
#include "simulator/memory.hpp"
#include "simulator/memory_accounting.hpp"
#include "simulator/mpi_transfers.hpp"
#include "simulator/streams.hpp"
#include "simulator/timeline.hpp"
#include "simulator/world.hpp"
#include "simulator/xccl.hpp"

namespace byteways::sim {

class SimulatedWorld final : public World {
 public:
  explicit SimulatedWorld(std::string_view sheet, std::uint64_t key = 0)
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

  // Throws Failure (internal) when no machine is loaded.
  static SimulatedWorld& get();

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
  const Model& model() const override { return model_; }

  void configure(const Settings& settings) override;
  void configure_first(const Settings& settings);  // nobody else has the machine, or the mutex is held
  std::int64_t now_ns() override;
  void pass(std::int64_t nanoseconds) override;
  std::uint64_t start_timer(std::int64_t delay_ns, std::function<void()> action) override;
  void cancel_timer(std::uint64_t ticket) override;

  void* allocate(Place owner, Kind kind, std::uint64_t bytes) override;
  void release(void* data) override;
  void set_kind(void* data, Kind kind) override;
  Kind kind_of(const void* data) override;
  Place owner_of(const void* data) override;
  std::map<int, std::uint64_t> placement(const void* data, std::uint64_t bytes) override;
  std::optional<Place> last_prefetch(const void* data, std::uint64_t bytes) override;
  void hold(const void* data, bool hold) override;
  std::uint64_t free_bytes(Place place) override;
  void leave_to_first_touch(void* data) override;
  void touch(void* data, std::uint64_t bytes, Place by) override;
  void enable_peer(int gpu, int peer) override;
  void disable_peer(int gpu, int peer) override;
  bool can_access_peer(int gpu, int peer) override;

  void open_pool(int owner, int gpu, bool open) override;
  void set_pool_threshold(int owner, std::uint64_t bytes) override;
  void trim_pool(int owner, std::uint64_t keep) override;
  void release_to_pool(void* data) override;
  std::uint64_t create_physical(int gpu, std::uint64_t bytes) override;
  void release_physical(std::uint64_t number) override;
  void* reserve(std::uint64_t bytes) override;
  void map(void* data, std::uint64_t bytes, std::uint64_t number) override;
  void unmap(void* data) override;
  void open_mapping(void* data, int gpu, bool open) override;
  void* open_shared(void* data, int gpu) override;
  void synchronize_device(int gpu) override;

  Stream* create_stream(Place place) override;
  Stream* default_stream(int gpu) override;
  void destroy(Stream* stream) override;
  Event* create_event(Place place) override;
  void destroy(Event* event) override;
  void record(Event* event, Stream* stream) override;
  void wait(Stream* stream, Event* event) override;
  void copy(void* destination, const void* source, std::uint64_t bytes, Stream* stream,
            const CopyPolicy& policy) override;
  void copy_rows(void* destination, std::uint64_t destination_pitch, const void* source,
                 std::uint64_t source_pitch, std::uint64_t width_bytes, std::uint64_t rows, Stream* stream,
                 const CopyPolicy& policy) override;
  void prefetch(void* data, std::uint64_t bytes, Place to, Stream* stream) override;
  void launch(std::string_view kernel, const Shape& shape, const void* arguments, std::size_t bytes,
              Stream* stream) override;
  void begin_recording(Stream* stream) override;
  Graph* end_recording(Stream* stream) override;
  Graph* copy_of(Graph* graph) override;
  void launch(Graph* graph, Stream* stream) override;
  void destroy(Graph* graph) override;
  void copy_batch(const std::vector<Piece>& pieces, Stream* stream, const CopyPolicy& policy) override;
  bool finished(Event* event) override;
  void synchronize(Event* event) override;
  void synchronize(Stream* stream) override;
  double elapsed_ns(Event* begin, Event* end) override;

  Health health(int gpu) override;

 private:
  Lock enter(double cost_ns);
  void launch_now(Lock& lock, std::string_view kernel, const Shape& shape, const std::byte* arguments,
                  std::size_t bytes, Stream* stream);
  // A copy call of `bytes` from place to place; `effect` is what it leaves in memory.
  void submit_copy(Lock& lock, const Range& to, const Range& from, double bytes, Stream* stream,
                   const CopyPolicy& policy, std::function<void()> effect);
  Block& known(const void* data) const;
  // A call is refused for an address with which a kernel would have broken its GPU.
  Range range_of_call(const void* data, std::uint64_t bytes) const;
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
};

}  // namespace byteways::sim
