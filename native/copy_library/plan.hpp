// A plan in use: the file's GPUs as this process numbers them, what was prepared on each, and the choice of a
// method for a copy.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "copy_library/blocks.hpp"
#include "copy_library/byteways_copy.h"
#include "copy_library/kernels.hpp"
#include "copy_library/plan_file.hpp"
#include "copy_library/relays.hpp"
#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {

struct Request {
  Stream stream = nullptr;
  NonEmpty blocks{};
  Survey seen{};      // of the blocks
  int by = kUnknown;  // the GPU of the stream
  bool capturing = false;
};

struct Choice {
  int method = BW_METHOD_DEFAULT;
  int fallback = BW_FALLBACK_NONE;
  double ns = 0, default_ns = 0;
  const Grid* grid = nullptr;
  const Row* row = nullptr;
};

// Counters of calls; those of several threads do not wait for each other.
struct Counts {
  std::array<std::atomic<std::uint64_t>, BW_METHODS> calls{}, bytes{};
  std::array<std::atomic<std::uint64_t>, BW_FALLBACKS> fallbacks{};
};

class Plan {
 public:
  Plan(Driver& driver, PlanFile file);
  ~Plan();

  // Functions that prepare return 0, the driver's code or one of BW_*, and are called by one thread at a
  // time.
  int prepare(int gpu);
  int allow_peers(const std::vector<int>& gpus);
  void limit_staging(std::size_t bytes) { staging_limit_ = bytes; }

  // Finds the GPU of the stream. Returns why the copy is the driver's call whatever is copied;
  // BW_FALLBACK_NONE: the choice needs the places of the blocks.
  int find_gpu(Request& request) const;
  Choice choose(Request& request);
  // Enqueues the copy by the method chosen. Returns false, with the reason in the choice, where nothing was
  // enqueued; else `code` is the driver's.
  bool enqueue(const Request& request, Choice& choice, int* code);

  const std::string& warning() const { return warning_; }
  void count(const Choice& choice, std::uint64_t bytes);
  void fill(bw_statistics& statistics) const;

 private:
  // What a GPU needs for copies by its streams. Made and given back while the GPU is current.
  struct Prepared {
    explicit Prepared(const Driver& driver) : driver(&driver) {}
    ~Prepared() {
      if (fork != nullptr) driver->destroy_event(fork);
    }
    const Driver* driver;
    Event fork = nullptr;
    std::unique_ptr<Kernels> kernels{};  // nullptr: this GPU loads none
    std::array<bool, BW_METHODS> works{};
    std::atomic<std::uint64_t> reached{0};  // GPUs whose memory kernels here have access to, a bit each
    std::unique_ptr<Prepared> older{};      // of the plan's list of those that are gone
  };
  // The context of a GPU as it was when the plan first used it there. A program may reset it
  // (cudaDeviceReset), and all that the plan had there is gone.
  class ContextWatch {
   public:
    ContextWatch(const Driver& driver, int gpu) : driver_(&driver), gpu_(gpu) {}
    ~ContextWatch();
    std::unique_ptr<ContextWatch> older{};  // of the plan's list of those that are gone
    int begin();                            // returns the driver's code
    bool is_same() const { return identity_ == 0 || identity() == identity_; }
    bool was_reset() const;

   private:
    std::uint64_t identity() const {
      return memory_ == nullptr ? driver_->context_identity(gpu_) : driver_->identity(memory_);
    }
    const Driver* driver_;
    int gpu_;
    void* memory_ = nullptr;      // where the driver has no number for contexts: an allocation there has
    std::uint64_t identity_ = 0;  // 0: the driver has no numbers, and a reset is not noticed
  };

  void bind(PlanFile& file);
  void warn(const std::string& text);
  static std::string name_of(int place);
  const Path* path_of(int from, int to, int by) const;
  bool reaches(const Prepared& prepared, const Side& side, int by) const;
  int use(int gpu);
  bool is_there(int gpu) const;
  void forget_reset_gpus();
  void forget(int gpu);
  static void lose(Prepared& prepared);
  int obstacle(const Grid& grid, const Request& request, const Prepared& prepared);
  bool enqueue_on(const Request& request, const Prepared& prepared, Choice& choice, int* code);
  int copy_batch(const Request& request) const;
  int prove(int gpu, Prepared& prepared);
  bool proves(const Path& path, const Prepared& prepared, const Grid& grid, Stream stream);
  void open_peers(int gpu, Prepared& prepared);
  void open_relays();
  void make_relays();
  bool may_relay(const Path& path, int peer);
  bool proves_relay(const Path& path, const Grid& grid);

  Driver* driver_;
  std::string warning_;
  bool other_machine_ = false;
  std::vector<Path> paths_;  // by the numbers of this process
  std::vector<std::atomic<Prepared*>> prepared_;
  std::vector<std::atomic<ContextWatch*>> watches_;  // by GPU; nullptr: the plan does not use it
  // Of contexts that were reset. Calls of other threads may still look at them. Lists that need no memory.
  std::unique_ptr<Prepared> old_prepared_;
  std::unique_ptr<ContextWatch> old_watches_;
  std::vector<int> peers_;
  std::size_t staging_limit_ = std::size_t{64} << 20;
  static constexpr int kMostPeers = 64;
  std::atomic<std::uint64_t> allowed_{0};  // GPUs whose relays may be used, a bit each
  Relays relays_;
  bool relays_are_missing_ = false;  // they could not be opened for lack of host memory
  std::mutex preparation_;
  Counts counts_;
};

}  // namespace byteways::copy_library

struct bw_plan {
  explicit bw_plan(byteways::copy_library::Driver& driver, byteways::copy_library::PlanFile file)
      : plan(driver, std::move(file)) {}
  byteways::copy_library::Plan plan;
};
