// See host_beside.hpp.
#include "interfaces/host_beside.hpp"

namespace byteways {

Device& host_beside(const Session& session, const Device& gpu) {
  Device* first = nullptr;
  for (const auto& device : session.devices()) {
    if (!device->is_host()) continue;
    if (device->info.numa_domain == gpu.info.numa_domain) return *device;
    if (first == nullptr) first = device.get();
  }
  return *first;
}

}  // namespace byteways
