// See peer.hpp.
#include "interfaces/exchange/peer.hpp"

#include <set>

namespace byteways {
namespace {

constexpr int kArrived = 99;  // tag of the word that follows messages
constexpr char kFailed = '!', kHandle = '=';

// What a rank tells about its memory of messages: its device and the handle, or why there is none. A process
// may number GPUs in another order, so that the UUID tells; simulated ones may have none.
std::string told_of(Buffer& messages) {
  Device& owner = messages.device();
  try {
    return kHandle + (owner.info.uuid.empty() ? owner.name() : owner.info.uuid) + '\n' +
           owner.runtime->capability<ProcessHandles>()->handle_of(messages.allocation());
  } catch (const Error& error) {
    return kFailed + error.text();
  }
}

Device& device_of(const Session& session, const std::string& told) {
  for (const auto& device : session.devices())
    if (told == (device->info.uuid.empty() ? device->name() : device->info.uuid)) return *device;
  throw Unsupported("open", "device", "GPU " + told + " of another rank is not visible to this one");
}

// The first reason that a rank tells, with its number; empty: none has any.
std::string first_reason(const std::vector<std::string>& told) {
  for (std::size_t rank = 0; rank < told.size(); ++rank)
    if (!told[rank].empty() && told[rank][0] == kFailed)
      return "rank " + std::to_string(rank) + ": " + told[rank].substr(1);
  return {};
}

}  // namespace

PeerTransport::PeerTransport(Session& session, const Flow& flow, By by, Buffer& messages,
                             const std::vector<int>& neighbours, std::string& obstacle)
    : MpiTransport(session, flow), by_(by) {
  const std::vector<std::string> told = flow.ranks->gather_bytes(told_of(messages));
  obstacle = first_reason(told);
  if (!obstacle.empty()) return;
  const std::string reason = open(session, flow, told, neighbours);
  obstacle = first_reason(flow.ranks->gather_bytes(reason.empty() ? "" : kFailed + reason));
  engine_ = by == By::kernels ? "kernel" : "copy";
  evidence_ = by == By::kernels
                  ? "the packing kernel stores into the neighbour's memory, opened by its IPC handle; a "
                    "word by MPI follows"
                  : "the runtime's copies into the neighbour's memory, opened by its IPC handle; a word by "
                    "MPI follows";
}

// All neighbours close the memory before its owner may free it.
PeerTransport::~PeerTransport() { opened_.clear(); }

std::string PeerTransport::open(Session& session, const Flow& flow, const std::vector<std::string>& told,
                                const std::vector<int>& neighbours) {
  try {
    for (const int other : neighbours) {
      const std::string& text = told.at(static_cast<std::size_t>(other));
      const std::size_t end = text.find('\n');
      Device& owner = device_of(session, text.substr(1, end - 1));
      if (const Availability access = session.prove_peer(device(), owner); !access.available)
        return access.reason;
      opened_[other] =
          session.open_exported(owner, flow.destination->bytes(), device(), text.substr(end + 1), false);
    }
  } catch (const Error& error) {
    return error.text();
  }
  return {};
}

std::byte* PeerTransport::packed_at(const Parcel& sent) const {
  return by_ == By::kernels ? place_of(sent) : sent.data;
}

void PeerTransport::exchange(const Parcels& parcels, Stream& stream) {
  if (by_ == By::copies)
    for (const Parcel& each : parcels.sent)
      device().runtime->copy(place_of(each), each.data, each.bytes, stream);
  device().runtime->synchronize(stream);
  // A word to and from everybody, which also says that what came before the last messages has been read: a
  // rank that is an exchange ahead writes elsewhere, and it cannot be two ahead.
  Requests pending;
  std::map<int, std::uint64_t> words;
  const std::uint64_t own = 1;
  for (const Parcel& each : parcels.received) words[each.other] = 0;
  for (auto& [other, word] : words) mpi().start_receive(pending, &word, sizeof word, kByte, other, kArrived);
  std::set<int> told;
  for (const Parcel& each : parcels.sent)
    if (told.insert(each.other).second)
      mpi().start_send(pending, &own, sizeof own, kByte, each.other, kArrived);
  mpi().wait(pending);
}

}  // namespace byteways
