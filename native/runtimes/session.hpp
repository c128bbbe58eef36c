// Everything one worker has open: the runtimes found here, their devices, and the buffers made on
// them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "runtimes/factories.hpp"
#include "runtimes/host.hpp"
#include "runtimes/library.hpp"

namespace byteways {

// One place that owns memory and issues work: "cpu0" (a NUMA domain), "gpu3".
struct Device {
  Runtime* runtime = nullptr;
  int ordinal = 0;  // in its runtime
  DeviceInfo info;
  const std::string& name() const { return info.name; }
  bool is_host() const { return runtime->name() == "host"; }
};

class Session;

// Where managed pages are, as far as it can be asked, of a sample of at most 4096.
struct PageResidency {
  std::uint64_t sampled = 0;
  std::map<std::string, std::uint64_t> on_host;  // CPU device -> sampled pages, by the system's page tables
  std::string prefetched_to;  // device that the runtime says they were last sent to, "host"; empty: unknown

  std::uint64_t pages_on_host() const {
    std::uint64_t pages = 0;
    for (const auto& [device, count] : on_host) pages += count;
    return pages;
  }
  // With what was found of other pages; places that differ leave `prefetched_to` empty.
  void add(const PageResidency& other) {
    prefetched_to = sampled == 0 || prefetched_to == other.prefetched_to ? other.prefetched_to : "";
    sampled += other.sampled;
    for (const auto& [device, count] : other.on_host) on_host[device] += count;
  }
};

// device + memory + first touch. Its words are filled and checked by the device that owns it.
class Buffer {
 public:
  Buffer(Session& session, Device& device, Device& first_touch, Runtime& runtime,
         std::unique_ptr<Allocation> allocation)
      : session_(&session),
        device_(&device),
        first_touch_(&first_touch),
        runtime_(&runtime),
        allocation_(std::move(allocation)) {}
  Session& session() const { return *session_; }
  Device& device() const { return *device_; }
  Device& first_touch() const { return *first_touch_; }
  Runtime& runtime() const { return *runtime_; }  // that gave the memory
  Allocation& allocation() const { return *allocation_; }
  std::byte* data() const { return allocation_->data(); }
  std::uint64_t bytes() const { return allocation_->bytes(); }
  // NUMA domain -> pages of a sample of at most 4096 (move_pages); empty for device memory.
  std::map<int, std::uint64_t> placement() const;

 private:
  Session* session_;
  Device* device_;
  Device* first_touch_;
  Runtime* runtime_;
  std::unique_ptr<Allocation> allocation_;
};

// How a device writes and checks words of memory. It takes kernels, which are above the runtimes: whoever
// opens a session brings it along.
struct DataService {
  // Enqueued on the device's service stream.
  void (*fill)(Session&, Device& by, void* data, std::uint64_t words, std::uint64_t key);
  void (*poison)(Session&, Device& by, void* data, std::uint64_t words);
  // Words that are not what fill(key) wrote; waits for the answer.
  std::uint64_t (*count_wrong)(Session&, Device& by, void* data, std::uint64_t words, std::uint64_t key);
};

class Session {
 public:
  Session(const SessionOptions& options, const DataService& data_service);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }
  Device& device(const std::string& name) const;  // throws Error when unknown
  const std::vector<LibraryReport>& libraries() const { return libraries_; }
  Clock& clock() const { return host_->clock(); }
  Host& host() const { return *host_; }

  // Can `memory` be allocated for `device`? Host memory of vendor kinds comes from a GPU runtime: that of the
  // GPU which uses or touches it first, else the first that has it.
  Availability offers(const Device& device, Memory memory) const;
  // Allocates, then writes every page once from `first_touch`. `user`: who will use it, where that is known.
  std::unique_ptr<Buffer> allocate(Device& device, Memory memory, std::uint64_t bytes, Device& first_touch,
                                   const Device* user = nullptr);
  // A block that nobody has touched, with as little done for it as a program would do.
  std::unique_ptr<Allocation> bare_block(Device& device, Memory memory, std::uint64_t bytes);
  // Brings the managed pages of bytes [first, end) to the buffer's device, with what the driver may have
  // moved along with them, and waits until they are there.
  void make_resident(Buffer& buffer, std::uint64_t first, std::uint64_t end);
  // A device's own memory as runtimes name it. The only domain of a host is not named: every driver knows it.
  PagePlace page_place(const Device& device) const;
  // Asks for the pages of bytes [first, end) of a managed buffer. Touches none of them.
  PageResidency residency(const Buffer& buffer, std::uint64_t first, std::uint64_t end) const;
  // Keeps the pages of a managed buffer at its device while `reader` uses them, or lets them move again.
  Availability hold(const Buffer& buffer, const Device& reader, bool hold);
  // What of the device's memory nobody uses; 0 when unknown.
  std::uint64_t free_bytes(const Device& device) const { return device.runtime->free_bytes(device.ordinal); }
  // Why two devices of different runtimes share no memory.
  static std::string different_runtimes(const Device& one, const Device& other);
  // Enables peer access and proves it: `executor` writes a pattern into `owner`'s memory, the owner checks
  // it. Memory that needs_grant() is proved by its kind.
  Availability prove_peer(Device& executor, Device& owner, Memory memory = Memory::device);
  // Whether the device can use the buffer at all: what one GPU runtime gave, another's GPUs do not know.
  Availability knows(const Device& device, const Buffer& buffer) const;
  // Lets kernels and copies of `executor` reach the buffer, which may be another GPU's: proved by kind, and
  // granted for this buffer where its memory asks for that.
  Availability open_to(Device& executor, Buffer& buffer);

  // What measurements need besides buffers, made once per device and kept.
  Stream& service_stream(Device& device);  // fills, checks, anything that is not timed
  std::byte* own_scratch(Device& device);  // kScratchBytes of the device's own memory
  std::byte* shared_scratch(
      Device& device);  // kScratchBytes of host memory that the device can read and write
  unsigned int* gate_word(
      Device& device);  // in shared_scratch; every device of one runtime sees the same word
  static constexpr std::uint64_t kScratchBytes = 4096;
  // What was observed of the vendor's copy call: question -> engine and evidence (timing/engine.cpp asks).
  std::map<std::string, std::pair<std::string, std::string>>& engines() { return engines_; }

 private:
  struct Service {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Allocation> own, shared;
  };
  Service& service(Device& device);
  void open_gpus(const SessionOptions& options);
  void number_devices(Runtime& runtime, const std::string& prefix);
  Runtime* runtime_for(const Device& device, Memory memory, const Device* user = nullptr) const;
  static Availability knows(const Device& device, Memory memory, const Runtime& giver, const Device& owner);
  static Availability enable_peer(const Device& executor, const Device& owner);
  DataService data_service_;
  std::vector<LibraryReport> libraries_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::map<const Device*, Service> services_;  // before the runtimes are gone: declared after them
  std::map<std::tuple<const Device*, const Device*, Memory>, Availability> peers_;
  std::map<std::string, std::pair<std::string, std::string>> engines_;
  Host* host_ = nullptr;
};

}  // namespace byteways
