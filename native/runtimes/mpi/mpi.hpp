// Message passing as C++: the table of table.hpp with failures as exceptions. Calls are collective where
// MPI's are.
//
// Nothing here ends MPI unasked: MPI_Finalize waits for all ranks, so that a rank which leaves after a
// failure has to leave without it. Its launcher then ends the others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "runtimes/mpi/library.hpp"
#include "runtimes/mpi/table.hpp"
#include "runtimes/ranks.hpp"

namespace byteways {

// Messages that are under way. They are to be waited for before their memory is gone.
class Requests {
 public:
  bool empty() const { return count_ == 0; }

 private:
  friend class Communicator;
  // Room for one more.
  void* next() {
    if (used_bytes_ == room_.size() * kMostRequestBytes) room_.resize(2 * room_.size() + 8);
    return reinterpret_cast<std::byte*>(room_.data()) + used_bytes_;
  }
  void keep(int request_bytes) {
    used_bytes_ += static_cast<std::size_t>(request_bytes);
    ++count_;
  }
  void keep_first(int count, int request_bytes) {
    used_bytes_ = static_cast<std::size_t>(count) * static_cast<std::size_t>(request_bytes);
    count_ = count;
  }

  std::vector<std::uint64_t> room_;  // of requests one after the other, as the library has them
  std::size_t used_bytes_ = 0;
  int count_ = 0;
};
static_assert(kMostRequestBytes == sizeof(std::uint64_t));

// The library as long as it is between start and end.
class MpiLibrary {
 public:
  explicit MpiLibrary(const BytewaysMpi* opened) : table_(opened) {}

  const BytewaysMpi& table(const char* call) const {
    if (ended_) fail_ended(call);
    return *table_;
  }
  void check(const char* call, int error) const {
    if (error != 0) fail(call, error);
  }
  bool ended() const { return ended_; }
  void end() { ended_ = true; }
  [[noreturn]] void fail(const char* call, int error) const;

 private:
  [[noreturn]] static void fail_ended(const char* call);

  const BytewaysMpi* table_;
  bool ended_ = false;
};

// Ranks that send to each other. Counts are in elements. Every verb throws Error with the call, the error
// code and the library's words.
class Communicator final : public Ranks {
 public:
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator() override;  // frees a part; all its ranks are to drop it

  // Ranks of the same color, in order of `key`; empty for color -1.
  std::optional<Communicator> split(int color, int key) const;
  // Ranks that share a host's memory.
  Communicator split_by_host() const;

  // What is timed is inline: a call takes as few instructions more than the library's own as can be.
  void send(const void* data, std::int64_t count, BytewaysElement element, int to, int tag) const {
    check("MPI_Send", table("MPI_Send").send(data, count, element, to, tag, comm_));
  }
  void receive(void* data, std::int64_t count, BytewaysElement element, int from, int tag) const {
    check("MPI_Recv", table("MPI_Recv").receive(data, count, element, from, tag, comm_));
  }
  void start_send(Requests& requests, const void* data, std::int64_t count, BytewaysElement element, int to,
                  int tag) const {
    const BytewaysMpi& mpi = table("MPI_Isend");
    check("MPI_Isend", mpi.start_send(data, count, element, to, tag, comm_, requests.next()));
    requests.keep(mpi.request_bytes);
  }
  void start_receive(Requests& requests, void* data, std::int64_t count, BytewaysElement element, int from,
                     int tag) const {
    const BytewaysMpi& mpi = table("MPI_Irecv");
    check("MPI_Irecv", mpi.start_receive(data, count, element, from, tag, comm_, requests.next()));
    requests.keep(mpi.request_bytes);
  }
  void wait(Requests& requests) const {
    if (const int error = table("MPI_Waitall").wait_all(requests.count_, requests.room_.data()))
      fail("MPI_Waitall", error, requests);
    requests.keep_first(0, 0);
  }
  bool test(Requests& requests) const;  // whether all are done
  // Sends `bytes` at `data` to this rank itself, right behind them.
  void message_to_self(std::byte* data, std::int64_t bytes) const {
    constexpr int kTag = 1;
    Requests requests;
    start_receive(requests, data + bytes, bytes, kByte, rank_, kTag);
    start_send(requests, data, bytes, kByte, rank_, kTag);
    wait(requests);
  }

