// Copies of blocks by a kernel that reads a list of their addresses: the lists, in pinned memory that the GPU
// reads, and the launches. Of one GPU.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "copy_library/blocks.hpp"
#include "copy_library/plan_file.hpp"
#include "interfaces/blocks/arguments.hpp"
#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {

class Kernels {
 public:
  // Loads the kernels and allocates the lists, on the GPU, which is current. nullptr, with the reason, where
  // that fails.
  static std::unique_ptr<Kernels> open(const Driver& driver, int gpu, std::string& reason);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  bool has_bulk() const { return bulk_ != nullptr; }
  // Dynamic shared memory that a block of the grid may have on this GPU.
  std::size_t most_shared_bytes() const { return most_shared_bytes_; }
  // The context of the GPU was reset: nothing of it is there any more, and nothing is given back.
  void forget();

  struct Copy {
    const NonEmpty& blocks;
    const Survey& seen;
    Stream stream;
    bool capturing;
  };
  enum class Outcome { done, busy, failed };
  // Enqueues the copy. busy, failed: nothing was enqueued. A failure halfway is a code.
  Outcome enqueue(const Copy& copy, const Grid& grid, int* code);
  // Lists of captured copies are never written again, because a graph may be launched at any time.
  bool has_room_for_graph(const NonEmpty& blocks, const Survey& seen);

 private:
  // A part of a chunk of list memory in use, until its event has happened.
  struct Lease {
    std::size_t chunk = 0, begin = 0, end = 0;
    Event event = nullptr;  // its own, created once
    enum class State { taken, recorded, lost } state = State::taken;
  };
  struct Part {
    BlockPair* list = nullptr;
    Lease* lease = nullptr;  // nullptr: of a graph
    std::size_t blocks = 0;
  };

  struct Parts {
    std::vector<Part> list;
  };

  Kernels(const Driver& driver, int gpu) : driver_(&driver), gpu_(gpu) {}
  int allocate();
  bool take(std::size_t blocks, bool for_ever, Part& part);
  void reclaim();
  Lease& lease(std::size_t place) { return leases_[(first_ + place) % kLeases]; }
  bool is_free(std::size_t chunk, std::size_t begin, std::size_t end);
  bool take_all(std::vector<Part>& parts, std::size_t blocks, std::size_t most, bool for_ever);
  static void write(const std::vector<Part>& parts, const NonEmpty& blocks, const Survey& seen,
                    std::size_t piece_bytes);
  int launch(const Part& part, std::size_t piece_bytes, Stream stream, const Grid& grid) const;
  int launch_bulk(const Part& part, std::size_t piece_bytes, Stream stream, const Grid& grid) const;

  static constexpr std::size_t kChunks = 4, kLeases = 64;
  static constexpr int kNotLaunched = 1;  // CUDA_ERROR_INVALID_VALUE, as the driver answers

  const Driver* driver_;
  int gpu_;
  Module module_ = nullptr, bulk_module_ = nullptr;
  Kernel covering_ = nullptr, resident_ = nullptr;
  Kernel bulk_ = nullptr;  // of GPUs that have the instructions
  std::size_t most_shared_bytes_ = 0;
  std::mutex mutex_;
  std::array<void*, kChunks + 1> memory_{};  // the last one is of graphs
  std::size_t chunk_ = 0, at_ = 0, of_graphs_ = 0;
  std::array<bool, kChunks> lost_{};     // chunks of which nobody knows whether the GPU still reads them
  std::array<Lease, kLeases> leases_{};  // `used_` of them from `first_` on, in the order of their taking
  std::size_t first_ = 0, used_ = 0;
};

}  // namespace byteways::copy_library
