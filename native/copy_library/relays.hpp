// Large copies in parts: one over the direct path, the others over GPUs that pass them on piece by piece
// through their own staging memory. The copy forks from its stream by an event and joins it again.
#pragma once
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
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

  // Makes a relay of a GPU, with memory for `staging_bytes` and streams for `depth` pieces. Returns the
  // driver's code; on a failure nothing is left allocated. May throw std::bad_alloc.
  int add(int gpu, std::size_t staging_bytes, unsigned depth);
  // Waits for the copies of all relays, and frees them.
  void release();
  // The context of a GPU was reset: nothing of its relay is there any more, and nothing is given back.
  void forget(int gpu);
  std::size_t staging_bytes() const { return staging_bytes_.load(std::memory_order_relaxed); }

  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
    Stream stream;
    int by;      // the stream's GPU
    Event fork;  // one of that GPU
    const Grid* grid;
    const Row* row;
    double expected_ns;
  };
  enum class Outcome { done, busy, failed };
  // Enqueues the copy. busy, failed: nothing was enqueued. A failure halfway is a code; what was enqueued is
  // joined to the stream where the driver allows it, and these relays are not used again.
  Outcome enqueue(const Copy& copy, int* code);
  // Whether all relays of a method are there and could begin now, for a stream of a GPU.
  bool are_idle(const Grid& grid, Stream stream, int by);

 private:
  // Who has used a relay. The handles of default streams mean another one on each GPU, and that of
  // cudaStreamPerThread another one in each thread.
  struct User {
    Stream stream = nullptr;
    int by = kUnknown;
    std::thread::id thread{};
    bool operator==(const User&) const = default;
  };
  static User user_of(Stream stream, int by);

  // Pieces that use one part of the staging memory in turn: their stream keeps them in order.
  struct Chain {
    Stream stream = nullptr;
    Event begin = nullptr, end = nullptr;
  };
  struct Relay {
    int gpu = 0;
    void* staging = nullptr;
    std::size_t staging_bytes = 0;
    std::vector<Chain> chains;
    User user;                    // of its latest copy
    std::size_t piece_bytes = 0;  // of that copy: pieces of another size lie across those of several chains
    unsigned depth = 0;
    bool used = false, judged = true;
    bool broken = false;  // a copy failed halfway: nobody knows what its streams still do
    double expected_ns = 0;
    unsigned rest = 0;  // calls for which it is left alone, because its link was in use
  };

  // What one relay gets of a copy.
  struct Share {
    Relay* relay;
    std::size_t offset, bytes;
  };

  Relay* find(int gpu, const Grid& grid);
  bool is_idle(Relay& relay, const Grid& grid, const User& user);
  void free(Relay& relay);
  int pass_on(const Share& share, const Copy& copy, std::size_t number);
  int enqueue_parts(const Copy& copy, const std::vector<Share>& shares, std::size_t passed_on);

  Driver* driver_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Relay>> relays_;
  std::atomic<std::size_t> staging_bytes_{0};
};

}  // namespace byteways::copy_library
