// NVIDIA's management library (NVML), loaded at run time, for topology and health readings. Read-only. If the
// driver lacks a function or does not answer for a device, the field stays unknown.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtimes/library.hpp"

namespace byteways {

struct FabricLink {
  int index = 0;
  bool active = false;
  int version = 0;                          // generation (NVLink 4), 0 when unknown
  std::string remote_kind;                  // "gpu", "switch", "cpu", "unknown"
  std::string remote_pci_address;           // empty when unknown
  std::int64_t signalling_bytes_per_s = 0;  // one direction, 0 when not answered
};

struct ManagementDevice {
  int index = 0;
  std::string name, uuid, pci_address;  // if the GPU does not answer, the name is NVML's error message
  std::int64_t memory_bytes = 0;        // this and the numbers up to pcie_width_max: 0 when unknown
  int memory_clock_mhz = 0;             // the highest
  int memory_bus_bits = 0;
  int pcie_generation = 0, pcie_width = 0;
  int pcie_generation_max = 0, pcie_width_max = 0;
  std::vector<FabricLink> fabric_links;
  bool mig_enabled = false;
  std::string compute_mode;    // "default", "exclusive-thread", "prohibited", "exclusive-process", "unknown"
  int compute_processes = -1;  // running now, -1 when unknown
  int numa_domain = -1;
};

// A process that holds a context on a GPU.
struct ManagementProcess {
  std::int64_t pid = 0;            // in the driver's process namespace
  std::string kind;                // "compute", "graphics"
  std::int64_t memory_bytes = -1;  // of this GPU, -1 when unknown
};

// Processes that use a GPU, and its utilisation.
struct ManagementUse {
  bool processes_known = false;
  std::vector<ManagementProcess> processes;  // this process too, once it holds a context
  // Percent of the last sampling period (1/6 s to 1 s) in which a kernel ran; -1 when unknown.
  std::int64_t utilisation_percent = -1;
};

// Energy is read separately: reading its counter takes 3 to 6 ms (H200, 2026-11-22).
struct ManagementHealth {
  std::optional<std::int64_t> sm_clock_mhz, memory_clock_mhz;
  std::optional<std::int64_t> temperature_c;
  std::optional<std::int64_t> power_mw;
  std::optional<std::int64_t> throttle_reasons;  // bits of nvmlClocksEventReasons
  std::optional<std::int64_t> pcie_replays;
  std::optional<std::int64_t> nvlink_errors;  // CRC, replay, recovery and ECC errors of all links
  std::optional<std::int64_t> nvlink_data_tx_bytes, nvlink_data_rx_bytes;  // payload of all links
  std::map<std::string, std::string> unknown;  // why a number is missing, by the name of its field
};

// What the counters of a GPU's links have seen, in bytes, whoever moved them; unknown: the driver has no such
// counter.
struct ManagementLinkBytes {
  std::optional<std::int64_t> fabric_tx_bytes, fabric_rx_bytes;  // payload of all links to other GPUs
  std::optional<std::int64_t> pcie_tx_bytes, pcie_rx_bytes;
};

// From now on, every call of the library is preceded by a line {"call": "nvmlInit_v2"} to this file, for a
// process that waits for the answers: any call may never return if a GPU is lost.
void announce_management_calls(int descriptor);

class Management {
 public:
  // Never throws for a missing or unusable library: report() says so. `simulator`: file to load instead of
  // any NVML, empty on a real machine.
  explicit Management(const std::string& simulator = {});
  ~Management();
  Management(const Management&) = delete;
  Management& operator=(const Management&) = delete;

  const LibraryReport& report() const { return report_; }
  // In NVML's own order, which is by PCI address and ignores CUDA_VISIBLE_DEVICES. Empty when unusable.
  std::vector<ManagementDevice> devices() const;
  // Does not ask again for a number that the GPU does not support. Throws Unsupported when unusable, Error
  // when no GPU has the UUID. Not for several threads at once.
  ManagementLinkBytes link_bytes(const std::string& uuid) const;
  ManagementHealth health(const std::string& uuid) const;
  // `with_utilisation`: whether to ask for it, too, which takes as long as the list. Throws as health() does.
  ManagementUse use(const std::string& uuid, bool with_utilisation = true) const;
  // Returns the energy since the driver was loaded, in mJ; -1 when the GPU has no such counter. Throws as
  // health() does.
  std::int64_t energy_mj(const std::string& uuid) const;

 private:
  struct Table;
  void* device_of(const std::string& uuid) const;
  LibraryReport report_;
  std::unique_ptr<Table> table_;
};

}  // namespace byteways
