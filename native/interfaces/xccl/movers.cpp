// Interfaces `xccl` (NCCL or RCCL: collectives, and messages from rank 0 to rank 1 or both ways) and
// `xccl-ping-pong`. Operations are enqueued back to back on a stream of each rank's GPU.
#include <map>

#include "interfaces/rank_collective.hpp"
#include "interfaces/registry.hpp"

namespace byteways {
namespace {

XcclCommunicator& require_xccl(const Flow& flow) {
  if (flow.xccl == nullptr)
    throw Unsupported(flow.interface, "library", "the ranks have no communicator of NCCL or RCCL");
  return *flow.xccl;
}

void describe(Traits& traits, const XcclCommunicator& xccl, const std::string& what) {
  traits.synchronous = false;
  traits.engine = "xccl";
  traits.engine_evidence = xccl.library_name() + ": " + what;
}

// Arguments of a collective. `count` and `block` are numbers of elements: of the whole size, and of one
// rank's block.
struct Call {
  XcclCommunicator& ranks;
  const std::byte* source;
  std::byte* destination;
  std::size_t count, block, element_bytes;
  Stream& stream;
  int type() const { return element_bytes == kWord ? xccl::kUnsigned64 : xccl::kUnsigned32; }
};

// Exchanges a block between every two ranks, like nccl-tests: the library has no function for it.
void alltoall(const Call& c) {
  c.ranks.group([&] {
    for (int other = 0; other < c.ranks.size(); ++other) {
      const std::size_t offset = static_cast<std::size_t>(other) * c.block * c.element_bytes;
      c.ranks.send(c.source + offset, c.block, c.type(), other, c.stream);
      c.ranks.receive(c.destination + offset, c.block, c.type(), other, c.stream);
    }
  });
}

void gather(const Call& c) {
  c.ranks.group([&] {
    c.ranks.send(c.source, c.block, c.type(), kRootRank, c.stream);
    for (int other = 0; c.ranks.rank() == kRootRank && other < c.ranks.size(); ++other)
      c.ranks.receive(c.destination + static_cast<std::size_t>(other) * c.block * c.element_bytes, c.block,
                      c.type(), other, c.stream);
  });
}

void scatter(const Call& c) {
  c.ranks.group([&] {
    for (int other = 0; c.ranks.rank() == kRootRank && other < c.ranks.size(); ++other)
      c.ranks.send(c.source + static_cast<std::size_t>(other) * c.block * c.element_bytes, c.block, c.type(),
                   other, c.stream);
    c.ranks.receive(c.destination, c.block, c.type(), kRootRank, c.stream);
  });
}

using Function = void (*)(const Call&);

const std::map<std::string, Function, std::less<>>& functions() {
  static const std::map<std::string, Function, std::less<>> known = {
      {"allreduce",
       [](const Call& c) { c.ranks.allreduce(c.source, c.destination, c.count, c.type(), c.stream); }},
      {"reduce",
       [](const Call& c) {
         c.ranks.reduce(c.source, c.destination, c.count, c.type(), kRootRank, c.stream);
       }},
      {"reduce-scatter",
       [](const Call& c) { c.ranks.reduce_scatter(c.source, c.destination, c.block, c.type(), c.stream); }},
      {"allgather",
       [](const Call& c) { c.ranks.allgather(c.source, c.destination, c.block, c.type(), c.stream); }},
      // The root sends in place: its destination is its source.
      {"broadcast",
       [](const Call& c) {
         void* to = c.ranks.rank() == kRootRank ? const_cast<std::byte*>(c.source) : c.destination;
         c.ranks.broadcast(c.source, to, c.count, c.type(), kRootRank, c.stream);
       }},
      {"alltoall", alltoall},
      {"gather", gather},
      {"scatter", scatter},
  };
  return known;
}

class XcclCollective final : public CollectiveMover {
 public:
  XcclCollective(Session& session, const Flow& flow, const std::string& name)
      : CollectiveMover(session, flow, name), xccl_(&require_xccl(flow)) {
    const auto found = functions().find(name);
    if (found == functions().end())
      throw Unsupported(flow.interface, "operation", "NCCL and RCCL have no " + name);
    function_ = found->second;
    describe(traits_, *xccl_,
             name + " among " + std::to_string(ranks().size()) + " GPUs, one process each" +
                 (in_place() ? ", in place" : ""));
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    if (in_place()) count_repetitions(first_operation, count);
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k)
      function_({*xccl_, input(k), output(k), flow_.size_bytes / element_bytes(),
                 block_bytes() / element_bytes(), element_bytes(), stream});
  }

