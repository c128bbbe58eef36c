// UCX, the transport below MPI: the library, and a rank in it with an endpoint to each of the others.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtimes/library.hpp"
#include "runtimes/ranks.hpp"
#include "runtimes/session.hpp"
#include "runtimes/ucx/table.hpp"

namespace byteways {

struct UcxOptions {
  std::vector<std::string> directories;  // searched besides the linker's own folders
  std::string simulator;                 // its library on a simulated machine
};

class Ucx {
 public:
  // Finds and opens the library; one that the process has loaded, as an MPI does, comes first. Throws
  // Unsupported with the reason.
  explicit Ucx(const UcxOptions& options);

  const LibraryReport& report() const { return report_; }
  const ucx::Table& table() const { return table_; }

 private:
  ucx::Table table_;
  LibraryReport report_;
};

// Finds the library. `report.reason` says why it is not usable.
LibraryReport find_ucx(const UcxOptions& options);

// One rank. Calls that may wait make progress meanwhile; tags are made of the sender's number and a kind.
// Every verb throws Error with the call, the status code and the library's words, Unsupported for ranks that
// no transport joins.
class UcxRank {
 public:
  // Collective: `ranks` carries the addresses. `device`: whose memory it sends.
  UcxRank(std::shared_ptr<const Ucx> library, const Ranks& ranks, Session& session, Device& device);
  ~UcxRank();
  UcxRank(const UcxRank&) = delete;
  UcxRank& operator=(const UcxRank&) = delete;

  const Ucx& library() const { return *library_; }
  // What the endpoint to another rank uses, as "cma/memory"; empty: the library does not say.
  std::vector<std::string> transports(int other) const;

  // What is timed is inline. These return at once; a request is to be waited for, nullptr is done.
  void* start_send(const void* data, std::size_t bytes, int to, std::uint32_t kind) const {
    return started("ucp_tag_send_nbx", table().send(endpoint(to), data, bytes, tag(rank_, kind), &kPlain));
  }
  void* start_receive(void* data, std::size_t bytes, int from, std::uint32_t kind) const {
    return started("ucp_tag_recv_nbx",
                   table().receive(worker_, data, bytes, tag(from, kind), ~0ull, &kPlain));
  }
  // Done when a flush is.
  void put(const void* data, std::size_t bytes, int to, std::uint64_t address, ucx::Table::Key key) const {
    leave(started("ucp_put_nbx", table().put(endpoint(to), data, bytes, address, key, &kPlain)));
  }
  void get(void* data, std::size_t bytes, int from, std::uint64_t address, ucx::Table::Key key) const {
    leave(started("ucp_get_nbx", table().get(endpoint(from), data, bytes, address, key, &kPlain)));
  }
  void flush(int other) const {
    wait("ucp_ep_flush_nbx", started("ucp_ep_flush_nbx", table().flush(endpoint(other), &kPlain)));
  }
  void wait(const char* call, void* request) const {
    if (request == nullptr) return;
    std::int8_t status = ucx::kInProgress;
    for (int idle = 0; (status = table().check_status(request)) == ucx::kInProgress;) {
      idle = table().progress(worker_) == 0 ? idle + 1 : 0;
      if (idle >= kIdleTurns) idle = yielded();
    }
    table().free_request(request);
    if (status != ucx::kOk) fail(call, status);
  }

 private:
  friend class UcxMemory;
  // So often in vain, some 100 µs, and a waiting rank gives its core to others: the other rank may need it.
  static constexpr int kIdleTurns = 2000;
  static int yielded() {
    std::this_thread::yield();
    return 0;
  }
  static constexpr ucx::Table::RequestParam kPlain{};
  static std::uint64_t tag(int sender, std::uint32_t kind) {
    return static_cast<std::uint64_t>(sender) << 32 | kind;
  }
  const ucx::Table& table() const { return library_->table(); }
  ucx::Table::Endpoint endpoint(int other) const { return endpoints_[static_cast<std::size_t>(other)]; }
  void* started(const char* call, void* request) const {
    constexpr auto kFirstError = static_cast<std::uintptr_t>(static_cast<std::intptr_t>(ucx::kLast));
    const auto value = reinterpret_cast<std::uintptr_t>(request);
    if (value >= kFirstError) fail(call, static_cast<std::int8_t>(static_cast<std::intptr_t>(value)));
    return request;
  }
  // The library frees the request when it is done.
  void leave(void* request) const {
    if (request != nullptr) table().free_request(request);
  }
  void check(const char* call, std::int8_t status) const {
    if (status != ucx::kOk) fail(call, status);
  }
  [[noreturn]] void fail(const char* call, std::int8_t status) const;
  UcxRank(std::shared_ptr<const Ucx> library, const Ranks& ranks, Device& device);
  std::string open_worker();  // returns its address
  void connect(const std::vector<std::string>& addresses);

  std::shared_ptr<const Ucx> library_;
  std::string device_;
  int rank_;
  ucx::Table::Context context_ = nullptr;
  ucx::Table::Worker worker_ = nullptr;
  std::vector<ucx::Table::Endpoint> endpoints_;  // of each rank; nullptr: this one's own
};

// Memory that this rank lets another one put into and get from, and the other one's.
class UcxMemory {
 public:
  // Collective between both: `data` is nullptr where a rank exposes nothing.
  UcxMemory(const UcxRank& rank, const Ranks& ranks, int other, void* data, std::size_t bytes);
  ~UcxMemory();
  UcxMemory(const UcxMemory&) = delete;
  UcxMemory& operator=(const UcxMemory&) = delete;

  std::uint64_t address() const { return address_; }  // of the other rank's memory
  ucx::Table::Key key() const { return key_; }

 private:
  std::string expose(void* data, std::size_t bytes);
  void release() noexcept;

  const UcxRank* rank_;
  ucx::Table::Memory memory_ = nullptr;
  ucx::Table::Key key_ = nullptr;
  std::uint64_t address_ = 0;
};

}  // namespace byteways
