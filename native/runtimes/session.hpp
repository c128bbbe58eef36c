// The open runtimes of one worker, their devices, and the buffers allocated on them.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtimes/factories.hpp"
#include "runtimes/host.hpp"
#include "runtimes/library.hpp"

namespace byteways {

// A device: owns memory and issues work. "cpu0" is a NUMA domain, "gpu3" a GPU.
struct Device {
  Runtime* runtime = nullptr;
  int ordinal = 0;  // number in its runtime
  DeviceInfo info;
  bool clocks_rose = false;  // whether a warm-up has kept it busy long enough for that
  const std::string& name() const { return info.name; }
  bool is_host() const { return runtime->name() == "host"; }
};

class Session;
struct ScratchPage;
struct KnownFlow;

// Some words of a buffer, by their numbers in it.
struct Words {
  std::uint64_t first = 0, count = 0;
};

// Location of managed pages, as far as it is known, in a sample of at most 4096.
struct PageResidency {
  std::uint64_t sampled = 0;
  // Device -> sampled pages, by the system's page tables, which have a GPU's pages only where its memory is a
  // NUMA domain. A domain of no device is "host".
  std::map<std::string, std::uint64_t> on_host, on_gpus;
  std::string prefetched_to;  // device that the runtime says they were last sent to, "host"; empty: unknown

  std::uint64_t pages_on_host() const {
    std::uint64_t pages = 0;
    for (const auto& [device, count] : on_host) pages += count;
    return pages;
  }
  // Adds the result for other pages; if the places differ, `prefetched_to` becomes empty.
  void add(const PageResidency& other) {
    prefetched_to = sampled == 0 || prefetched_to == other.prefetched_to ? other.prefetched_to : "";
    sampled += other.sampled;
    for (const auto& [device, count] : other.on_host) on_host[device] += count;
    for (const auto& [device, count] : other.on_gpus) on_gpus[device] += count;
  }
};

using GuardedBuffers = std::set<const class Buffer*>;

// Bytes of an allocation for a buffer with its guard.
std::uint64_t with_guard(Memory memory, std::uint64_t bytes);

// A buffer: device, memory and first touch. Behind its bytes may be a guard: words that nothing writes after
// the first touch, and that each measurement looks at when it ends (timing/checked_data.hpp).
class Buffer {
 public:
  Buffer(Session& session, Device& device, Device& first_touch, Runtime& runtime,
         std::unique_ptr<Allocation> allocation, std::uint64_t bytes, Device* opener = nullptr);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Session& session() const { return *session_; }
  Device& device() const { return *device_; }
  Device& first_touch() const { return *first_touch_; }
  // The device that fills and checks its words: its own; of another process's memory the one that opened it,
  // since its address is valid there only.
  Device& service_device() const { return opener_ != nullptr ? *opener_ : *device_; }
  Runtime& runtime() const { return *runtime_; }  // that allocated the memory
  Allocation& allocation() const { return *allocation_; }
  std::byte* data() const { return allocation_->data(); }
  std::uint64_t bytes() const { return bytes_; }
  // The words behind its bytes, up to the end of the allocation. Word i of the whole holds pattern_word(0,
  // i).
  Words guard() const;
  // NUMA domain -> pages of a sample of at most 4096 (move_pages); empty for device memory.
  std::map<int, std::uint64_t> placement() const;

 private:
  Session* session_;
  Device* device_;
  Device* first_touch_;
  Runtime* runtime_;
  std::unique_ptr<Allocation> allocation_;
  std::uint64_t bytes_;
  Device* opener_;
  std::shared_ptr<GuardedBuffers> guarded_;  // a buffer may outlive the session's own members
};

// Functions by which a device fills and checks memory. They need kernels, which are in a layer above the
// runtimes, so the code that opens a session passes them in.
struct DataService {
  // Enqueued on the device's service stream.
  void (*fill)(Session&, Device& by, void* data, std::uint64_t words, std::uint64_t key);
  void (*poison)(Session&, Device& by, void* data, std::uint64_t words);
  // Returns the number of words that differ from the pattern of fill(key); waits for the result.
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

