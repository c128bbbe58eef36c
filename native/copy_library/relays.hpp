// Large copies in parts: one over the direct path, the others over GPUs that pass them on piece by piece
// through their own staging memory. The copy forks from its stream by an event and joins it again.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "copy_library/plan_file.hpp"
#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {

class Relays {
 public:
  explicit Relays(Driver& driver) : driver_(&driver) {}
  ~Relays() {
    if (!is_forked()) release();
  }

  // Allocates `depth` chains with pieces of `piece_bytes` on a GPU. Returns the driver's code; on a failure
  // nothing is left allocated.
  int add(int gpu, std::size_t piece_bytes, unsigned depth);
  // Waits for the copies of all relays, and frees them.
  void release();
  std::size_t staging_bytes() const { return staging_bytes_.load(std::memory_order_relaxed); }

  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    Stream stream;
    Event fork;  // one of the stream's GPU
    const Grid* grid;
    const std::vector<double>* parts;
    double expected_ns;
  };
  enum class Outcome { done, busy, failed };
  // Enqueues the copy. busy, failed: nothing was enqueued. A failure halfway is a code, and what was enqueued
  // is joined to the stream.
  Outcome enqueue(const Copy& copy, int* code);
  // Whether all relays of a method are there and could begin now.
  bool are_idle(const Grid& grid, Stream stream);

 private:
  // Pieces that use one buffer in turn: its own stream keeps them in order.
  struct Chain {
    Stream stream = nullptr;
    void* staging = nullptr;
    Event begin = nullptr, end = nullptr;
  };
  struct Relay {
    int gpu = 0;
    std::size_t piece_bytes = 0;
    std::vector<Chain> chains;
    Stream user = nullptr;  // the stream of its latest copy
    bool used = false, judged = true;
    double expected_ns = 0;
    unsigned rest = 0;  // calls for which it is left alone, because its link was in use
  };

  Relay* find(int gpu, const Grid& grid);
  bool is_idle(Relay& relay, Stream stream);
  void free(Relay& relay);
  int pass_on(Chain& chain, const Copy& copy, std::size_t offset, std::size_t bytes);
  int enqueue_parts(const Copy& copy, const std::vector<Relay*>& used);

  Driver* driver_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Relay>> relays_;
  std::atomic<std::size_t> staging_bytes_{0};
};

}  // namespace byteways::copy_library
