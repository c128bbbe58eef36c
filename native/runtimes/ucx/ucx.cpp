// See ucx.hpp.
#include "runtimes/ucx/ucx.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <utility>

namespace byteways {
namespace {

constexpr const char* kInstall = "pip install libucx-cu13, or set BYTEWAYS_LIBUCP to its libucp.so.0";
constexpr const char *kSoname = "libucp.so.0", *kLowerSoname = "libucs.so.0", *kPackage = "/libucx/lib",
                     *kChoice = "BYTEWAYS_LIBUCP";
constexpr unsigned kMostTransports = 32;  // endpoints have at most 16 lanes (UCP_MAX_LANES)

// Whether MPI has loaded another UCX into this process, whose lower libraries would serve this file, too.
bool is_mixed(const std::filesystem::path& file, LibraryReport& report) {
  const std::filesystem::path lower = Library::loaded_file(kLowerSoname);
  std::error_code error;
  if (lower.empty() || file.empty() ||
      std::filesystem::equivalent(lower.parent_path(), file.parent_path(), error))
    return false;
  report.reason =
      "this process has loaded " + lower.string() + ", which cannot be mixed with " + file.string();
  report.hint = "unset BYTEWAYS_LIBUCP to use the UCX of MPI, or start the ranks by --launcher local";
  return true;
}

// Opens the library and fills table and report. Returns whether it is usable.
bool open(const UcxOptions& options, ucx::Table& table, LibraryReport& report) {
  report.library = "ucx";
  const char* const chosen = std::getenv(kChoice);
  if (options.simulator.empty() && chosen != nullptr && is_mixed(chosen, report)) return false;
  Library library;
  const bool is_free =
      options.simulator.empty() && chosen == nullptr && Library::loaded_file(kLowerSoname).empty();
  std::string broken;
  // Who installs the package wants it: the system's may be old, and without GPUs.
  for (const std::string& directory : options.directories)
    if (is_free && !library && directory.ends_with(kPackage))
      library = Library::open_file(directory + "/" + kSoname, origin_of(directory), false, report, broken);
  if (!library) library = Library::open({kSoname}, options.directories, kChoice, options.simulator, report);
  if (!library) {
    if (report.hint.empty()) report.hint = kInstall;
    return false;
  }
  if (options.simulator.empty() && is_mixed(report.path, report)) return false;
  table.bind(library, report);
  if (table.get_version_string) report.version = table.get_version_string();
  unsigned major = 0, minor = 0, release = 0;
  if (table.get_version) table.get_version(&major, &minor, &release);
  if (major != ucx::kApiMajor || minor < ucx::kApiMinor) {
    report.reason = "found UCX " + report.version + ": 1.10 or a later release of API 1 is needed";
    report.hint = kInstall;
    return false;
  }
  return report.usable = gpu::complete(report);
}

}  // namespace

LibraryReport find_ucx(const UcxOptions& options) {
  ucx::Table table;
  LibraryReport report;
  open(options, table, report);
  return report;
}

Ucx::Ucx(const UcxOptions& options) {
  if (!open(options, table_, report_))
    throw Unsupported("ucx", "library", report_.reason + " (" + report_.hint + ")");
}

UcxRank::UcxRank(std::shared_ptr<const Ucx> library, const Ranks& ranks, Device& device)
    : library_(std::move(library)),
      device_(device.name()),
      rank_(ranks.rank()),
      endpoints_(static_cast<std::size_t>(ranks.size())) {}

// A rank that fails says so before it throws, so that the others do not wait for it.
UcxRank::UcxRank(std::shared_ptr<const Ucx> library, const Ranks& ranks, Session& session, Device& device)
    : UcxRank(std::move(library), ranks, device) {
  if (!device.is_host()) session.service_stream(device).lend();  // UCX looks at the current GPU
  std::exception_ptr failed;
  std::string own;
  try {
    own = open_worker();
  } catch (...) {
    failed = std::current_exception();
  }
  const std::vector<std::string> addresses = ranks.gather_bytes(own);
  try {
    if (!failed) connect(addresses);
  } catch (...) {
    failed = std::current_exception();
  }
  const std::vector<std::string> joined = ranks.gather_bytes(failed ? "" : "joined");
  if (failed) std::rethrow_exception(failed);
  for (std::size_t other = 0; other < joined.size(); ++other)
    if (joined[other].empty())
      throw Error("ucp_ep_create", "no endpoint", "rank " + std::to_string(other) + " did not connect", {},
                  static_cast<int>(other));
}

std::string UcxRank::open_worker() {
  ucx::Table::Params params{};
  params.field_mask = ucx::kFeatures;
  params.features = ucx::kTag | ucx::kRma;
  check("ucp_init_version", table().init(ucx::kApiMajor, ucx::kApiMinor, &params, nullptr, &context_));
  ucx::Table::WorkerParams own{};
  own.field_mask = ucx::kThreadMode;
  own.thread_mode = ucx::kSingle;
  check("ucp_worker_create", table().create_worker(context_, &own, &worker_));
  void* address = nullptr;
  std::size_t bytes = 0;
  check("ucp_worker_get_address", table().get_address(worker_, &address, &bytes));
  std::string copied(static_cast<const char*>(address), bytes);
  table().release_address(worker_, address);
  return copied;
}

void UcxRank::connect(const std::vector<std::string>& addresses) {
  for (std::size_t other = 0; other < addresses.size(); ++other) {
    if (static_cast<int>(other) == rank_ || addresses[other].empty()) continue;
    ucx::Table::EndpointParams params{};
    params.field_mask = ucx::kRemoteAddress;
    params.address = addresses[other].data();
    const std::int8_t status = table().create_endpoint(worker_, &params, &endpoints_[other]);
    if (status != ucx::kUnreachable) {
      check("ucp_ep_create", status);
      continue;
    }
    const char* const allowed = std::getenv("UCX_TLS");
    const std::string setting = allowed == nullptr ? "" : std::string(" with UCX_TLS=") + allowed;
    throw Unsupported("ucp_ep_create", "unreachable",
                      "UCX has no transport to rank " + std::to_string(other) + setting, device_);
  }
}

std::vector<std::string> UcxRank::transports(int other) const {
  std::vector<std::string> found;
  if (!table().query_endpoint) return found;
  std::vector<ucx::Table::Transport> entries(kMostTransports, ucx::Table::Transport{});
  ucx::Table::EndpointAttributes attributes{};
  attributes.field_mask = ucx::kTransports;
  attributes.entries = entries.data();
  attributes.count = kMostTransports;
  attributes.entry_bytes = sizeof(ucx::Table::Transport);
  if (table().query_endpoint(endpoint(other), &attributes) != ucx::kOk) return found;
  for (const ucx::Table::Transport& entry : entries) {  // an older library leaves them as they are
    if (entry.transport == nullptr) break;
    const std::string name =
        std::string(entry.transport) + "/" + (entry.device == nullptr ? "" : entry.device);
    if (std::find(found.begin(), found.end(), name) == found.end()) found.push_back(name);
  }
  return found;
}

// Endpoints end with their worker. Closing them one by one would wait for the other rank, which may be gone.
UcxRank::~UcxRank() {
  if (worker_ != nullptr) table().destroy_worker(worker_);
  if (context_ != nullptr) table().cleanup(context_);
}

void UcxRank::fail(const char* call, std::int8_t status) const {
  const std::string code = std::to_string(status), text = table().status_string(status);
  if (status == ucx::kNoMemory) throw OutOfMemory(call, code, text, device_);
  throw Error(call, code, text, device_);
}

UcxMemory::UcxMemory(const UcxRank& rank, const Ranks& ranks, int other, void* data, std::size_t bytes)
    : rank_(&rank) {
  std::string own;
  std::exception_ptr failed;
  try {
    if (data != nullptr) own = expose(data, bytes);
  } catch (...) {
    failed = std::current_exception();
  }
  const std::string theirs = ranks.gather_bytes(own)[static_cast<std::size_t>(other)];
  try {
    if (failed) std::rethrow_exception(failed);
    if (theirs.size() <= sizeof address_) return;
    std::memcpy(&address_, theirs.data(), sizeof address_);
    rank_->check("ucp_ep_rkey_unpack",
                 rank_->table().unpack_key(rank_->endpoint(other), theirs.data() + sizeof address_, &key_));
  } catch (...) {
    release();
    throw;
  }
}

// Returns the address and the packed key of the memory.
std::string UcxMemory::expose(void* data, std::size_t bytes) {
  const ucx::Table& table = rank_->table();
  ucx::Table::MapParams params{};
  params.field_mask = ucx::kAddress | ucx::kLength;
  params.address = data;
  params.length = bytes;
  rank_->check("ucp_mem_map", table.map_memory(rank_->context_, &params, &memory_));
  void* packed = nullptr;
  std::size_t packed_bytes = 0;
  rank_->check("ucp_rkey_pack", table.pack_key(rank_->context_, memory_, &packed, &packed_bytes));
  const auto address = reinterpret_cast<std::uint64_t>(data);
  std::string text(reinterpret_cast<const char*>(&address), sizeof address);
  text.append(static_cast<const char*>(packed), packed_bytes);
  table.release_key(packed);
  return text;
}

void UcxMemory::release() noexcept {
  const ucx::Table& table = rank_->table();
  if (key_ != nullptr) table.destroy_key(key_);
  if (memory_ != nullptr) table.unmap_memory(rank_->context_, memory_);
}

UcxMemory::~UcxMemory() { release(); }

}  // namespace byteways
