// See devices.hpp.
#include "simulator/machine/devices.hpp"

#include "simulator/machine/index.hpp"

namespace byteways::sim {

Devices::Devices(const Model& model, const Faults& faults, Costs& costs, const MemoryAccounting& holdings)
    : pageable_access(model.pageable_access),
      model_(&model),
      faults_(&faults),
      costs_(&costs),
      accounting_(&holdings),
      devices_(at(model.gpu.count)) {}

void Devices::check(Place place) const {
  if (place.kind == Place::Kind::cpu) return;
  const Device& device = devices_.at(at(place.index));
  if (device.failure) throw Failure(*device.failure);
}

void Devices::count_operation(Place place) {
  if (place.kind == Place::Kind::cpu) return;
  Device& device = devices_.at(at(place.index));
  const Fault* fault = faults_->find(Fault::Kind::lost, name_of(place));
  if (++device.operations > (fault == nullptr ? UINT64_MAX : fault->number))
    fail(place, Failure(Code::device_lost, name_of(place) + " does not answer any more"));
}

void Devices::fail(Place place, const Failure& failure) {
  if (place.kind == Place::Kind::cpu) return;
  std::optional<Failure>& first = devices_.at(at(place.index)).failure;
  if (!first) first = failure;
}

std::string Devices::failures() const {
  std::string text = costs_->failed_link();
  for (const Device& device : devices_)
    if (device.failure && device.failure->what() != text)
      text += (text.empty() ? "" : ", ") + std::string(device.failure->what());
  return text;
}

int Devices::first_failed() const {
  for (std::size_t gpu = 0; gpu < devices_.size(); ++gpu)
    if (devices_[gpu].failure) return static_cast<int>(gpu);
  return -1;
}

bool Devices::linked(int gpu, int peer) {
  const Route& way = costs_->router().between({Place::Kind::gpu, gpu}, {Place::Kind::gpu, peer});
  const Model& model = costs_->model();
  if (model.host_of({Place::Kind::gpu, gpu}) != model.host_of({Place::Kind::gpu, peer})) return false;
  return gpu != peer && way.found && !way.through_cpu;
}

void Devices::enable_peer(int gpu, int peer) {
  if (!linked(gpu, peer))
    throw Failure(Code::no_peer_access,
                  "no link leads from gpu" + std::to_string(gpu) + " to gpu" + std::to_string(peer));
  if (!peers_.insert({gpu, peer}).second) throw Failure(Code::already_enabled, "it is enabled already");
}

void Devices::disable_peer(int gpu, int peer) {
  if (peers_.erase({gpu, peer}) == 0) throw Failure(Code::invalid, "it is not enabled");
}

std::string Devices::barrier(Place who, const Block& block) const {
  if (who.kind == Place::Kind::cpu)
    return is_device(block.kind) && !model_->host_access ? "a CPU core has no address for a GPU's memory"
                                                         : "";
  if (is_plain(block.kind) && !pageable_access)
    return "kernels of this machine do not reach plain host memory";
  if (block.kind == Kind::vmm && block.physical == 0) return "nothing is mapped at these addresses";
  if (block.kind == Kind::vmm || block.kind == Kind::pool) {
    const bool open = block.kind == Kind::vmm ? block.open_to.contains(who.index)
                                              : accounting_->pool_is_open(block.owner.index, who.index);
    return open ? "" : name_of(who) + " was not given access to this memory of " + name_of(block.owner);
  }
  if (is_device(block.kind) && block.owner.index != who.index &&
      !peers_.contains({who.index, block.owner.index}))
    return name_of(who) + " has no access to the memory of " + name_of(block.owner);
  return {};
}

void Devices::count_moved(Place from, Place to, std::uint64_t bytes) {
  if (from == to || from.kind != Place::Kind::gpu || to.kind != Place::Kind::gpu) return;
  devices_.at(at(from.index)).health.sent_bytes += bytes;
  devices_.at(at(to.index)).health.received_bytes += bytes;
}

Health Devices::health(int gpu) const {
  Health health = devices_.at(at(gpu)).health;
  health.throttled = faults_->find(Fault::Kind::throttle, "gpu" + std::to_string(gpu)) != nullptr;
  return health;
}

}  // namespace byteways::sim
