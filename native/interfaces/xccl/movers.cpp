// Interfaces `xccl` (NCCL or RCCL: collectives, and messages from rank 0 to rank 1, both ways, or of several
// pairs), `xccl-ping-pong` and the one-sided `xccl-put`. Operations are enqueued back to back on a stream of
// each rank's GPU.
#include <map>

#include "interfaces/message_role.hpp"
#include "interfaces/rank_collective.hpp"
#include "interfaces/registry.hpp"
#include "interfaces/single_thread.hpp"
#include "interfaces/xccl/xccl_mover.hpp"

namespace byteways {

XcclCommunicator& require_xccl(const Flow& flow) {
  if (flow.xccl == nullptr)
    throw Unsupported(flow.interface, "library", "the ranks have no communicator of NCCL or RCCL");
  return *flow.xccl;
}

std::string launched(const Flow& flow) {
  const std::string launch = flow.word("launch", "process");
  return std::to_string(flow.ranks->size()) + " GPUs, " +
         (launch == "single" ? "one thread for all" : "one " + launch + " each");
}

namespace {

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

// Exchanges a block between every two ranks, like nccl-tests: NCCL before 2.28 has no function for it, nor
// for gather and scatter.
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

struct OwnCall {
  const char* name;
  bool (XcclCommunicator::*has)() const;
  Function call;
};

// What newer libraries do by one call, and older ones by a group of messages.
const std::map<std::string, OwnCall, std::less<>>& own_calls() {
  static const std::map<std::string, OwnCall, std::less<>> known = {
      {"alltoall",
       {"ncclAlltoAll", &XcclCommunicator::has_all_to_all,
        [](const Call& c) { c.ranks.all_to_all(c.source, c.destination, c.block, c.type(), c.stream); }}},
      {"gather",
       {"ncclGather", &XcclCommunicator::has_gather,
        [](const Call& c) {
          c.ranks.gather(c.source, c.destination, c.block, c.type(), kRootRank, c.stream);
        }}},
      {"scatter",
       {"ncclScatter", &XcclCommunicator::has_scatter,
        [](const Call& c) {
          c.ranks.scatter(c.source, c.destination, c.block, c.type(), kRootRank, c.stream);
        }}},
  };
  return known;
}

constexpr const char* kMessages = "ncclSend and ncclRecv";

class XcclCollective final : public XcclMover<CollectiveMover> {
 public:
  XcclCollective(Session& session, const Flow& flow, const std::string& name)
      : XcclMover(session, flow, name) {
    const auto found = functions().find(name);
    if (found == functions().end())
      throw Unsupported(flow.interface, "operation", "NCCL and RCCL have no " + name);
    function_ = found->second;
    if (const auto own = own_calls().find(name); own != own_calls().end()) {
      const bool uses = (xccl_->*own->second.has)() && flow.word("calls", "collective") != "messages";
      if (uses) function_ = own->second.call;
      traits_.evidence.call = uses ? own->second.name : kMessages;
    }
    const std::string by = traits_.evidence.call.empty() ? "" : ", by " + traits_.evidence.call;
    describe(name + " among " + launched(flow) + by + (in_place() ? ", in place" : ""));
  }

  void call(Stream& stream, std::uint64_t k, int) override {
    function_({*xccl_, inputs().at(k), outputs().at(k), flow_.size_bytes / element_bytes(),
               block_bytes() / element_bytes(), element_bytes(), stream});
  }

 private:
  Function function_ = nullptr;
};

// Messages between two ranks or those of several pairs: one per operation, or one in each direction.
class XcclMessages final : public XcclMover<RankMover> {
 public:
  XcclMessages(Session& session, const Flow& flow) : XcclMover(session, flow), role_(role_of(flow, false)) {
    require_buffers(role_.sends, role_.receives);
    traits_.bytes_per_operation = flow.size_bytes;
    describe("send and receive between " + launched(flow));
  }

