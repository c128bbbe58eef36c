// See collectives.hpp.
#include "simulator/mpi/collectives.hpp"

#include <algorithm>
#include <bit>

#include "simulator/mpi/scratch.hpp"

namespace byteways::sim::mpi {
namespace {

std::byte* at(void* data, std::uint64_t offset) { return static_cast<std::byte*>(data) + offset; }
const std::byte* at(const void* data, std::uint64_t offset) {
  return static_cast<const std::byte*>(data) + offset;
}

constexpr std::uint64_t kFold = 1000;    // steps before and after those of a power of two of ranks
constexpr std::uint64_t kGather = 2000;  // steps of a ring's second half

}  // namespace

Collective::Collective(Mpi& mpi, Call& call)
    : mpi_(&mpi),
      call_(&call),
      comm_(mpi.comm(call, call.comm)),
      rank_(comm_.rank_of(call.me.number)),
      size_(static_cast<int>(comm_.members.size())) {}

Route Collective::route(int from, int to, std::uint64_t step) const {
  const auto member = [this](int rank) { return comm_.members.at(static_cast<std::size_t>(rank)); };
  return {2 * call_->comm + 1, call_->number << 32 | step, member(from), member(to)};
}

Collective::Pending Collective::start_send(int to, const void* data, std::uint64_t bytes,
                                           std::uint64_t step) {
  return mpi_->start_send(*call_, route(rank_, to, step), data, bytes);
}

Collective::Pending Collective::start_receive(int from, void* data, std::uint64_t bytes, std::uint64_t step) {
  return mpi_->start_receive(*call_, route(from, rank_, step), data, bytes);
}

void Collective::send(int to, const void* data, std::uint64_t bytes, std::uint64_t step) {
  mpi_->wait(*call_, {start_send(to, data, bytes, step)});
}

void Collective::publish(const void* data, std::uint64_t bytes) {
  std::vector<Route> routes;
  for (int to = 0; to < size_; ++to)
    if (to != rank_) routes.push_back(route(rank_, to, 0));
  mpi_->publish(*call_, routes, data, bytes);
}

void Collective::receive(int from, void* data, std::uint64_t bytes, std::uint64_t step) {
  mpi_->wait(*call_, {start_receive(from, data, bytes, step)});
}

void Collective::exchange(int to, const void* out, std::uint64_t out_bytes, int from, void* in,
                          std::uint64_t in_bytes, std::uint64_t step) {
  const Pending received = start_receive(from, in, in_bytes, step);
  const Pending sent = start_send(to, out, out_bytes, step);
  mpi_->wait(*call_, {received, sent});
}

void Collective::copy(void* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0 || to == from) return;
  Transfers& transfers = Call::transfers();
  const Rank me = call_->me;
  const End there = transfers.bytes().end(to, bytes, me.place),
            here = transfers.bytes().end(from, bytes, me.place);
  const auto own = std::make_shared<Request>(Request{me.number, me.number});
  const Place executor = there.device ? there.place : here.place;
  const auto done = [&transfers, own, to, from, bytes, executor] {
    if (!own->withdrawn) transfers.bytes().copy(to, from, bytes, executor);
    own->done = true;
  };
  const bool device = there.device || here.device;
  if (device && !transfers.is_short(static_cast<double>(bytes)))
    transfers.by_gpu_waited_for(me, executor, there, here, static_cast<double>(bytes), done);
  else
    transfers.by_core(me, there, here, static_cast<double>(bytes), false, 0, done);
  mpi_->wait(*call_, {own});
}

void Collective::add(void* to, const void* from, std::uint64_t bytes, int element) {
  if (bytes == 0) return;
  Transfers& transfers = Call::transfers();
  const Rank me = call_->me;
  const End there = transfers.bytes().end(to, bytes, me.place),
            here = transfers.bytes().end(from, bytes, me.place);
  const auto own = std::make_shared<Request>(Request{me.number, me.number});
  transfers.add(me, there, here, static_cast<double>(bytes), [&transfers, own, to, from, bytes, element] {
    if (!own->withdrawn) transfers.bytes().add(to, from, bytes, element);
    own->done = true;
  });
  mpi_->wait(*call_, {own});
}

