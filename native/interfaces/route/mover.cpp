// Interface `route`: one transfer split over several paths. One part takes the direct path. Each relay,
// another GPU, forwards a part piece by piece through its staging memory, with several pieces in flight. One
// operation is the whole transfer: it forks from its stream by an event and joins it again, so that gate,
// batches and events treat it like any other operation.
#include <algorithm>
#include <sstream>
#include <vector>

#include "interfaces/copying_mover.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/route/parts.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kGrainBytes = 4096;  // pieces are multiples of pages
constexpr std::int64_t kPieceBytes = 4 << 20;
constexpr unsigned kDepth = 2, kMostDepth = 256;  // pieces in flight per relay
constexpr int kTrials = 6;                        // to find the split; the first one only warms up the paths

// Pieces that use one buffer in turn: a stream keeps them in order.
struct Chain {
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Buffer> staging;
  std::unique_ptr<Event> begin, end;
};

struct Relay {
  Device* device;
  std::vector<Chain> chains;
};

class Route final : public CopyingMover {
 public:
  Route(Session& session, const Flow& flow) : CopyingMover(session, flow) {
    if (executor().is_host()) refuse("the copies of a route are queued on GPUs");
    if (&flow.source->device() == &flow.destination->device())
      refuse("source and destination are both of " + flow.source->device().name() +
             ": there is no second path");
    for (Buffer* end : {flow.source, flow.destination}) {
      const Memory memory = end->allocation().memory();
      if (is_plain(memory) || is_managed(memory))
        refuse("its pieces are queued, which takes memory that stays locked, and " +
               std::string(memory_name(memory)) + " is not");
    }
    const std::int64_t piece = flow.number("piece_bytes", kPieceBytes);
    if (piece <= 0 || static_cast<std::uint64_t>(piece) % kGrainBytes != 0)
      refuse("pieces are multiples of " + std::to_string(kGrainBytes) + " bytes");
    piece_bytes_ = static_cast<std::uint64_t>(piece);
    // Without peer access the driver stages direct copies: allowed, as for interface `copy`.
    for (Buffer* end : {flow.source, flow.destination}) session.open_to(executor(), *end);
    std::istringstream names(flow.word("via"));
    for (std::string name; std::getline(names, name, ',');) add_relay(name);
    const std::uint64_t words = flow.size_bytes / kWord, paths = relays_.size() + 1;
    if (words < paths)
      refuse(std::to_string(flow.size_bytes) + " bytes cannot be split over " + std::to_string(paths) +
             " paths");
    fork_ = executor().runtime->create_event(executor().ordinal);
    begin_ = executor().runtime->create_event(executor().ordinal);
    end_ = executor().runtime->create_event(executor().ordinal);
    split(std::vector<double>(paths, 1));
    if (!relays_.empty()) choose_parts();
    traits_.entries_per_operation = entries_of_an_operation();
    traits_.parts = share_of_paths();
    for (const Relay& relay : relays_) traits_.helpers.push_back(relay.device);
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    moves(first_operation, count);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k) enqueue_one(stream, k, false);
  }

 private:
  // Entries in its own queue, or in the longest queue of a relay.
  std::uint64_t entries_of_an_operation() const {
    std::uint64_t own = 2, chain = 0;  // the fork and the direct copy
    for (std::size_t k = 0; k < relays_.size(); ++k) {
      const std::uint64_t depth = relays_[k].chains.size(), pieces = pieces_of(parts_[k + 1]);
      own += depth;
      chain = std::max(chain, 2 * ((pieces + depth - 1) / depth) + 2);
    }
    return std::max(own, chain);
  }

  std::map<std::string, double> share_of_paths() const {
    const std::string from = flow_.source->device().name() + ">", to = flow_.destination->device().name();
    const auto part = [&](std::size_t path) {
      return static_cast<double>(parts_[path]) / static_cast<double>(flow_.size_bytes);
    };
    std::map<std::string, double> found{{from + to, part(0)}};
    for (std::size_t k = 0; k < relays_.size(); ++k)
      found[from + relays_[k].device->name() + ">" + to] = part(k + 1);
    return found;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Unsupported("route", "path", why, executor().name());
  }

  void add_relay(const std::string& name) {
    Device& device = session_->device(name);
    if (device.is_host()) refuse(name + " is a CPU: relays are GPUs");
    if (&device == &flow_.source->device() || &device == &flow_.destination->device())
      refuse(name + " is an end of the transfer, so it is no way round");
    for (Buffer* end : {flow_.source, flow_.destination}) {
      if (end->device().is_host()) continue;
      const Availability proved = session_->open_to(device, *end);
      if (!proved.available) refuse("the relay " + name + " cannot pass on: " + proved.reason);
    }
    Relay relay{&device, {}};
    const unsigned depth = flow_.count("depth", kDepth, kMostDepth);
    const std::uint64_t staging = std::min(piece_bytes_, (flow_.size_bytes + kGrainBytes - 1));
    for (unsigned k = 0; k < depth; ++k)
      relay.chains.push_back({device.runtime->create_stream(device.ordinal),
                              session_->allocate(device, Memory::device, staging, device),
                              device.runtime->create_event(device.ordinal),
                              device.runtime->create_event(device.ordinal)});
    relays_.push_back(std::move(relay));
  }

  std::uint64_t pieces_of(std::uint64_t bytes) const { return (bytes + piece_bytes_ - 1) / piece_bytes_; }

  void split(const std::vector<double>& weights) {
    parts_.assign(weights.size(), 0);
    split_over_paths(flow_.size_bytes, weights,
                     [this](std::size_t path, std::uint64_t bytes) { parts_[path] = bytes; });
  }

  // Finds a split with which all paths end together: runs it, measures when each path ends, and gives more to
  // early ones. This includes contention on shared links. The split that ended first is kept.
  void choose_parts() {
    std::vector<double> weights(parts_.size(), 1), best = weights;
    double least = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      split(weights);
      const std::vector<double> times = times_of_paths(static_cast<std::uint64_t>(trial));
      const double longest = *std::max_element(times.begin(), times.end());
      if (trial == 0) continue;
      if (least == 0 || longest < least) {
        least = longest;
        best = weights;
      }
      for (std::size_t path = 0; path < times.size(); ++path)
        weights[path] = static_cast<double>(parts_[path]) / std::max(times[path], 1.0);
    }
    split(best);
  }

  // Nanoseconds of each path in one operation; not part of the timed operations.
  std::vector<double> times_of_paths(std::uint64_t operation) {
    Runtime& runtime = *executor().runtime;
    Stream& stream = session_->service_stream(executor());
    enqueue_one(stream, operation, true);
    runtime.synchronize(stream);
    std::vector<double> times{runtime.elapsed_ns(*begin_, *end_)};
    for (Relay& relay : relays_) {
      double longest = 0;
      for (Chain& chain : relay.chains)
        longest = std::max(longest, runtime.elapsed_ns(*chain.begin, *chain.end));
      times.push_back(longest);
    }
    return times;
  }

  void enqueue_one(Stream& stream, std::uint64_t operation, bool timed) {
    Runtime& runtime = *executor().runtime;
    runtime.record(*fork_, stream);
    for (Relay& relay : relays_) {
      for (Chain& chain : relay.chains) {
        runtime.wait(*chain.stream, *fork_);
        if (timed) runtime.record(*chain.begin, *chain.stream);
      }
    }
    if (timed) runtime.record(*begin_, stream);
    runtime.copy(destination_slot(operation), source_slot(operation), parts_[0], stream);
    if (timed) runtime.record(*end_, stream);
    enqueue_pieces(operation);
    for (Relay& relay : relays_) {
      for (Chain& chain : relay.chains) {
        runtime.record(*chain.end, *chain.stream);
        runtime.wait(stream, *chain.end);
      }
    }
  }

  // Enqueues one piece of every relay at a time, so that all paths start at the same time.
  void enqueue_pieces(std::uint64_t operation) {
    std::uint64_t most = 0;
    for (std::size_t k = 0; k < relays_.size(); ++k) most = std::max(most, pieces_of(parts_[k + 1]));
    for (std::uint64_t piece = 0; piece < most; ++piece) {
      std::uint64_t offset = parts_[0];
      for (std::size_t k = 0; k < relays_.size(); ++k) {
        const std::uint64_t part = parts_[k + 1], first = piece * piece_bytes_;
        if (first < part) {
          Chain& chain = relays_[k].chains[piece % relays_[k].chains.size()];
          pass_on(chain, operation, offset + first, std::min(piece_bytes_, part - first));
        }
        offset += part;
      }
    }
  }

  void pass_on(Chain& chain, std::uint64_t operation, std::uint64_t offset, std::uint64_t bytes) {
    Runtime& runtime = *executor().runtime;
    runtime.copy(chain.staging->data(), source_slot(operation) + offset, bytes, *chain.stream);
    runtime.copy(destination_slot(operation) + offset, chain.staging->data(), bytes, *chain.stream);
  }

  std::uint64_t piece_bytes_ = 0;
  std::vector<Relay> relays_;
  std::vector<std::uint64_t> parts_;  // bytes: of the direct path, then of each relay
  std::unique_ptr<Event> fork_, begin_, end_;
};

const RegisterInterface kRoute("route", make<Route>);

}  // namespace
}  // namespace byteways
