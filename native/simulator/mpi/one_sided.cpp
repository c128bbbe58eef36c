// See one_sided.hpp.
#include "simulator/mpi/one_sided.hpp"

#include <string>
#include <utility>

namespace byteways::sim::mpi {

std::uint64_t OneSided::create(std::uint64_t comm, std::uint64_t number, std::vector<Exposed> ranks) {
  const auto [found, is_new] = created_.try_emplace({comm, number}, created_.size() + 1);
  if (is_new) windows_[found->second] = {comm, std::move(ranks), {}};
  return found->second;
}

SharedWindow& OneSided::window(std::uint64_t handle) {
  const auto found = windows_.find(handle);
  if (found == windows_.end()) throw Failure(Code::invalid, "there is no such window");
  return found->second;
}

void OneSided::start(Transfers& transfers, SharedWindow& window, const Rank& caller, int other,
                     std::uint64_t offset, void* own, std::uint64_t bytes, bool puts) {
  if (other < 0 || other >= static_cast<int>(window.ranks.size()))
    throw Failure(Code::invalid, "there is no rank " + std::to_string(other));
  const Exposed& exposed = window.ranks[static_cast<std::size_t>(other)];
  if (offset > exposed.bytes || bytes > exposed.bytes - offset)
    throw Failure(Code::invalid, "rank " + std::to_string(other) + " exposes " +
                                     std::to_string(exposed.bytes) + " bytes, and these end beyond them");
  const Rank owner{exposed.number, {Place::Kind::cpu, exposed.domain}};
  const End near = transfers.bytes().end(own, bytes, caller.place);
  const End far =
      transfers.bytes().end(reinterpret_cast<void*>(exposed.address + offset), bytes, owner.place);
  const End &from = puts ? near : far, &to = puts ? far : near;
  const auto request = std::make_shared<Request>(Request{caller.number, exposed.number});
  window.pending.emplace(caller.number, request);

  const Model& model = transfers.model();
  const bool both = (from.device || model.host_access) && (to.device || model.host_access);
  const bool opens = (from.device || to.device) && both && transfers.settings().ipc &&
                     bytes >= transfers.settings().ipc_from_bytes;
  const bool by_gpu = opens && transfers.joined_by_links(from.place, to.place);
  const Place gpu{Place::Kind::gpu, near.place.index};
  const auto moved = [&transfers, request, from, to, bytes, executor = by_gpu ? gpu : caller.place] {
    if (!request->withdrawn) transfers.bytes().copy(to.data, from.data, bytes, executor);
    request->done = true;
  };
  const auto size = static_cast<double>(bytes);
  const Rank &sender = puts ? caller : owner, &receiver = puts ? owner : caller;
  if (transfers.between_hosts(caller.number, exposed.number)) {
    const double asked_ns = puts ? 0 : transfers.network_ns(0);
    return transfers.after(asked_ns,
                           [=, &transfers] { transfers.by_network(sender, to, from, size, moved); });
  }
  if (by_gpu) {
    const double opened_ns = transfers.registration_ns(caller, far);
    if (bytes <= model.mpi.ipc_core_bytes)  // the core copies
      return transfers.by_core(caller, near, near, 0, false, opened_ns + model.mpi.ipc_core_ns, moved);
    const auto copied = [&transfers, moved] {
      transfers.after(transfers.model().calls.synchronize_ns, moved);
    };
    return transfers.by_core(caller, near, near, 0, false, opened_ns,
                             [=, &transfers] { transfers.by_gpu(caller, gpu, to, from, size, copied); });
  }
  const bool mapped = model.mpi.core_device_bytes_per_s > 0 && bytes <= model.mpi.eager_bytes;
  if ((!from.device && !to.device) || model.host_access || mapped)
    return transfers.by_core(caller, to, from, size, true, 0, moved);
  transfers.staged(sender, receiver, to, from, size, moved);
}

std::vector<std::shared_ptr<Request>> OneSided::take(SharedWindow& window, int caller, int other) {
  const int peer = other < 0 ? -1 : window.ranks.at(static_cast<std::size_t>(other)).number;
  std::vector<std::shared_ptr<Request>> taken;
  const auto [first, last] = window.pending.equal_range(caller);
  for (auto at = first; at != last;) {
    if (other >= 0 && at->second->peer != peer) {
      ++at;
      continue;
    }
    taken.push_back(at->second);
    at = window.pending.erase(at);
  }
  return taken;
}

void OneSided::withdraw_all(int rank) {
  for (auto& [handle, window] : windows_)
    for (auto& [caller, request] : window.pending)
      if (request->owner == rank || request->peer == rank) {
        request->withdrawn = true;
        if (request->peer == rank) request->error = "rank " + std::to_string(rank) + " is gone";
      }
}

}  // namespace byteways::sim::mpi
