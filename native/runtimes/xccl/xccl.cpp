// See xccl.hpp.
#include "runtimes/xccl/xccl.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace byteways {
namespace {

bool is_amd(const XcclOptions& options) { return options.vendor == "hip"; }
const char* library_of(const XcclOptions& options) { return is_amd(options) ? "rccl" : "nccl"; }

// Formats 22809 as "2.28.9"; before 2.9 the numbers had one digit less: 2708 is 2.7.8.
std::string version_text(int version) {
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int rest = version < 10000 ? version % 1000 : version % 10000;
  return std::to_string(major) + "." + std::to_string(rest / 100) + "." + std::to_string(rest % 100);
}

// Opens the library and fills table and report. Returns whether it is usable.
bool open(const XcclOptions& options, xccl::Table& table, LibraryReport& report) {
  const bool amd = is_amd(options);
  report.library = library_of(options);
  const Library library =
      Library::open({amd ? "librccl.so.1" : "libnccl.so.2"}, options.directories,
                    amd ? "BYTEWAYS_LIBRCCL" : "BYTEWAYS_LIBNCCL", options.simulator, report);
  if (!library) {
    if (report.hint.empty())
      report.hint = amd ? "install rccl, or set BYTEWAYS_LIBRCCL to its file"
                        : "pip install nvidia-nccl-cu13, or set BYTEWAYS_LIBNCCL to its file";
    return false;
  }
  table.bind(library, report);
  if (!gpu::complete(report)) return false;
  int version = 0;
  if (table.get_version(&version) == xccl::kSuccess) report.version = version_text(version);
  return report.usable = true;
}

}  // namespace

LibraryReport find_xccl(const XcclOptions& options) {
  xccl::Table table;
  LibraryReport report;
  open(options, table, report);
  return report;
}

Xccl::Xccl(const XcclOptions& options) {
  if (!open(options, table_, report_)) throw Unsupported(library_of(options), "library", report_.reason);
  amd_ = is_amd(options);
  simulated_ = !options.simulator.empty();
  name_ = std::string(is_amd(options) ? "RCCL " : "NCCL ") + report_.version;
}

namespace {

class XcclMemory final : public Allocation {
 public:
  XcclMemory(std::shared_ptr<const Xccl> library, void* data, std::uint64_t bytes)
      : library_(std::move(library)) {
    memory_ = Memory::xccl;
    data_ = static_cast<std::byte*>(data);
    bytes_ = bytes;
  }
  ~XcclMemory() override { library_->table().release(data_); }

 private:
  std::shared_ptr<const Xccl> library_;
};

// ncclResult_t of a CUDA or HIP call that failed, as allocations do for want of memory.
constexpr int kUnhandledGpuError = 1;

}  // namespace

std::unique_ptr<Buffer> Xccl::allocate(std::shared_ptr<const Xccl> library, Session& session, Device& device,
                                       std::uint64_t bytes) {
  const xccl::Table& table = library->table();
  session.service_stream(device).lend();  // the library uses the current GPU
  void* data = nullptr;
  const std::uint64_t all_bytes = with_guard(Memory::xccl, bytes);
  const int code = table.allocate(&data, all_bytes);
  const std::string text = code == xccl::kSuccess ? "" : table.get_error_string(code);
  if (code == kUnhandledGpuError)
    throw OutOfMemory("ncclMemAlloc", std::to_string(code), text, device.name());
  if (code != xccl::kSuccess) throw Error("ncclMemAlloc", std::to_string(code), text, device.name());
  auto memory = std::make_unique<XcclMemory>(std::move(library), data, all_bytes);
  auto buffer = std::make_unique<Buffer>(session, device, device, *device.runtime, std::move(memory), bytes);
  session.touch(*buffer);
  return buffer;
}

std::string Xccl::register_obstacle(int ranks) const {
  const char* setting = std::getenv("NCCL_NVLS_ENABLE");
  const bool off = setting != nullptr && std::string(setting) == "0";
  if (amd_ || simulated_ || ranks < 2 || off) return {};
  return "NCCL may create multicast objects for registered memory, which byteways never does: run with "
         "NCCL_NVLS_ENABLE=0 to measure it without NVLink SHARP";
}