void Collective::check_root(int root) const {
  if (root < 0 || root >= size_) throw Failure(Code::invalid, "there is no rank " + std::to_string(root));
}

// Dissemination.
void Collective::barrier() {
  for (int distance = 1; distance < size_; distance *= 2)
    exchange(beside(distance), nullptr, 0, beside(-distance), nullptr, 0,
             static_cast<std::uint64_t>(distance));
}

// Of few bytes within a host one write that all read, where the library has that. Else a binomial tree.
void Collective::broadcast(void* data, std::uint64_t bytes, int root) {
  check_root(root);
  const Model& model = Call::transfers().model();
  if (bytes <= model.mpi.shared_cell_bytes && model.hosts == 1 && size_ > 1)
    return rank_ == root ? publish(data, bytes) : receive(root, data, bytes, 0);
  const int own = beside(-root);  // the root is 0
  const auto actual = [&](int each) { return (each + root) % size_; };
  int mask = 1;
  for (; mask < size_; mask *= 2)
    if ((own & mask) != 0) {
      receive(actual(own - mask), data, bytes, 0);
      break;
    }
  for (mask /= 2; mask > 0; mask /= 2)
    if (own + mask < size_) send(actual(own + mask), data, bytes, 0);
}

// Binomial tree.
void Collective::reduce(const void* source, void* destination, std::uint64_t bytes, int element, int root) {
  check_root(root);
  if (source == nullptr) source = destination;
  if (reduced_on_host(source, bytes)) {
    const Scratch own(source, bytes, call_->me.place),
        sum(source, rank_ == root ? bytes : 0, call_->me.place);
    copy(own.data(), source, bytes);
    reduce(own.data(), sum.data(), bytes, element, root);
    if (rank_ == root) copy(destination, sum.data(), bytes);
    return;
  }
  const int own = beside(-root);
  const auto actual = [&](int each) { return (each + root) % size_; };
  const Scratch received(rank_ == root ? destination : source, bytes);
  const Scratch partial(source, rank_ == root ? 0 : bytes);
  void* const sum = rank_ == root ? destination : partial.data();
  copy(sum, source, bytes);
  for (int mask = 1; mask < size_; mask *= 2) {
    if ((own & mask) != 0) return send(actual(own - mask), sum, bytes, 0);
    if (own + mask >= size_) continue;
    receive(actual(own + mask), received.data(), bytes, 0);
    add(sum, received.data(), bytes, element);
  }
}

bool Collective::is_device(const void* data, std::uint64_t bytes) const {
  return Call::transfers().bytes().end(data, bytes, call_->me.place).device;
}

bool Collective::reduced_on_host(const void* data, std::uint64_t bytes) const {
  return Call::transfers().reduces_on_host(static_cast<double>(bytes)) && is_device(data, bytes);
}

void Collective::allreduce(const void* source, void* destination, std::uint64_t bytes, int element) {
  const bool on_host = reduced_on_host(destination, bytes);
  const bool in_own = Call::transfers().reduces_in_own_buffer(static_cast<double>(bytes));
  if (on_host || (in_own && is_device(destination, bytes))) {
    const Scratch own(destination, bytes, on_host ? std::optional(call_->me.place) : std::nullopt);
    Call::transfers().open_for(own.data(), comm_.members);
    copy(own.data(), source != nullptr ? source : destination, bytes);
    combine(own.data(), bytes, element);
    return copy(destination, own.data(), bytes);
  }
  if (source != nullptr) copy(destination, source, bytes);
  combine(destination, bytes, element);
}

void Collective::combine(void* destination, std::uint64_t bytes, int element) {
  if (bytes <= Call::transfers().model().mpi.eager_bytes)
    allreduce_by_doubling(destination, bytes, element);
  else if (std::has_single_bit(static_cast<unsigned>(size_)))
    allreduce_by_halving(destination, bytes, element);
  else
    allreduce_by_ring(destination, bytes, element);
}