 private:
  XcclCommunicator* xccl_;
  Function function_ = nullptr;
};

// Messages between two ranks: one per operation, or one in each direction.
class XcclMessages final : public RankMover {
 public:
  XcclMessages(Session& session, const Flow& flow)
      : RankMover(session, flow),
        xccl_(&require_xccl(flow)),
        both_(flow.word("operation") == "bidirectional") {
    sends_ = rank() == 0 || both_;
    receives_ = rank() == 1 || both_;
    require_ends(sends_, receives_);
    traits_.bytes_per_operation = flow.size_bytes;
    describe(traits_, *xccl_, "send and receive between two GPUs, one process each");
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    const std::size_t bytes = flow_.size_bytes;
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k) {
      if (both_)
        xccl_->group([&] {
          xccl_->send(source_slot(k), bytes, xccl::kUnsigned8, 1 - rank(), stream);
          xccl_->receive(destination_slot(k), bytes, xccl::kUnsigned8, 1 - rank(), stream);
        });
      else if (sends_)
        xccl_->send(source_slot(k), bytes, xccl::kUnsigned8, 1, stream);
      else
        xccl_->receive(destination_slot(k), bytes, xccl::kUnsigned8, 0, stream);
    }
  }

 private:
  std::vector<Arrival> arrivals() const override {
    if (!receives_) return {};
    return {{0, flow_.size_bytes, 1 - rank(), 0, false}};
  }

  XcclCommunicator* xccl_;
  bool both_, sends_ = false, receives_ = false;
};

// An operation is a message to the other rank and back.
class XcclPingPong final : public RankMover {
 public:
  XcclPingPong(Session& session, const Flow& flow) : RankMover(session, flow), xccl_(&require_xccl(flow)) {
    require_ends(true, true);
    describe(traits_, *xccl_, "a message at a time between two GPUs, one process each");
    traits_.entries_per_operation = 2;
  }

  void enqueue(Stream& stream, std::uint64_t first_operation, std::uint64_t count) override {
    const std::size_t bytes = flow_.size_bytes;
    for (std::uint64_t k = first_operation; k < first_operation + count; ++k) {
      if (rank() == 0) xccl_->send(source_slot(k), bytes, xccl::kUnsigned8, 1, stream);
      xccl_->receive(destination_slot(k), bytes, xccl::kUnsigned8, 1 - rank(), stream);
      if (rank() == 1) xccl_->send(source_slot(k), bytes, xccl::kUnsigned8, 0, stream);
    }
  }

 private:
  std::vector<Arrival> arrivals() const override { return {{0, flow_.size_bytes, 1 - rank(), 0, false}}; }

  XcclCommunicator* xccl_;
};

std::unique_ptr<Mover> make_xccl(Session& session, const Flow& flow) {
  const std::string operation = flow.word("operation");
  if (operation == "unidirectional" || operation == "bidirectional")
    return std::make_unique<XcclMessages>(session, flow);
  return std::make_unique<XcclCollective>(session, flow, operation);
}

const RegisterInterface kXccl("xccl", make_xccl);
const RegisterInterface kPingPong("xccl-ping-pong", make<XcclPingPong>);

}  // namespace
}  // namespace byteways