std::string Xccl::put_obstacle() const {
  return table_.put_signal && table_.wait_signal ? "" : name_ + " has no one-sided calls (since NCCL 2.29)";
}

XcclCommunicator::XcclCommunicator(std::shared_ptr<const Xccl> library, Device& device, int rank, int size)
    : library_(std::move(library)), device_(&device), rank_(rank), size_(size) {}

XcclCommunicator::XcclCommunicator(std::shared_ptr<const Xccl> library, const Ranks& ranks, Session& session,
                                   Device& device)
    : XcclCommunicator(std::move(library), device, ranks.rank(), ranks.size()) {
  xccl::Table::UniqueId id{};
  int made = xccl::kSuccess;
  std::string bytes;
  if (rank_ == 0) {
    made = library_->table().get_unique_id(&id);
    if (made == xccl::kSuccess) bytes.assign(id.bytes, sizeof id.bytes);
  }
  bytes = ranks.broadcast_bytes(std::move(bytes), 0);
  check("ncclGetUniqueId", made);
  if (bytes.size() != sizeof id.bytes) throw Error("ncclGetUniqueId", "no id", "rank 0 has none");
  std::memcpy(id.bytes, bytes.data(), sizeof id.bytes);
  join(session, id);
}

std::vector<std::unique_ptr<XcclCommunicator>> XcclCommunicator::all(
    const std::shared_ptr<const Xccl>& library, Session& session, const std::vector<Device*>& devices) {
  std::vector<std::unique_ptr<XcclCommunicator>> ranks;
  for (Device* device : devices) {
    const auto rank = static_cast<int>(ranks.size()), size = static_cast<int>(devices.size());
    ranks.emplace_back(new XcclCommunicator(library, *device, rank, size));  // its constructor is private
  }
  if (ranks.empty()) return ranks;
  XcclCommunicator& first = *ranks.front();
  xccl::Table::UniqueId id{};
  first.check("ncclGetUniqueId", library->table().get_unique_id(&id));
  first.group([&] {
    for (const auto& rank : ranks) rank->join(session, id);
  });
  return ranks;
}

void XcclCommunicator::join(Session& session, const xccl::Table::UniqueId& id) {
  session.service_stream(*device_).lend();  // the library uses the current GPU
  check("ncclCommInitRank", library_->table().init_rank(comm_.get(), size_, id, rank_));
}

// ncclCommDestroy waits for what has been enqueued, which never ends once a rank is gone.
XcclCommunicator::~XcclCommunicator() {
  if (!usable()) return;
  int state = xccl::kSuccess;
  const bool known = library_->table().get_async_error(*comm_, &state) == xccl::kSuccess;
  if (!known || (state != xccl::kSuccess && state != xccl::kInProgress))
    abandon();
  else
    library_->table().destroy_comm(std::exchange(*comm_, nullptr));
}

void XcclCommunicator::abandon() noexcept {
  if (usable()) library_->table().abort_comm(std::exchange(*comm_, nullptr));
}

void XcclCommunicator::check(const char* call, int code) const {
  if (code == xccl::kSuccess) return;
  const xccl::Table& table = library_->table();
  const char* words = table.get_last_error && usable() ? table.get_last_error(*comm_) : nullptr;
  std::string text = table.get_error_string(code);
  if (words != nullptr && *words != '\0') text += std::string(": ") + words;
  throw Error(call, std::to_string(code), text, device_->name());
}

void XcclCommunicator::allreduce(const void* source, void* destination, std::size_t count, int type,
                                 Stream& stream) {
  check("ncclAllReduce",
        library_->table().all_reduce(source, destination, count, type, xccl::kSum, *comm_, stream.lend()));
}

void XcclCommunicator::reduce(const void* source, void* destination, std::size_t count, int type, int root,
                              Stream& stream) {
  check("ncclReduce",
        library_->table().reduce(source, destination, count, type, xccl::kSum, root, *comm_, stream.lend()));
}

void XcclCommunicator::reduce_scatter(const void* source, void* destination, std::size_t count, int type,
                                      Stream& stream) {
  check("ncclReduceScatter", library_->table().reduce_scatter(source, destination, count, type, xccl::kSum,
                                                              *comm_, stream.lend()));
}

