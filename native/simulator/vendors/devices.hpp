// Implementation of the device query functions, shared by both vendors.
#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>

#include "simulator/vendors/api.hpp"

namespace byteways::sim {

// The rate of a GPU's memory is the product of clock and width; the model has the rate only. With 100 bytes a
// transfer every rate that is a multiple of 200 kB/s makes a whole number of kHz.
inline constexpr int kMemoryBusBytes = 100;

// `Vendor` brings its function table as Table, world(), gpu_of(device), and the visible GPUs, gpus().
template <class Vendor>
class DeviceCalls {
  using Device = typename Vendor::Table::Device;

 public:
  static int name(char* name, int room, Device device) {
    return answer([&] {
      Vendor::gpu_of(device);
      write_text(Vendor::world().model().gpu.name, name, static_cast<std::size_t>(std::max(0, room)));
    });
  }
  static int memory(std::size_t* bytes, Device device) {
    return answer([&] {
      Vendor::gpu_of(device);
      give(bytes, static_cast<std::size_t>(Vendor::world().model().gpu.memory_bytes));
    });
  }
  static int can_access_peer(int* possible, Device device, Device peer) {
    return answer([&] {
      const int gpu = Vendor::gpu_of(device), other = Vendor::gpu_of(peer);
      give(possible, Vendor::world().can_access_peer(gpu, other) ? 1 : 0);
    });
  }
  // Returns the number of a place among the visible GPUs.
  static Device device_of(const std::optional<Place>& place) {
    constexpr Device kInvalid = -2;  // CU_DEVICE_INVALID, hipInvalidDeviceId
    if (!place) return kInvalid;
    if (place->kind == Place::Kind::cpu) return Vendor::Table::kHostDevice;
    const auto& gpus = Vendor::gpus();
    const auto found = std::find(gpus.begin(), gpus.end(), place->index);
    return found == gpus.end() ? kInvalid : static_cast<Device>(found - gpus.begin());
  }
};

}  // namespace byteways::sim
