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
  bool empty() const { return pending_.empty(); }

 private:
  friend class Communicator;
  std::vector<BytewaysRequest> pending_;
};

// The library as long as it is between start and end.
class MpiLibrary;

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

  void send(const void* data, std::int64_t count, BytewaysElement element, int to, int tag) const;
  void receive(void* data, std::int64_t count, BytewaysElement element, int from, int tag) const;
  void start_send(Requests& requests, const void* data, std::int64_t count, BytewaysElement element, int to,
                  int tag) const;
  void start_receive(Requests& requests, void* data, std::int64_t count, BytewaysElement element, int from,
                     int tag) const;
  void wait(Requests& requests) const;
  bool test(Requests& requests) const;  // whether all are done

  void barrier() const override;
  void broadcast(void* data, std::int64_t count, BytewaysElement element, int root) const;
  // In place where the source is nullptr; of scatter, the destination (table.hpp). `count` is of one rank's
  // block.
  void reduce(const void* source, void* destination, std::int64_t count, BytewaysElement element,
              int root) const;
  void allreduce(const void* source, void* destination, std::int64_t count, BytewaysElement element) const;
  void reduce_scatter(const void* source, void* destination, std::int64_t count,
                      BytewaysElement element) const;
  void allgather(const void* source, void* destination, std::int64_t count, BytewaysElement element) const;
  void gather(const void* source, void* destination, std::int64_t count, BytewaysElement element,
              int root) const;
  void scatter(const void* source, void* destination, std::int64_t count, BytewaysElement element,
               int root) const;
  void alltoall(const void* source, void* destination, std::int64_t count, BytewaysElement element) const;

  std::string broadcast_bytes(std::string mine, int root) const override;
  std::vector<std::string> gather_bytes(const std::string& mine) const override;

 private:
  friend class Mpi;
  Communicator(std::shared_ptr<MpiLibrary> library, BytewaysComm comm, bool owned);
  const BytewaysMpi& table(const char* call) const;
  void check(const char* call, int error) const;
  void release() noexcept;

  std::shared_ptr<MpiLibrary> library_;
  BytewaysComm comm_ = 0;
  bool owned_ = false;
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