void XcclCommunicator::allgather(const void* source, void* destination, std::size_t count, int type,
                                 Stream& stream) {
  check("ncclAllGather",
        library_->table().all_gather(source, destination, count, type, *comm_, stream.lend()));
}

void XcclCommunicator::broadcast(const void* source, void* destination, std::size_t count, int type, int root,
                                 Stream& stream) {
  check("ncclBroadcast",
        library_->table().broadcast(source, destination, count, type, root, *comm_, stream.lend()));
}

void XcclCommunicator::all_to_all(const void* source, void* destination, std::size_t count, int type,
                                  Stream& stream) {
  check("ncclAlltoAll",
        library_->table().all_to_all(source, destination, count, type, *comm_, stream.lend()));
}

void XcclCommunicator::gather(const void* source, void* destination, std::size_t count, int type, int root,
                              Stream& stream) {
  check("ncclGather",
        library_->table().gather(source, destination, count, type, root, *comm_, stream.lend()));
}

void XcclCommunicator::scatter(const void* source, void* destination, std::size_t count, int type, int root,
                               Stream& stream) {
  check("ncclScatter",
        library_->table().scatter(source, destination, count, type, root, *comm_, stream.lend()));
}

void XcclCommunicator::send(const void* data, std::size_t count, int type, int to, Stream& stream) {
  check("ncclSend", library_->table().send(data, count, type, to, *comm_, stream.lend()));
}

void XcclCommunicator::receive(void* data, std::size_t count, int type, int from, Stream& stream) {
  check("ncclRecv", library_->table().receive(data, count, type, from, *comm_, stream.lend()));
}

void XcclCommunicator::put(const void* data, std::size_t bytes, int to, const std::shared_ptr<void>& window,
                           std::size_t offset, Stream& stream) {
  const auto target = static_cast<xccl::Table::Window>(window.get());
  check("ncclPutSignal", library_->table().put_signal(data, bytes, xccl::kUnsigned8, to, target, offset, 0, 0,
                                                      0, *comm_, stream.lend()));
}

void XcclCommunicator::wait_for_signal(int from, Stream& stream) {
  xccl::Table::Signals one{1, from, 0, 0};
  check("ncclWaitSignal", library_->table().wait_signal(1, &one, *comm_, stream.lend()));
}

void XcclCommunicator::require_registration(const char* call) const {
  if (const std::string obstacle = library_->register_obstacle(size_); !obstacle.empty())
    throw Unsupported(call, "multicast", obstacle, device_->name());
}

std::shared_ptr<void> XcclCommunicator::window(const Buffer& buffer) {
  const xccl::Table& table = library_->table();
  if (!table.register_window || !table.deregister_window)
    throw Unsupported("ncclCommWindowRegister", "library", library_->name() + " has no windows (since 2.27)",
                      device_->name());
  require_registration("ncclCommWindowRegister");
  xccl::Table::Window handle = nullptr;
  check("ncclCommWindowRegister",
        table.register_window(*comm_, buffer.data(), buffer.bytes(), &handle, xccl::kSymmetricWindow));
  const auto undo = [library = library_, comm = comm_](void* registered) {
    if (registered != nullptr && *comm != nullptr)
      library->table().deregister_window(*comm, static_cast<xccl::Table::Window>(registered));
  };
  return {static_cast<void*>(handle), undo};
}

std::shared_ptr<void> XcclCommunicator::registered(const Buffer& buffer) {
  require_registration("ncclCommRegister");
  void* handle = nullptr;
  check("ncclCommRegister",
        library_->table().register_memory(*comm_, buffer.data(), buffer.bytes(), &handle));
  const auto undo = [library = library_, comm = comm_](void* registered) {
    if (registered != nullptr && *comm != nullptr) library->table().deregister_memory(*comm, registered);
  };
  return {handle, undo};
}

void XcclCommunicator::group(const std::function<void()>& body) {
  check("ncclGroupStart", library_->table().group_start());
  try {
    body();
  } catch (...) {
    library_->table().group_end();  // the first failure is the one to report
    throw;
  }
  check("ncclGroupEnd", library_->table().group_end());
}

}  // namespace byteways
