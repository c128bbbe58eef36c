// The simulated machine in one process: what every entry point (cuda_api, hip_api, nvml_api, host_api …) is
// made of. One mutex guards all of it; every call charges the host's virtual time, looks at the gates' words,
// and only what has to be waited for makes the engine run (engine.hpp).
//
// GPUs are numbered as the model has them; hiding and renumbering (…_VISIBLE_DEVICES) is the entry points'
// work.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/machine/model.hpp"

namespace byteways::sim {

inline Place gpu_place(int gpu) { return {Place::Kind::gpu, gpu}; }

// What goes wrong, in words that every vendor has a code for.
enum class Code {
  invalid,  // a null or foreign handle, a size of 0, an unknown kernel
  out_of_memory,
  no_device,
  no_peer_access,   // asked for access that cannot be had
  already_enabled,  // peer access
  illegal_address,  // an operation touched what it may not: sticky, the device is gone for this process
  device_lost,      // sticky as well
  not_supported,
  internal,  // no machine loaded, a deadlock in the simulated program
};

class Failure : public std::exception {
 public:
  Failure(Code code, std::string text) : code_(code), text_(std::move(text)) {}
  Code code() const { return code_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Code code_;
  std::string text_;
};

// As runtimes/runtime.hpp names them. hugepage and registered are pageable memory with another property.
enum class Kind {
  pageable,
  hugepage,
  registered,
  pinned,
  pinned_noncoherent,
  write_combined,
  managed,
  managed_coarse,
  device,
  device_fine,
  device_uncached,
  pool,
  vmm,
};

// Opaque to the entry points; they hand the pointer out as the vendor's handle.
struct Stream;
struct Event;
struct Graph;

struct Shape {
  unsigned blocks = 1, threads = 1, shared_bytes = 0;
};

// How the runtime of this process was told to copy (environment of the process, options of a call).
struct CopyPolicy {
  bool engines = true;                      // false: HSA_ENABLE_SDMA=0
  bool peer_engines = true;                 // false: HSA_ENABLE_PEER_SDMA=0
  std::uint64_t blit_peer_up_to_bytes = 0;  // ROC_P2P_SDMA_SIZE; local copies are always done by a kernel
  std::uint64_t blit_host_up_to_bytes = 0;  // GPU_FORCE_BLIT_COPY_SIZE
  int engine = -1;                          // a chosen engine, -1: any
};

// What the environment of this process changes about the machine; read by the entry points, once.
struct Settings {
  int hardware_queues = 0;   // GPU_MAX_HW_QUEUES; 0: as the model has it
  bool retry_faults = true;  // false: HSA_XNACK is not 1 on a machine that has it. Managed pages then stay
                             // where they are, and kernels do not reach pageable memory; else both are as
                             // the model has them
};

class World {
 public:
  // Loads the machine of this process, once; the same sheet again changes nothing, another one throws.
  static void load(std::string_view sheet);
  // Throws Failure (internal) when no machine is loaded.
  static World& get();
  // The machine as it was loaded: its time is 0, nothing is allocated, no queue has a past. Its noise follows
  // from the model's seed and `key`, so that what happens next depends on nothing that happened before.
  // Throws Failure (invalid) while a program still has memory, streams or events there.
  static void restart(std::uint64_t key);
  virtual ~World() = default;

  virtual const Model& model() const = 0;
  virtual void configure(const Settings& settings) = 0;  // before the first stream and the first allocation

  // --- time

  virtual std::int64_t now_ns() = 0;                // the host's clock; reading it takes calls.clock_ns
  virtual void pass(std::int64_t nanoseconds) = 0;  // the host's clock advances
  // Calls `action` once when the virtual time is reached, from inside whichever call makes time pass so far.
  // Returns a ticket for cancel_timer().
  virtual std::uint64_t start_timer(std::int64_t delay_ns, std::function<void()> action) = 0;
  virtual void cancel_timer(std::uint64_t ticket) = 0;

  // --- memory