// Recursive doubling. Of ranks beyond a power of two, each gives its part to its neighbour, and gets the sum.
void Collective::allreduce_by_doubling(void* data, std::uint64_t bytes, int element) {
  const Scratch received(data, bytes);
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(size_))), rest = size_ - power;
  if (rank_ < 2 * rest && rank_ % 2 == 0) {
    send(rank_ + 1, data, bytes, kFold);
    return receive(rank_ + 1, data, bytes, kFold + 1);
  }
  if (rank_ < 2 * rest) {
    receive(rank_ - 1, received.data(), bytes, kFold);
    add(data, received.data(), bytes, element);
  }
  const int own = rank_ < 2 * rest ? rank_ / 2 : rank_ - rest;
  for (int mask = 1; mask < power; mask *= 2) {
    const int other = own ^ mask, peer = other < rest ? 2 * other + 1 : other + rest;
    exchange(peer, data, bytes, peer, received.data(), bytes, static_cast<std::uint64_t>(mask));
    add(data, received.data(), bytes, element);
  }
  if (rank_ < 2 * rest) send(rank_ - 1, data, bytes, kFold + 1);
}

// Rabenseifner's: reduce-scatter by recursive halving, allgather by recursive doubling, of a power of two of
// ranks. Slices are whole words, so that no element is cut.
void Collective::allreduce_by_halving(void* data, std::uint64_t bytes, int element) {
  const auto size = static_cast<std::uint64_t>(size_);
  const std::uint64_t slice = (bytes / size + kWordBytes) / kWordBytes * kWordBytes;
  const auto begin = [&](int each) { return std::min(bytes, static_cast<std::uint64_t>(each) * slice); };
  const Scratch received(data, std::min(bytes, size / 2 * slice));
  int first = 0, end = size_;  // slices that are this rank's to sum
  for (int mask = size_ / 2; mask > 0; mask /= 2) {
    const int peer = rank_ ^ mask, middle = (first + end) / 2;
    const bool upper = (rank_ & mask) != 0;
    const int out = upper ? first : middle, out_end = upper ? middle : end;
    (upper ? first : end) = middle;
    exchange(peer, at(data, begin(out)), begin(out_end) - begin(out), peer, received.data(),
             begin(end) - begin(first), static_cast<std::uint64_t>(mask));
    add(at(data, begin(first)), received.data(), begin(end) - begin(first), element);
  }
  for (int mask = 1; mask < size_; mask *= 2) {
    const int peer = rank_ ^ mask, others = (rank_ & mask) != 0 ? first - mask : end;
    exchange(peer, at(data, begin(first)), begin(end) - begin(first), peer, at(data, begin(others)),
             begin(others + mask) - begin(others), kGather + static_cast<std::uint64_t>(mask));
    first = std::min(first, others);
    end = first + 2 * mask;
  }
}

// Reduce-scatter and allgather, each along a ring. Slices are whole words, so that no element is cut.
void Collective::allreduce_by_ring(void* data, std::uint64_t bytes, int element) {
  const auto size = static_cast<std::uint64_t>(size_);
  const std::uint64_t slice = (bytes / size + kWordBytes) / kWordBytes * kWordBytes;
  const auto begin = [&](int each) { return std::min(bytes, static_cast<std::uint64_t>(each) * slice); };
  const auto length = [&](int each) { return begin(each + 1) - begin(each); };
  const Scratch received(data, slice);
  for (int step = 0; step + 1 < size_; ++step) {
    const int out = beside(-step), in = beside(-step - 1);
    exchange(beside(1), at(data, begin(out)), length(out), beside(-1), received.data(), length(in),
             static_cast<std::uint64_t>(step));
    add(at(data, begin(in)), received.data(), length(in), element);
  }
  for (int step = 0; step + 1 < size_; ++step) {
    const int out = beside(1 - step), in = beside(-step);
    exchange(beside(1), at(data, begin(out)), length(out), beside(-1), at(data, begin(in)), length(in),
             kGather + static_cast<std::uint64_t>(step));
  }
}

