// See mpi.hpp.
#include "runtimes/mpi/mpi.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace byteways {
namespace {

// What a rank sends in the first exchange of bytes: votes of a question and a few numbers fit.
constexpr std::size_t kBlock = 256;

}  // namespace

// ---- MpiLibrary

void MpiLibrary::fail_ended(const char* call) { throw Error(call, "finalized", "MPI has been finalized"); }

void MpiLibrary::fail(const char* call, int error) const {
  std::array<char, 1024> text{};
  if (table_->describe(error, text.data(), static_cast<int>(text.size())) != 0) text[0] = '\0';
  throw Error(call, "error " + std::to_string(error), text.data());
}

// ---- Communicator

Communicator::Communicator(std::shared_ptr<MpiLibrary> library, BytewaysComm comm, bool owned)
    : library_(std::move(library)), comm_(comm), owned_(owned) {
  check("MPI_Comm_rank", table("MPI_Comm_rank").rank(comm_, &rank_));
  check("MPI_Comm_size", table("MPI_Comm_size").size(comm_, &size_));
}

Communicator::Communicator(Communicator&& other) noexcept
    : Ranks(other),
      library_(std::move(other.library_)),
      comm_(std::exchange(other.comm_, 0)),
      owned_(std::exchange(other.owned_, false)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this == &other) return *this;
  release();
  library_ = std::move(other.library_);
  comm_ = std::exchange(other.comm_, 0);
  owned_ = std::exchange(other.owned_, false);
  Ranks::operator=(other);
  return *this;
}

Communicator::~Communicator() { release(); }

void Communicator::release() noexcept {
  if (owned_ && !library_->ended()) library_->table("MPI_Comm_free").free_comm(comm_);
  owned_ = false;
}

std::optional<Communicator> Communicator::split(int color, int key) const {
  BytewaysComm part = 0;
  check("MPI_Comm_split", table("MPI_Comm_split").split(comm_, color, key, &part));
  if (part == 0) return std::nullopt;
  return Communicator(library_, part, true);
}

Communicator Communicator::split_by_host() const {
  BytewaysComm part = 0;
  check("MPI_Comm_split_type", table("MPI_Comm_split_type").split_by_host(comm_, &part));
  return Communicator(library_, part, true);
}

void Communicator::fail(const char* call, int error, Requests& requests) const {
  const BytewaysMpi& mpi = table(call);
  requests.keep_first(mpi.unfinished(requests.count_, requests.room_.data()), mpi.request_bytes);
  library_->fail(call, error);
}

bool Communicator::test(Requests& requests) const {
  int done = 0;
  if (const int error = table("MPI_Testall").test_all(requests.count_, requests.room_.data(), &done))
    fail("MPI_Testall", error, requests);
  if (done != 0) requests.keep_first(0, 0);
  return done != 0;
}

std::string Communicator::broadcast_bytes(std::string mine, int root) const {
  std::uint64_t bytes = mine.size();
  broadcast(&bytes, 1, kUnsigned64, root);
  mine.resize(bytes);
  broadcast(mine.data(), static_cast<std::int64_t>(bytes), kByte, root);
  return mine;
}

// The length comes first in a block of fixed size, the beginning of the bytes with it, so that most take one
// call.
std::vector<std::string> Communicator::gather_bytes(const std::string& mine) const {
  const auto ranks = static_cast<std::size_t>(size());
  const std::uint64_t length = mine.size();
  constexpr std::size_t kRoom = kBlock - sizeof length;
  std::array<char, kBlock> block{};
  std::memcpy(block.data(), &length, sizeof length);
  std::memcpy(block.data() + sizeof length, mine.data(), std::min(mine.size(), kRoom));
  std::vector<char> blocks(kBlock * ranks);
  allgather(block.data(), blocks.data(), kBlock, kByte);
  std::vector<std::string> all(ranks);
  std::vector<std::uint64_t> lengths(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::memcpy(&lengths[rank], &blocks[rank * kBlock], sizeof length);
    all[rank].assign(&blocks[rank * kBlock] + sizeof length, std::min<std::size_t>(lengths[rank], kRoom));
  }
  const std::uint64_t room = *std::max_element(lengths.begin(), lengths.end());
  if (room <= kRoom) return all;  // every rank sees the same lengths
  std::string padded = mine, whole(room * ranks, '\0');
  padded.resize(room);
  allgather(padded.data(), whole.data(), static_cast<std::int64_t>(room), kByte);
  for (std::size_t rank = 0; rank < ranks; ++rank) all[rank] = whole.substr(rank * room, lengths[rank]);
  return all;
}

// ---- Window

Window::Window(const Communicator& ranks, void* memory, std::int64_t bytes) : library_(ranks.library_) {
  constexpr const char* kCall = "MPI_Win_create";
  check(kCall, table(kCall).create_window(memory, bytes, ranks.comm_, &window_));
}

Window::~Window() {
  if (library_->ended()) return;
  if (locked_) library_->table("MPI_Win_unlock_all").unlock_all(window_);
  library_->table("MPI_Win_free").free_window(window_);
}

void Window::lock_all() {
  check("MPI_Win_lock_all", table("MPI_Win_lock_all").lock_all(window_));
  locked_ = true;
}

// ---- Mpi

Mpi::Mpi(const MpiOptions& options) {
  const BytewaysMpi* table = open_mpi_table(options, report_, abi_);
  if (table == nullptr)
    throw Unsupported("MPI", "library", report_.reason + (report_.hint.empty() ? "" : "; " + report_.hint));
  library_ = std::make_shared<MpiLibrary>(table);
  library_->check("MPI_Init_thread", table->init(options.thread_level));
  world_ = Communicator(library_, table->world(), false);
  const int started = options.simulator.empty() ? find_mpi_launcher().size : 0;
  if (started > 1 && world_->size() == 1)
    throw Error("MPI_Init_thread", "wrong launcher",
                "a launcher started " + std::to_string(started) + " ranks, of which " + report_.version +
                    " (" + report_.path + ") knows one: start them with the launcher of that library");
}

std::optional<Communicator> Mpi::plain_world() const {
  const BytewaysComm comm = library_->table("MPI_COMM_WORLD").plain_world();
  if (comm == 0) return std::nullopt;
  return Communicator(library_, comm, false);
}

std::optional<bool> Mpi::says_device_support(const std::string& vendor) const {
  int support = kUnknown;
  const char* call = "MPIX_Query_support";
  library_->check(call, library_->table(call).device_support(vendor.c_str(), &support));
  if (support == kUnknown) return std::nullopt;
  return support == kYes;
}

void Mpi::finalize() {
  if (library_->ended()) return;
  const int error = library_->table("MPI_Finalize").finalize();
  library_->end();
  library_->check("MPI_Finalize", error);
}

void Mpi::abort(int code) {
  library_->table("MPI_Abort").abort(code);
  std::abort();  // MPI_Abort normally does not return
}

}  // namespace byteways