  // Returns whether `memory` can be allocated for `device`. Host memory of vendor kinds comes from a GPU
  // runtime: that of the GPU that uses or first touches it, else the first that has the kind.
  Availability offers(const Device& device, Memory memory) const;
  // Allocates, then writes every page once from `first_touch`. `user`: the device that will use it, if known.
  std::unique_ptr<Buffer> allocate(Device& device, Memory memory, std::uint64_t bytes, Device& first_touch,
                                   const Device* user = nullptr);
  // The buffers that allocate() gave a guard, as long as they live.
  const GuardedBuffers& guarded() const { return *guarded_; }
  // Writes every page once from the buffer's first-touch device, and waits for it. Throws Unsupported if that
  // device cannot reach it.
  void touch(Buffer& buffer);
  // Whether CPU threads can reach the memory of a GPU.
  static Availability cores_reach(const Device& owner);
  // Opens memory of `device` that another process allocated, for `opener` alone. The other process must keep
  // it as long as the buffer lives. `guarded`: it allocated a buffer of so many bytes with a guard, and does
  // not check that itself.
  std::unique_ptr<Buffer> open_exported(Device& device, std::uint64_t bytes, Device& opener,
                                        const std::string& handle, bool guarded);
  // Allocates an untouched block with the same calls as a program would.
  std::unique_ptr<Allocation> bare_block(Device& device, Memory memory, std::uint64_t bytes);
  // Moves the managed pages of bytes [first, end) to the buffer's device, with neighbouring pages that the
  // driver may have migrated too; returns when they are there.
  void make_resident(Buffer& buffer, std::uint64_t first, std::uint64_t end);
  // Returns a device's own memory as a PagePlace. If the host has one domain it is not named, so that every
  // driver accepts it.
  PagePlace page_place(const Device& device) const;
  // Queries the location of the pages of bytes [first, end) of a managed buffer, without touching them.
  PageResidency residency(const Buffer& buffer, std::uint64_t first, std::uint64_t end) const;
  // Keeps the pages of a managed buffer at its device while `reader` uses them, or lets them migrate again.
  Availability hold(const Buffer& buffer, const Device& reader, bool hold);
  // Returns the free memory of the device in bytes; 0: unknown.
  std::uint64_t free_bytes(const Device& device) const { return device.runtime->free_bytes(device.ordinal); }
  // Returns the reason why two devices of different runtimes share no memory.
  static std::string different_runtimes(const Device& one, const Device& other);
  // Enables peer access and verifies it: `executor` writes a pattern into `owner`'s memory, and the owner
  // checks it. Kinds that needs_grant() are verified separately.
  Availability prove_peer(Device& executor, Device& owner, Memory memory = Memory::device);
  // Whether the device can use the buffer at all: GPUs of one runtime cannot use memory of another.
  Availability knows(const Device& device, const Buffer& buffer) const;
  // Lets kernels and copies of `executor` access the buffer, which may be another GPU's. Access is verified
  // once per memory kind, and granted per buffer if its kind requires it.
  Availability open_to(Device& executor, Buffer& buffer);

  // The NUMA domain of a GPU, where memory of the host is best allocated for it; the first if its own is
  // unknown.
  Device& host_beside(const Device& gpu) const;

  // Resources of measurements other than buffers, created once per device.
  Stream& service_stream(Device& device);  // fills, checks, anything that is not timed
  // Pages in the device's own memory, and in host memory that it can read and write
  // (interfaces/scratch_page.hpp).
  ScratchPage& own_scratch(Device& device);
  ScratchPage& shared_scratch(Device& device);
  unsigned int* gate_word(Device& device);  // in the latter; all devices of one runtime see the same word
  static constexpr std::uint64_t kScratchBytes = 4096;
  // Observed engines of the vendor's copy call: key of the observation -> engine and evidence
  // (timing/engine.cpp).
  std::map<std::string, std::pair<std::string, std::string>>& engines() { return engines_; }
  // What warm-ups found out about flows (timing/known_flow.cpp).
  std::map<std::string, std::shared_ptr<KnownFlow>>& known_flows() { return known_flows_; }

 private:
  friend class Buffer;
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
  std::shared_ptr<GuardedBuffers> guarded_ = std::make_shared<GuardedBuffers>();
  std::vector<LibraryReport> libraries_;
  std::vector<std::unique_ptr<Runtime>> runtimes_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::map<const Device*, Service> services_;  // declared after `runtimes_`, so destroyed first
  std::map<std::tuple<const Device*, const Device*, Memory>, Availability> peers_;
  std::map<std::string, std::pair<std::string, std::string>> engines_;
  std::map<std::string, std::shared_ptr<KnownFlow>> known_flows_;
  Host* host_ = nullptr;
};

}  // namespace byteways
