// The vendor-neutral runtime interface. Every runtime has memory (memory.hpp) and queues (queue.hpp); other
// functions are optional capabilities (capabilities.hpp).
//
// The host is a runtime like any other (host.hpp): a device is a NUMA domain, a stream is a thread bound to
// it, a kernel is a host function of the same name. No code above this file names a vendor or reads another
// clock, so a simulated machine only has to implement this interface (or the vendor functions below it).
//
// Threading: one thread at a time may use a stream; threads may use different streams of one runtime at once.
// Errors: every call may throw Error, OutOfMemory or Unsupported.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtimes/capabilities.hpp"
#include "runtimes/memory.hpp"
#include "runtimes/queue.hpp"

namespace byteways {

struct DeviceInfo {
  std::string name;          // "gpu0", "cpu1": filled by the session
  std::string model;         // "NVIDIA H200"
  std::string uuid;          // GPUs: "GPU-…", equal to what the vendor's tools print
  std::string pci_address;   // GPUs: "0000:3b:00.0"
  std::string architecture;  // "sm_90", "gfx90a", "x86_64"
  int numa_domain = -1;      // host domain nearest to the device, -1 when unknown
  int memory_domain = -1;    // GPUs whose memory is a NUMA domain of the system (GH200): its number
  int multiprocessors = 0;   // SMs or CUs; host: cores this process may use
  std::uint64_t memory_bytes = 0;
  std::uint64_t last_level_cache_bytes = 0;
  std::uint64_t memory_bytes_per_s = 0;  // nominal, 0 when unknown
  int copy_engines = 0;                  // asynchronous copy engines the runtime reports
  bool pageable_access = false;          // kernels may touch plain malloc memory (HMM, ATS, XNACK)
  bool host_access = false;              // CPU threads may touch this device's memory (an APU)
};

class Runtime : public MemoryInterface, public QueueInterface {
 public:
  virtual ~Runtime() = default;

  virtual std::string_view name() const = 0;      // "host", "cuda", "hip"
  virtual std::string_view timed_by() const = 0;  // what elapsed() reads: "device-events", "host-clock"
  virtual std::string version() const = 0;        // driver and runtime version, for the manifest
  virtual int device_count() const = 0;
  virtual DeviceInfo device(int device) = 0;
  // Binds the calling thread to the cores nearest to the device. Returns false if they are unknown.
  virtual bool bind_thread_near(int device) = 0;

  template <class Capability>
  const Offer<Capability>& capability() const {
    return std::get<Offer<Capability>>(capabilities_);
  }

 protected:
  // Has the capability, unless `obstacle` says why not. The object lives as long as the runtime.
  template <class Capability>
  void offer(Capability& object, std::string obstacle = {}) {
    std::get<Offer<Capability>>(capabilities_) = {obstacle.empty() ? &object : nullptr, std::move(obstacle)};
  }

 private:
  CapabilityOffers capabilities_;
};

}  // namespace byteways
