// NCCL or RCCL: the library, and ranks in it, one GPU each.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtimes/library.hpp"
#include "runtimes/ranks.hpp"
#include "runtimes/session.hpp"
#include "runtimes/xccl/table.hpp"

namespace byteways {

struct XcclOptions {
  std::string vendor;                    // "cuda": NCCL, "hip": RCCL
  std::vector<std::string> directories;  // searched besides the linker's own folders
  std::string simulator;                 // its library on a simulated machine
};

class Xccl {
 public:
  // Finds and opens the library. Throws Unsupported with the reason.
  explicit Xccl(const XcclOptions& options);

  const LibraryReport& report() const { return report_; }
  const xccl::Table& table() const { return table_; }
  const std::string& name() const { return name_; }  // "NCCL 2.28.9"
  const char* kind() const { return amd_ ? "RCCL" : "NCCL"; }

  // Memory of kind `xccl` of a GPU, every word written once. Throws Unsupported when the library has none,
  // OutOfMemory, Error.
  static std::unique_ptr<Buffer> allocate(std::shared_ptr<const Xccl> library, Session& session,
                                          Device& device, std::uint64_t bytes);
  // Why such memory must not be registered with a communicator of so many ranks; empty: it may be. NCCL
  // creates multicast objects for registered memory where it uses NVLink SHARP, which byteways never does,
  // and NCCL_NVLS_ENABLE stays as the user has set it.
  std::string register_obstacle(int ranks) const;
  // Why it cannot put into registered memory; empty: it can.
  std::string put_obstacle() const;

 private:
  xccl::Table table_;
  LibraryReport report_;
  std::string name_;
  bool amd_ = false, simulated_ = false;
};

// Finds the library. `report.reason` says why it is not usable.
LibraryReport find_xccl(const XcclOptions& options);

// Operations are enqueued on a stream of this rank's GPU; all ranks enqueue the same ones in the same order.
// Counts are in elements of `type`, a value of xccl::. Every call throws Error with the library's words.
class XcclCommunicator {
 public:
  // Collective: rank 0 makes the id, and `ranks` carries it.
  XcclCommunicator(std::shared_ptr<const Xccl> library, const Ranks& ranks, Session& session, Device& device);
  // The ranks of all these GPUs, in order, for one thread.
  static std::vector<std::unique_ptr<XcclCommunicator>> all(const std::shared_ptr<const Xccl>& library,
                                                            Session& session,
                                                            const std::vector<Device*>& devices);
  ~XcclCommunicator();
  XcclCommunicator(const XcclCommunicator&) = delete;
  XcclCommunicator& operator=(const XcclCommunicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Device& device() const { return *device_; }
  // Ends what has been enqueued, also what waits for a rank that is gone, and leaves the library's
  // communicator. Every rank that is left calls it. Afterwards no call of this object is possible.
  void abandon() noexcept;
  bool usable() const { return *comm_ != nullptr; }
  const Xccl& library() const { return *library_; }
  const std::string& library_name() const { return library_->name(); }

  void allreduce(const void* source, void* destination, std::size_t count, int type, Stream& stream);
  void reduce(const void* source, void* destination, std::size_t count, int type, int root, Stream& stream);
  // In these two, `count` is the number of elements in one rank's block.
  void reduce_scatter(const void* source, void* destination, std::size_t count, int type, Stream& stream);
  void allgather(const void* source, void* destination, std::size_t count, int type, Stream& stream);
  void broadcast(const void* source, void* destination, std::size_t count, int type, int root,
                 Stream& stream);
  // Whether the library has these three as calls of its own. `count` is of one rank's block.
  bool has_all_to_all() const { return static_cast<bool>(library_->table().all_to_all); }
  bool has_gather() const { return static_cast<bool>(library_->table().gather); }
  bool has_scatter() const { return static_cast<bool>(library_->table().scatter); }
  void all_to_all(const void* source, void* destination, std::size_t count, int type, Stream& stream);
  void gather(const void* source, void* destination, std::size_t count, int type, int root, Stream& stream);
  void scatter(const void* source, void* destination, std::size_t count, int type, int root, Stream& stream);
  void send(const void* data, std::size_t count, int type, int to, Stream& stream);
  void receive(void* data, std::size_t count, int type, int from, Stream& stream);
  // One-sided calls, which the library may lack (Xccl::put_obstacle()).
  // Stores into the part of a window that rank `to` has, at an offset in bytes, and then signals it. `data`
  // lies in a window of this rank.
  void put(const void* data, std::size_t bytes, int to, const std::shared_ptr<void>& window,
           std::size_t offset, Stream& stream);
  void wait_for_signal(int from, Stream& stream);
  // A registered buffer, until the handle is destroyed. Throws Unsupported for the library's or Xccl's
  // reason.
  std::shared_ptr<void> registered(const Buffer& buffer);
  // The same as a symmetric window, which all ranks register at once.
  std::shared_ptr<void> window(const Buffer& buffer);
  // The sends and receives of `body` progress together.
  void group(const std::function<void()>& body);

 private:
  XcclCommunicator(std::shared_ptr<const Xccl> library, Device& device, int rank, int size);
  void check(const char* call, int code) const;
  void require_registration(const char* call) const;
  void join(Session& session, const xccl::Table::UniqueId& id);

  std::shared_ptr<const Xccl> library_;
  Device* device_;
  // Null once it is abandoned; shared with registered(), whose handles end with it.
  std::shared_ptr<xccl::Table::Comm> comm_ = std::make_shared<xccl::Table::Comm>(nullptr);
  int rank_, size_;
};

}  // namespace byteways
