// NVML's types and constants (nvml.h, unchanged since their introduction), for its caller (nvml.cpp) and for
// the simulator.
#pragma once

namespace byteways::cuda {

struct NvmlTypes {
  using Device = struct OpaqueDevice*;
  struct PciInfo {
    char legacy_address[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32];
  };
  struct MemoryInfo {
    unsigned long long total, free, used;
  };
  struct ProcessInfo {
    unsigned pid;
    unsigned long long used_memory;  // kNoMemory if the driver does not report it
    unsigned gpu_instance, compute_instance;
  };
  struct Utilisation {
    unsigned gpu, memory;  // percent of the last sampling period
  };
  struct FieldValue {
    unsigned field, scope;
    long long timestamp, latency_us;
    int type, status;
    union {
      double real;
      unsigned narrow;
      unsigned long long wide;
      long long signed_wide;
    } value;
  };

  static constexpr unsigned long long kNoMemory = ~0ull;  // NVML_VALUE_NOT_AVAILABLE
  static constexpr int kClockSm = 1, kClockMemory = 2;
  static constexpr int kTemperatureGpu = 0;
  static constexpr int kNotSupported = 3;                               // NVML_ERROR_NOT_SUPPORTED
  static constexpr int kInsufficientSize = 7;                           // NVML_ERROR_INSUFFICIENT_SIZE
  static constexpr int kFunctionNotFound = 13;                          // NVML_ERROR_FUNCTION_NOT_FOUND
  static constexpr unsigned kMostLinks = 36;                            // NVML_NVLINK_MAX_LINKS
  static constexpr unsigned kAllLinks = ~0u;                            // scope: the sum over all links
  static constexpr unsigned kFieldSpeedCommon = 90, kFieldSpeed = 164;  // MB/s: of all links, of one link
  static constexpr unsigned kFieldDataTx = 138, kFieldDataRx = 139;     // KiB
  static constexpr unsigned kFieldPcieTx = 197, kFieldPcieRx = 198;     // bytes; newer drivers
  // CRC flit, CRC data, replay, recovery, ECC: totals.
  static constexpr unsigned kErrorFields[] = {38, 45, 52, 59, 160};
};

}  // namespace byteways::cuda