  void barrier() const override { check("MPI_Barrier", table("MPI_Barrier").barrier(comm_)); }
  void broadcast(void* data, std::int64_t count, BytewaysElement element, int root) const {
    check("MPI_Bcast", table("MPI_Bcast").broadcast(data, count, element, root, comm_));
  }
  // In place where the source is nullptr; of scatter, the destination (table.hpp). `count` is of one rank's
  // block.
  void reduce(const void* source, void* destination, std::int64_t count, BytewaysElement element,
              int root) const {
    check("MPI_Reduce", table("MPI_Reduce").reduce(source, destination, count, element, root, comm_));
  }
  void allreduce(const void* source, void* destination, std::int64_t count, BytewaysElement element) const {
    check("MPI_Allreduce", table("MPI_Allreduce").allreduce(source, destination, count, element, comm_));
  }
  void reduce_scatter(const void* source, void* destination, std::int64_t count,
                      BytewaysElement element) const {
    constexpr const char* kCall = "MPI_Reduce_scatter_block";
    check(kCall, table(kCall).reduce_scatter(source, destination, count, element, comm_));
  }
  void allgather(const void* source, void* destination, std::int64_t count, BytewaysElement element) const {
    check("MPI_Allgather", table("MPI_Allgather").allgather(source, destination, count, element, comm_));
  }
  void gather(const void* source, void* destination, std::int64_t count, BytewaysElement element,
              int root) const {
    check("MPI_Gather", table("MPI_Gather").gather(source, destination, count, element, root, comm_));
  }
  void scatter(const void* source, void* destination, std::int64_t count, BytewaysElement element,
               int root) const {
    check("MPI_Scatter", table("MPI_Scatter").scatter(source, destination, count, element, root, comm_));
  }
  void alltoall(const void* source, void* destination, std::int64_t count, BytewaysElement element) const {
    check("MPI_Alltoall", table("MPI_Alltoall").alltoall(source, destination, count, element, comm_));
  }

  std::string broadcast_bytes(std::string mine, int root) const override;
  std::vector<std::string> gather_bytes(const std::string& mine) const override;

 private:
  friend class Mpi;
  friend class Window;
  Communicator(std::shared_ptr<MpiLibrary> library, BytewaysComm comm, bool owned);
  const BytewaysMpi& table(const char* call) const { return library_->table(call); }
  void check(const char* call, int error) const { library_->check(call, error); }
  // Keeps of the requests those that are still under way.
  [[noreturn]] void fail(const char* call, int error, Requests& requests) const;
  void release() noexcept;

  std::shared_ptr<MpiLibrary> library_;
  BytewaysComm comm_ = 0;
  bool owned_ = false;
};

// Memory of each rank of a communicator that the others put into and get from. Its ranks create and drop it
// together; nobody else may use the communicator meanwhile. Offsets are in bytes from the other rank's
// `memory`, counts in bytes.
class Window {
 public:
  Window(const Communicator& ranks, void* memory, std::int64_t bytes);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window();

  void put(const void* data, std::int64_t bytes, int to, std::int64_t offset) const {
    check("MPI_Put", table("MPI_Put").put(data, bytes, kByte, to, offset, window_));
  }
  void get(void* data, std::int64_t bytes, int from, std::int64_t offset) const {
    check("MPI_Get", table("MPI_Get").get(data, bytes, kByte, from, offset, window_));
  }
  // Begins the epoch in which this rank may flush and sync; the window ends it.
  void lock_all();
  void flush(int rank) const { check("MPI_Win_flush", table("MPI_Win_flush").flush(rank, window_)); }
  void sync() const { check("MPI_Win_sync", table("MPI_Win_sync").sync(window_)); }
  void fence() const { check("MPI_Win_fence", table("MPI_Win_fence").fence(window_)); }

 private:
  const BytewaysMpi& table(const char* call) const { return library_->table(call); }
  void check(const char* call, int error) const { library_->check(call, error); }

  std::shared_ptr<MpiLibrary> library_;
  BytewaysWindow window_ = 0;
  bool locked_ = false;
};

class Mpi {
 public:
  // Finds, opens and starts MPI. Throws Unsupported when there is none here, Error when it does not start or
  // when a launcher started more ranks than it knows.
  explicit Mpi(const MpiOptions& options);
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  const LibraryReport& report() const { return report_; }
  const std::string& abi() const { return abi_; }  // "standard", "mpich", "openmpi"; empty: simulated
  const Communicator& world() const { return *world_; }
  // MPI_COMM_WORLD itself, as programs use it; none where somebody else has started MPI, whose messages are
  // in it.
  std::optional<Communicator> plain_world() const;
  // Whether the library says that it takes device memory of "cuda" or "hip"; none: it does not say.
  std::optional<bool> says_device_support(const std::string& vendor) const;
  // Ends MPI once all ranks have called this; later calls throw Error.
  void finalize();
  [[noreturn]] void abort(int code);

 private:
  LibraryReport report_;
  std::string abi_;
  std::shared_ptr<MpiLibrary> library_;
  std::optional<Communicator> world_;
};

}  // namespace byteways