  // `owner` is a GPU for device memory, else the domain that holds (or, managed, first gets) the pages.
  // Blocks smaller than 1 MiB are real memory that may be touched; larger ones are addresses only.
  virtual void* allocate(Place owner, Kind kind, std::uint64_t bytes) = 0;
  virtual void release(void* data) = 0;              // waits for all that is queued, as vendors' calls do
  virtual void set_kind(void* data, Kind kind) = 0;  // registering, advice
  virtual Kind kind_of(const void* data) = 0;
  virtual Place owner_of(const void* data) = 0;  // managed: where the first page is now
  virtual std::map<int, std::uint64_t> placement(const void* data,
                                                 std::uint64_t bytes) = 0;  // domain -> pages
  virtual std::optional<Place> last_prefetch(const void* data,
                                             std::uint64_t bytes) = 0;  // where all of it went
  virtual void hold(const void* data,
                    bool hold) = 0;  // advice: kernels reach the block's pages where they are
  virtual std::uint64_t free_bytes(Place place) = 0;
  // Host memory whose pages whoever touches them first decides about.
  virtual void leave_to_first_touch(void* data) = 0;
  virtual void touch(void* data, std::uint64_t bytes, Place by) = 0;  // a core writes every page
  virtual void enable_peer(int gpu, int peer) = 0;   // throws no_peer_access, already_enabled
  virtual void disable_peer(int gpu, int peer) = 0;  // throws invalid when it is not enabled
  virtual bool can_access_peer(int gpu, int peer) = 0;

  // --- memory that peer access does not cover: it is opened to each GPU apart

  virtual void open_pool(int owner, int gpu, bool open) = 0;  // throws no_peer_access
  virtual void set_pool_threshold(int owner, std::uint64_t bytes) = 0;
  virtual void trim_pool(int owner, std::uint64_t keep) = 0;
  // Gives memory back to its pool in order of a stream, without waiting. What the pool does not keep goes
  // back to the GPU when the host next waits for a stream of it or for all.
  virtual void release_to_pool(void* data) = 0;
  // Physical memory by number, and addresses to map it to; release() gives them back.
  virtual std::uint64_t create_physical(int gpu, std::uint64_t bytes) = 0;
  virtual void release_physical(std::uint64_t number) = 0;
  virtual void* reserve(std::uint64_t bytes) = 0;
  virtual void map(void* data, std::uint64_t bytes, std::uint64_t number) = 0;
  virtual void unmap(void* data) = 0;                             // waits for all that is queued
  virtual void open_mapping(void* data, int gpu, bool open) = 0;  // throws no_peer_access
  // Memory of another rank by its handle: answers its address, which `gpu` may use from then on.
  virtual void* open_shared(void* data, int gpu) = 0;
  virtual void synchronize_device(int gpu) = 0;

  // --- queues

  virtual Stream* create_stream(Place place) = 0;
  virtual Stream* default_stream(int gpu) = 0;
  virtual void destroy(Stream* stream) = 0;  // waits for what is queued
  virtual Event* create_event(Place place) = 0;
  virtual void destroy(Event* event) = 0;
  virtual void record(Event* event, Stream* stream) = 0;
  virtual void wait(Stream* stream, Event* event) = 0;
  virtual void copy(void* destination, const void* source, std::uint64_t bytes, Stream* stream,
                    const CopyPolicy& policy) = 0;  // pageable ends: returns when the copy is done
  // Rows of `width_bytes`, a pitch in bytes apart on either side.
  virtual void copy_rows(void* destination, std::uint64_t destination_pitch, const void* source,
                         std::uint64_t source_pitch, std::uint64_t width_bytes, std::uint64_t rows,
                         Stream* stream, const CopyPolicy& policy) = 0;
  virtual void prefetch(void* data, std::uint64_t bytes, Place to, Stream* stream) = 0;
  // `kernel` and `arguments` as in interfaces/*/arguments.hpp and the host's kernels of the same names.
  virtual void launch(std::string_view kernel, const Shape& shape, const void* arguments, std::size_t bytes,
                      Stream* stream) = 0;
  // What is enqueued between the two is recorded and not done. A graph plays it, in order, at the cost of one
  // call.
  virtual void begin_recording(Stream* stream) = 0;
  virtual Graph* end_recording(Stream* stream) = 0;
  virtual Graph* copy_of(Graph* graph) = 0;
  virtual void launch(Graph* graph, Stream* stream) = 0;
  virtual void destroy(Graph* graph) = 0;
  // Several copies by one call.
  struct Piece {
    void* destination;
    const void* source;
    std::uint64_t bytes;
  };
  virtual void copy_batch(const std::vector<Piece>& pieces, Stream* stream, const CopyPolicy& policy) = 0;
  virtual bool finished(Event* event) = 0;  // never recorded counts as finished
  virtual void synchronize(Event* event) = 0;
  virtual void synchronize(Stream* stream) = 0;
  virtual double elapsed_ns(Event* begin, Event* end) = 0;  // throws invalid when either has not happened

  // --- health

  struct Health {
    std::int64_t clock_mhz = 0, memory_clock_mhz = 0;
    bool throttled = false;
    std::uint64_t sent_bytes = 0, received_bytes = 0;  // payload over GPU-to-GPU links
  };
  virtual Health health(int gpu) = 0;
};

}  // namespace byteways::sim