// A ring: a block's sum goes round and ends at its owner.
void Collective::reduce_scatter(const void* source, void* destination, std::uint64_t block, int element) {
  if (source == nullptr) source = destination;
  if (const std::uint64_t bytes = block * static_cast<std::uint64_t>(size_); reduced_on_host(source, bytes)) {
    const Scratch all(source, bytes, call_->me.place), sum(source, block, call_->me.place);
    copy(all.data(), source, bytes);
    reduce_scatter(all.data(), sum.data(), block, element);
    return copy(destination, sum.data(), block);
  }
  const auto own = [&](int each) { return at(source, static_cast<std::uint64_t>(each) * block); };
  if (size_ == 1) return copy(destination, own(0), block);
  const Scratch first(source, block), second(source, block);
  const void* out = own(beside(-1));
  for (int step = 0; step + 1 < size_; ++step) {
    void* const in = (step % 2 == 0 ? first : second).data();
    exchange(beside(1), out, block, beside(-1), in, block, static_cast<std::uint64_t>(step));
    add(in, own(beside(-step - 2)), block, element);
    out = in;
  }
  copy(destination, out, block);
}

// Recursive doubling of short blocks among a power of two of ranks, else a ring.
void Collective::allgather(const void* source, void* destination, std::uint64_t block) {
  const auto place = [&](int each) { return at(destination, static_cast<std::uint64_t>(each) * block); };
  if (source != nullptr) copy(place(rank_), source, block);
  const bool is_short =
      block * static_cast<std::uint64_t>(size_) <= Call::transfers().model().mpi.eager_bytes;
  if (is_short && std::has_single_bit(static_cast<unsigned>(size_))) {
    for (int mask = 1; mask < size_; mask *= 2) {
      const int other = rank_ ^ mask;
      const std::uint64_t bytes = static_cast<std::uint64_t>(mask) * block;
      exchange(other, place(rank_ & ~(mask - 1)), bytes, other, place(other & ~(mask - 1)), bytes,
               static_cast<std::uint64_t>(mask));
    }
    return;
  }
  for (int step = 0; step + 1 < size_; ++step)
    exchange(beside(1), place(beside(-step)), block, beside(-1), place(beside(-step - 1)), block,
             static_cast<std::uint64_t>(step));
}

// Linear.
void Collective::gather(const void* source, void* destination, std::uint64_t block, int root) {
  check_root(root);
  if (rank_ != root) return send(root, source != nullptr ? source : destination, block, 0);
  std::vector<Pending> pending;
  for (int each = 0; each < size_; ++each)
    if (each != root)
      pending.push_back(
          start_receive(each, at(destination, static_cast<std::uint64_t>(each) * block), block, 0));
  if (source != nullptr) copy(at(destination, static_cast<std::uint64_t>(root) * block), source, block);
  mpi_->wait(*call_, pending);
}

// Linear. In place the root's block stays in the source.
void Collective::scatter(const void* source, void* destination, std::uint64_t block, int root) {
  check_root(root);
  if (rank_ != root) return receive(root, destination, block, 0);
  const auto own = [&](int each) { return at(source, static_cast<std::uint64_t>(each) * block); };
  std::vector<Pending> pending;
  for (int each = 0; each < size_; ++each)
    if (each != root) pending.push_back(start_send(each, own(each), block, 0));
  if (destination != nullptr) copy(destination, own(root), block);
  mpi_->wait(*call_, pending);
}

// Pairwise.
void Collective::alltoall(const void* source, void* destination, std::uint64_t block) {
  const std::uint64_t bytes = block * static_cast<std::uint64_t>(size_);
  const Scratch kept(destination, source == nullptr ? bytes : 0);
  if (source == nullptr) copy(kept.data(), destination, bytes);
  const void* const out = source != nullptr ? source : kept.data();
  const auto offset = [block](int each) { return static_cast<std::uint64_t>(each) * block; };
  copy(at(destination, offset(rank_)), at(out, offset(rank_)), block);
  for (int step = 1; step < size_; ++step)
    exchange(beside(step), at(out, offset(beside(step))), block, beside(-step),
             at(destination, offset(beside(-step))), block, static_cast<std::uint64_t>(step));
}

}  // namespace byteways::sim::mpi
