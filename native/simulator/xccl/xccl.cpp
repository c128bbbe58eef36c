// See xccl.hpp.
#include "simulator/xccl/xccl.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "runtimes/mpi/table.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/mpi/scratch.hpp"
#include "simulator/xccl/rings.hpp"

namespace byteways::sim::xccl {
namespace {

// What it chose for a collective, in the words of NCCL's own log.
struct Choice {
  std::string_view function;   // "AllReduce"
  std::uint64_t bytes;         // of a rank's call
  std::string_view algorithm;  // "RING"
  std::string_view protocol;   // "LL", "SIMPLE"
  unsigned channels;
};

// Appends a line to the file that NCCL_DEBUG_FILE names if NCCL_DEBUG is INFO, once for equal choices. Called
// by one thread at a time, which holds the machine's mutex.
void log_choice(const Choice& choice) {
  const char *const level = std::getenv("NCCL_DEBUG"), *const file = std::getenv("NCCL_DEBUG_FILE");
  if (level == nullptr || file == nullptr || std::string_view(level) != "INFO") return;
  const std::string line = "NCCL INFO " + std::string(choice.function) + ": " + std::to_string(choice.bytes) +
                           " Bytes -> Algo " + std::string(choice.algorithm) + " proto " +
                           std::string(choice.protocol) + " channel{Lo..Hi}={0.." +
                           std::to_string(choice.channels - 1) + "}\n";
  static std::set<std::string> written;
  if (written.insert(file + line).second) std::ofstream(file, std::ios::app) << line;
}

constexpr double kThreadsPerChannel = 512;  // NCCL_NTHREADS at its default

std::byte* at(const void* data, std::uint64_t offset) {
  return static_cast<std::byte*>(const_cast<void*>(data)) + offset;
}

Place gpu_place(int gpu) { return {Place::Kind::gpu, gpu}; }

// Writes the sum of all ranks' `size` bytes at `offset` of their sources to a destination of GPU `by`.
void add_all(mpi::Bytes& bytes, const std::vector<Arguments>& ranks, void* destination, std::uint64_t offset,
             std::uint64_t size, Place by) {
  const mpi::Scratch sum(destination, size);  // the destination may be one of the sources
  bytes.copy(sum.data(), at(ranks.front().source, offset), size, by);
  for (std::size_t rank = 1; rank < ranks.size(); ++rank)
    bytes.add(sum.data(), at(ranks[rank].source, offset), size,
              size % sizeof(Word) == 0 ? kUnsigned64 : kUnsigned32);
  bytes.copy(destination, sum.data(), size, by);
}

void apply(Machine machine, Kind kind, const std::vector<Arguments>& ranks,
           const std::vector<Place>& places) {
  mpi::Bytes bytes(machine.kernels);
  const auto copy = [&](void* to, const void* from, std::uint64_t size, std::size_t by) {
    if (to != from) bytes.copy(to, from, size, places[by]);
  };
  const auto root = static_cast<std::size_t>(ranks.front().root);
  switch (kind) {
    case Kind::all_reduce:
      add_all(bytes, ranks, ranks[0].destination, 0, ranks[0].bytes, places[0]);
      for (std::size_t rank = 1; rank < ranks.size(); ++rank)
        copy(ranks[rank].destination, ranks[0].destination, ranks[rank].bytes, rank);
      break;
    case Kind::reduce:
      add_all(bytes, ranks, ranks[root].destination, 0, ranks[root].bytes, places[root]);
      break;
    case Kind::reduce_scatter:
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        add_all(bytes, ranks, ranks[rank].destination, rank * ranks[rank].bytes, ranks[rank].bytes,
                places[rank]);
      break;
    case Kind::all_gather:
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        for (std::size_t from = 0; from < ranks.size(); ++from)
          copy(at(ranks[rank].destination, from * ranks[rank].bytes), ranks[from].source, ranks[from].bytes,
               rank);
      break;
    case Kind::broadcast:
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        copy(ranks[rank].destination, ranks[root].source, ranks[rank].bytes, rank);
      break;
  }
}

}  // namespace

void Comm::join(int rank, int gpu) {
  if (rank < 0 || rank >= size()) throw Failure(Code::invalid, "there is no such rank");
  for (const Rank& each : ranks_)
    if (each.gpu == gpu) throw Failure(Code::invalid, "duplicate GPU: two ranks have the same one");
  Rank& me = ranks_[static_cast<std::size_t>(rank)];
  if (me.gpu >= 0) throw Failure(Code::invalid, "the rank has joined already");
  me.gpu = gpu;
  ++joined_;
}

Engine::Queue& Comm::queue(Machine& machine, std::pair<int, int> edge) {
  Engine::Queue*& queue = queues_[edge];
  if (queue == nullptr) queue = machine.engine.add_queue();
  return *queue;
}

std::shared_ptr<Exchange> Comm::collective(Machine& machine, int rank, Kind kind,
                                           const Arguments& arguments) {
  static_cast<void>(
      choices_of(machine.model.xccl, kind));  // refuses the call of each rank before it waits for others
  const std::uint64_t number = ranks_.at(static_cast<std::size_t>(rank)).collectives++;
  std::shared_ptr<Collective>& found = collectives_[number];
  if (found == nullptr) {
    found = std::make_shared<Collective>();
    found->kind = kind;
    found->of_rank.resize(ranks_.size());
    found->called.resize(ranks_.size());
    found->exchange->expected = size();
  }
  if (found->kind != kind) throw Failure(Code::invalid, "the ranks do not call the same collective");
  const std::shared_ptr<Collective> mine = found;
  mine->of_rank[static_cast<std::size_t>(rank)] = arguments;
  mine->called[static_cast<std::size_t>(rank)] = true;
  if (std::find(mine->called.begin(), mine->called.end(), false) == mine->called.end()) {
    plan(machine, mine);
    collectives_.erase(number);
  }
  return mine->exchange;
}

Ranks Comm::known_ranks(Machine& machine) {
  Router& router = machine.kernels.costs().router();
  if (gpus_.empty()) {
    for (const Rank& rank : ranks_) gpus_.push_back(rank.gpu);
    rings_ = find_rings(gpus_, router);
  }
  const auto kernel = machine.model.rates.find("kernel-peer-write");
  const double used = kernel == machine.model.rates.end() ? 1 : kernel->second.efficiency;
  return {rings_, gpus_, machine.model.xccl, used, router};
}

void Comm::plan(Machine& machine, const std::shared_ptr<Collective>& collective) {
  const std::vector<Arguments>& ranks = collective->of_rank;
  const Way way = way_of(known_ranks(machine), collective->kind, static_cast<double>(ranks.front().bytes),
                         ranks.front().root);
  log_choice({name_of(collective->kind), ranks.front().bytes, name_of(way.algorithm), name_of(way.protocol),
              machine.model.xccl.channels});
  collective->exchange->way = way;
  std::vector<Place> places;
  for (int rank = 0; rank < size(); ++rank) places.push_back(gpu_place(gpu(rank)));
  collective->exchange->effect = [machine, kind = collective->kind, ranks, places] {
    apply(machine, kind, ranks, places);
  };
}

std::shared_ptr<Exchange> Comm::message(Machine& machine, int from, int to, bool sends, void* data,
                                        std::uint64_t bytes) {
  if (from < 0 || to < 0 || from >= size() || to >= size())
    throw Failure(Code::invalid, "there is no such rank");
  Channel& channel = channels_[{from, to}];
  const std::uint64_t number = sends ? channel.sent++ : channel.received++;
  std::shared_ptr<Message>& found = channel.open[number];
  if (found == nullptr) {
    found = std::make_shared<Message>();
    found->bytes = bytes;
    found->exchange->expected = 2;
    found->exchange->way = way_of_message(known_ranks(machine), from, to, static_cast<double>(bytes));
  }
  const std::shared_ptr<Message> mine = found;
  if (mine->bytes != bytes) throw Failure(Code::invalid, "the ends of a message have different sizes");
  (sends ? mine->from : mine->to) = data;
  if (mine->from != nullptr && mine->to != nullptr) {
    channel.open.erase(number);
    mine->exchange->effect = [machine, source = mine->from, target = mine->to, bytes,
                              by = gpu_place(gpu(to))] {
      if (source != target) mpi::Bytes(machine.kernels).copy(target, source, bytes, by);
    };
  }
  return mine->exchange;
}

void Comm::note(int gpu, const std::shared_ptr<Batch>& batch) {
  std::erase_if(waiting_, [](const Waiting& one) {
    const auto held = one.batch.lock();
    return held == nullptr || held->open == 0;
  });
  waiting_.push_back({gpu, batch});
}

void Comm::abort(Machine& machine, int rank) {
  for (const Waiting& one : waiting_)
    if (const auto batch = one.batch.lock(); batch != nullptr && one.gpu == gpu(rank) && batch->open > 0)
      batch->ended->time = machine.engine.now();
}

void Comm::arrive(Machine& machine, const std::shared_ptr<Exchange>& exchange) {
  if (++exchange->arrived < exchange->expected) return;
  const auto end = [exchange, &engine = machine.engine] {
    if (--exchange->moving > 0) return;
    if (exchange->effect) exchange->effect();
    for (const auto& batch : exchange->waiting)
      if (--batch->open == 0) batch->ended->time = engine.now();
  };
  const std::size_t edges = exchange->way.edges.size();
  exchange->moving = std::max(1, static_cast<int>(edges));
  if (edges == 0) return end();
  for (std::size_t edge = 0; edge < edges; ++edge) {
    try {
      send(machine, *exchange, edge, end);
    } catch (const Failure&) {  // of a link: Costs knows which, and tells whoever waits for ever
    }
  }
}

// The channels of a GPU, which are blocks of its kernel, serve all that it sends to at once.
void Comm::send(Machine& machine, const Exchange& exchange, std::size_t edge, std::function<void()> end) {
  const XcclModel& model = machine.model.xccl;
  const Way& way = exchange.way;
  const auto [from, to] = way.edges[edge];
  const auto receivers = std::count_if(way.edges.begin(), way.edges.end(),
                                       [from = from](const auto& each) { return each.first == from; });
  const Place here = gpu_place(gpu(from)), there = gpu_place(gpu(to));
  auto operation = std::make_unique<Operation>();
  if (exchange.by_engine) {
    machine.kernels.costs().add(*operation, Transfer{Mechanism::engine, here, here, there, way.bytes[edge]});
    return enqueue(machine, way.edges[edge], std::move(operation), std::move(end));
  }
  Transfer transfer{Mechanism::kernel, here, here, there, sent_bytes(way.protocol, way.bytes[edge])};
  transfer.threads = operation->threads =
      kThreadsPerChannel * static_cast<double>(model.channels) / static_cast<double>(receivers);
  transfer.part = efficiency(model, way.protocol);
  machine.kernels.costs().add(*operation, transfer);
  // The kernel is running: it was launched when its rank came to the call.
  operation->fixed = picoseconds(way.steps * step_ns(model, way.protocol));
  enqueue(machine, {from, to}, std::move(operation), std::move(end));
}

void Comm::enqueue(Machine& machine, std::pair<int, int> edge, std::unique_ptr<Operation> operation,
                   std::function<void()> end) {
  operation->never_ends = machine.kernels.hangs(gpu_place(gpu(edge.first)), gpu_place(gpu(edge.second)));
  operation->ready = machine.engine.now();
  operation->on_end = std::move(end);
  machine.streams.vary(*operation);
  machine.engine.enqueue(queue(machine, edge), std::move(operation));
}

std::size_t Comm::register_window(int rank, void* data) {
  const std::size_t number = ranks_.at(static_cast<std::size_t>(rank)).windows++;
  if (windows_.size() <= number) windows_.resize(number + 1, std::vector<void*>(ranks_.size()));
  windows_[number][static_cast<std::size_t>(rank)] = data;
  return number;
}

bool Comm::window_complete(std::size_t number) const {
  const std::vector<void*>& parts = windows_.at(number);
  return std::find(parts.begin(), parts.end(), nullptr) == parts.end();
}

std::shared_ptr<Exchange> Comm::put(Machine& machine, int from, int to, void* data, std::size_t window,
                                    std::uint64_t offset, std::uint64_t bytes) {
  if (to < 0 || to >= size()) throw Failure(Code::invalid, "there is no such rank");
  if (window >= windows_.size()) throw Failure(Code::invalid, "there is no such window");
  auto exchange = std::make_shared<Exchange>();
  exchange->expected = 1;
  exchange->by_engine = true;
  exchange->way.edges = {{from, to}};
  exchange->way.bytes = {static_cast<double>(bytes)};
  void* const target = at(windows_[window][static_cast<std::size_t>(to)], offset);
  exchange->effect = [self = shared_from_this(), machine, from, to, data, target, bytes]() mutable {
    mpi::Bytes(machine.kernels).copy(target, data, bytes, gpu_place(self->gpu(from)));
    Channel& channel = self->channels_[{from, to}];
    ++channel.signalled;
    self->serve_waits(machine, channel);
  };
  return exchange;
}

std::shared_ptr<Exchange> Comm::signals(Machine& machine, int from, int to, int count) {
  if (from < 0 || from >= size() || count < 0) throw Failure(Code::invalid, "there is no such rank");
  Channel& channel = channels_[{from, to}];
  channel.awaited += static_cast<std::uint64_t>(count);
  auto exchange = std::make_shared<Exchange>();
  exchange->expected = 2;  // the rank that waits, and the last of its signals
  channel.waits.emplace_back(channel.awaited, exchange);
  serve_waits(machine, channel);
  return exchange;
}

void Comm::serve_waits(Machine& machine, Channel& channel) {
  while (!channel.waits.empty() && channel.waits.front().first <= channel.signalled) {
    const std::shared_ptr<Exchange> served = channel.waits.front().second;
    channel.waits.erase(channel.waits.begin());
    arrive(machine, served);
  }
}

std::string Comm::who_waits() const {
  const auto name = [this](int rank) {
    return "rank " + std::to_string(rank) + " on " + byteways::sim::name_of(gpu_place(gpu(rank)));
  };
  std::string text;
  for (const auto& [number, open] : collectives_)
    for (int rank = 0; rank < size(); ++rank)
      if (!open->called[static_cast<std::size_t>(rank)])
        text += std::string(text.empty() ? "" : "; ") + name(rank) + " has not called " +
                name_of(open->kind) + ", which the others wait for";
  for (const auto& [ends, channel] : channels_)
    for (const auto& [number, message] : channel.open) {
      const bool sent = message->from != nullptr;
      text += std::string(text.empty() ? "" : "; ") + name(sent ? ends.first : ends.second) + " waits for " +
              name(sent ? ends.second : ends.first) + (sent ? " to receive" : " to send");
    }
  for (const auto& [ends, channel] : channels_)
    if (!channel.waits.empty())
      text += std::string(text.empty() ? "" : "; ") + name(ends.second) + " waits for a signal of " +
              name(ends.first);
  return text;
}

Library& Library::of_process() {
  static Library* const library = [] {
    auto* const made = new Library;  // never destroyed: threads may use it at the very end
    Timeline::of_process().when_stuck([made] { return made->who_waits(); });
    return made;
  }();
  return *library;
}

std::string Library::who_waits() const {
  std::string text;
  for (const auto& [id, known] : comms_)
    if (const auto comm = known.lock())
      if (const std::string waits = comm->who_waits(); !waits.empty())
        text += (text.empty() ? "" : "; ") + waits;
  return text;
}

}  // namespace byteways::sim::xccl