  void call(Stream& stream, std::uint64_t k, int) override {
    const auto send = [&] {
      xccl_->send(source_slot(k), flow_.size_bytes, xccl::kUnsigned8, role_.other, stream);
    };
    const auto receive = [&] {
      xccl_->receive(destination_slot(k), flow_.size_bytes, xccl::kUnsigned8, role_.other, stream);
    };
    if (role_.sends && role_.receives)
      xccl_->group([&] { send(), receive(); });
    else if (role_.sends)
      send();
    else
      receive();
  }

 private:
  std::vector<Arrival> arrivals() const override {
    if (!role_.receives) return {};
    return {{0, flow_.size_bytes, role_.other, 0, false}};
  }

  const Role role_;
};

// An operation is a message to the other rank and, as a second step, one back.
class XcclPingPong final : public XcclMover<RankMover> {
 public:
  XcclPingPong(Session& session, const Flow& flow) : XcclMover(session, flow) {
    require_ends(true, true);
    describe("a message at a time between " + launched(flow));
    traits_.entries_per_operation = 2;
  }

  int steps() const override { return 2; }
  void call(Stream& stream, std::uint64_t k, int step) override {
    if (step == rank())
      xccl_->send(source_slot(k), flow_.size_bytes, xccl::kUnsigned8, 1 - rank(), stream);
    else
      xccl_->receive(destination_slot(k), flow_.size_bytes, xccl::kUnsigned8, 1 - rank(), stream);
  }

 private:
  std::vector<Arrival> arrivals() const override { return {{0, flow_.size_bytes, 1 - rank(), 0, false}}; }
};

// A rank's buffers are windows that all ranks have registered at once, and alike: one where each has one
// buffer, or one of sources and one of destinations. An operation is a put and its signal, for which the
// other rank waits.
class XcclPut final : public XcclMover<RankMover> {
 public:
  XcclPut(Session& session, const Flow& flow) : XcclMover(session, flow), role_(role_of(flow, false)) {
    require_buffers(role_.sends, role_.receives);
    if (registered().empty())
      throw Unsupported(flow.interface, "memory", "it puts into memory that NCCL or RCCL allocates");
    traits_.bytes_per_operation = flow.size_bytes;
    traits_.evidence.call = "ncclPutSignal";
    describe("put with a signal between " + launched(flow));
  }

  void call(Stream& stream, std::uint64_t k, int) override {
    if (role_.sends) {
      std::byte* const slot = source_slot(k);
      const auto offset =
          static_cast<std::size_t>(slot - source_slots().first);  // all ranks have as many slots
      xccl_->put(slot, flow_.size_bytes, role_.other, registered().back(), offset, stream);
    }
    if (role_.receives) xccl_->wait_for_signal(role_.other, stream);
  }

 private:
  std::vector<Arrival> arrivals() const override {
    if (!role_.receives) return {};
    return {{0, flow_.size_bytes, role_.other, 0, false}};
  }

  const Role role_;
};

std::unique_ptr<Mover> make_rank(Session& session, const Flow& flow) {
  const std::string operation = flow.word("operation");
  if (flow.interface == "xccl-put") return std::make_unique<XcclPut>(session, flow);
  if (flow.interface == "xccl-ping-pong") return std::make_unique<XcclPingPong>(session, flow);
  if (operation == "unidirectional" || operation == "bidirectional" || operation == "multi-pair")
    return std::make_unique<XcclMessages>(session, flow);
  return std::make_unique<XcclCollective>(session, flow, operation);
}

std::unique_ptr<Mover> make_xccl(Session& session, const Flow& flow) {
  if (flow.others.empty()) return make_rank(session, flow);
  return std::make_unique<SingleThreadMover>(session, flow, make_rank);
}

const RegisterInterface kXccl("xccl", make_xccl), kPingPong("xccl-ping-pong", make_xccl),
    kPut("xccl-put", make_xccl);

}  // namespace
}  // namespace byteways
