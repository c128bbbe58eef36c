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

class MpiLibrary {
 public:
  explicit MpiLibrary(const BytewaysMpi* opened) : table_(opened) {}

  const BytewaysMpi& table(const char* call) const {
    if (ended_) throw Error(call, "finalized", "MPI has been finalized");
    return *table_;
  }
  void check(const char* call, int error) const {
    if (error == 0) return;
    std::array<char, 1024> text{};
    if (table_->describe(error, text.data(), static_cast<int>(text.size())) != 0) text[0] = '\0';
    throw Error(call, "error " + std::to_string(error), text.data());
  }
  bool ended() const { return ended_; }
  void end() { ended_ = true; }

 private:
  const BytewaysMpi* table_;
  bool ended_ = false;
};

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

const BytewaysMpi& Communicator::table(const char* call) const { return library_->table(call); }
void Communicator::check(const char* call, int error) const { library_->check(call, error); }

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

void Communicator::send(const void* data, std::int64_t count, BytewaysElement element, int to,
                        int tag) const {
  check("MPI_Send", table("MPI_Send").send(data, count, element, to, tag, comm_));
}

void Communicator::receive(void* data, std::int64_t count, BytewaysElement element, int from, int tag) const {
  check("MPI_Recv", table("MPI_Recv").receive(data, count, element, from, tag, comm_));
}

void Communicator::start_send(Requests& requests, const void* data, std::int64_t count,
                              BytewaysElement element, int to, int tag) const {
  BytewaysRequest request = 0;
  check("MPI_Isend", table("MPI_Isend").start_send(data, count, element, to, tag, comm_, &request));
  requests.pending_.push_back(request);
}

void Communicator::start_receive(Requests& requests, void* data, std::int64_t count, BytewaysElement element,
                                 int from, int tag) const {
  BytewaysRequest request = 0;
  check("MPI_Irecv", table("MPI_Irecv").start_receive(data, count, element, from, tag, comm_, &request));
  requests.pending_.push_back(request);
}

void Communicator::wait(Requests& requests) const {
  auto& pending = requests.pending_;
  const int error = table("MPI_Waitall").wait_all(static_cast<int>(pending.size()), pending.data());
  std::erase(pending, BytewaysRequest{0});
  check("MPI_Waitall", error);
}

bool Communicator::test(Requests& requests) const {
  auto& pending = requests.pending_;
  int done = 0;
  const int error = table("MPI_Testall").test_all(static_cast<int>(pending.size()), pending.data(), &done);
  if (error != 0 || done != 0) std::erase(pending, BytewaysRequest{0});
  check("MPI_Testall", error);
  return done != 0;
}

void Communicator::barrier() const { check("MPI_Barrier", table("MPI_Barrier").barrier(comm_)); }

void Communicator::broadcast(void* data, std::int64_t count, BytewaysElement element, int root) const {
  check("MPI_Bcast", table("MPI_Bcast").broadcast(data, count, element, root, comm_));
}

void Communicator::reduce(const void* source, void* destination, std::int64_t count, BytewaysElement element,
                          int root) const {
  check("MPI_Reduce", table("MPI_Reduce").reduce(source, destination, count, element, root, comm_));
}

void Communicator::allreduce(const void* source, void* destination, std::int64_t count,
                             BytewaysElement element) const {
  check("MPI_Allreduce", table("MPI_Allreduce").allreduce(source, destination, count, element, comm_));
}

void Communicator::reduce_scatter(const void* source, void* destination, std::int64_t count,
                                  BytewaysElement element) const {
  constexpr const char* kCall = "MPI_Reduce_scatter_block";
  check(kCall, table(kCall).reduce_scatter(source, destination, count, element, comm_));
}

void Communicator::allgather(const void* source, void* destination, std::int64_t count,
                             BytewaysElement element) const {
  check("MPI_Allgather", table("MPI_Allgather").allgather(source, destination, count, element, comm_));
}

void Communicator::gather(const void* source, void* destination, std::int64_t count, BytewaysElement element,
                          int root) const {
  check("MPI_Gather", table("MPI_Gather").gather(source, destination, count, element, root, comm_));
}

void Communicator::scatter(const void* source, void* destination, std::int64_t count, BytewaysElement element,
                           int root) const {
  check("MPI_Scatter", table("MPI_Scatter").scatter(source, destination, count, element, root, comm_));
}

void Communicator::alltoall(const void* source, void* destination, std::int64_t count,
                            BytewaysElement element) const {
  check("MPI_Alltoall", table("MPI_Alltoall").alltoall(source, destination, count, element, comm_));
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
                    " (" + report_.path + ") knows one: use the mpiexec of that library");
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
