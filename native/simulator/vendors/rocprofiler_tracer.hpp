// What the simulated rocprofiler-sdk remembers of tools, and the records that it makes for them
// (version 1.0).
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "simulator/machine/observer.hpp"
#include "simulator/machine/world.hpp"
#include "simulator/vendors/rocprofiler.hpp"

namespace byteways::sim::rocprofiler {

struct Handle {
  std::uint64_t value;
};

enum Status {
  kGood = 0,
  kNoContext = 2,
  kNoBuffer = 3,
  kNoKind = 4,
  kNoOperation = 5,
  kLocked = 16,
  kInvalid = 19
};
inline constexpr std::uint32_t kHipApi = 5, kMemoryCopy = 10, kAllocation = 16;
inline constexpr std::uint32_t kTracing = 1;      // category of a record
inline constexpr std::uint32_t kVersion = 10000;  // 1.0.0
inline constexpr int kCpuAgent = 1, kGpuAgent = 2;

inline constexpr const char* kCalls[] = {
#define BYTEWAYS_CALLED(name) #name,
    BYTEWAYS_TRACED_CALLS(BYTEWAYS_CALLED)
#undef BYTEWAYS_CALLED
};
inline constexpr const char* kCopies[] = {"MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST",
                                          "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST",
                                          "MEMORY_COPY_DEVICE_TO_DEVICE"};
inline constexpr const char* kAllocations[] = {"MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE",
                                               "MEMORY_ALLOCATION_VMEM_ALLOCATE", "MEMORY_ALLOCATION_FREE"};
inline constexpr int kAllocate = 1, kFree = 3;

struct Kind {
  std::uint32_t number;
  const char* name;
  const char* const* operations;
  std::size_t count;
};
inline constexpr Kind kKinds[] = {{kHipApi, "HIP_RUNTIME_API", kCalls, std::size(kCalls)},
                                  {kMemoryCopy, "MEMORY_COPY", kCopies, std::size(kCopies)},
                                  {kAllocation, "MEMORY_ALLOCATION", kAllocations, std::size(kAllocations)}};

inline const Kind* kind_of(std::uint32_t number) {
  for (const Kind& kind : kKinds)
    if (kind.number == number) return &kind;
  return nullptr;
}

struct Correlation {
  std::uint64_t internal = 0, external = 0, ancestor = 0;
};
struct AsyncCorrelation {
  std::uint64_t internal = 0, external = 0;
};
struct ApiRecord {
  std::uint64_t size;
  std::uint32_t kind;
  std::int32_t operation;
  Correlation correlation;
  std::uint64_t start, end, thread;
};
struct CopyRecord {
  std::uint64_t size;
  std::uint32_t kind;
  std::int32_t operation;
  AsyncCorrelation correlation;
  std::uint64_t thread, start, end, destination_agent, source_agent, bytes;
  const void *destination, *source;
};
struct AllocationRecord {
  std::uint64_t size;
  std::uint32_t kind;
  std::int32_t operation;
  Correlation correlation;
  std::uint64_t thread, start, end, agent;
  const void* address;
  std::uint64_t bytes;
};
static_assert(sizeof(ApiRecord) == 64 && sizeof(CopyRecord) == 96 && sizeof(AllocationRecord) == 88);

struct RecordHeader {
  std::uint32_t category, kind;
  void* payload;
};
using Callback = void (*)(Handle context, Handle buffer, RecordHeader** headers, std::size_t count,
                          void* data, std::uint64_t dropped);

struct Buffer {
  Handle context;
  std::size_t mark;
  Callback callback;
  void* data;
  std::vector<std::unique_ptr<std::byte[]>> records;
  std::size_t filled = 0;
};

struct Service {
  std::uint64_t context;
  std::uint32_t kind;
  std::vector<std::int32_t> operations;  // none: all
  std::uint64_t buffer;
};

inline thread_local std::uint64_t this_call = 0;

class Tracer : public Observer {
 public:
  // Never destroyed: the machine that it observes is not.
  static Tracer& get() {
    static Tracer* const one = new Tracer;
    return *one;
  }

  std::uint64_t call() override { return this_call; }

  void ended_copy(const Copy& copy) override {
    if (copy.by_kernel) return;
    const bool from_gpu = copy.from.kind == Place::Kind::gpu, to_gpu = copy.to.kind == Place::Kind::gpu;
    CopyRecord record{};
    record.operation = 1 + (to_gpu ? 1 : 0) + (from_gpu ? 2 : 0);
    record.correlation.internal = copy.call;
    record.start = static_cast<std::uint64_t>(copy.start_ns);
    record.end = static_cast<std::uint64_t>(copy.end_ns);
    record.destination_agent = agent_of(copy.to);
    record.source_agent = agent_of(copy.from);
    record.bytes = copy.bytes;
    record.destination = copy.destination;
    record.source = copy.source;
    add(kMemoryCopy, record);
  }

  void allocated(Place owner, const void* data, std::uint64_t bytes, std::int64_t start_ns,
                 std::int64_t end_ns) override {
    add_allocation(kAllocate, agent_of(owner), data, bytes, start_ns, end_ns);
  }
  // The agent of a release is not known to the real library either.
  void released(Place, const void* data, std::int64_t start_ns, std::int64_t end_ns) override {
    add_allocation(kFree, 0, data, 0, start_ns, end_ns);
  }

  void ended_call(Called call, std::uint64_t correlation, std::int64_t start_ns, std::int64_t end_ns) {
    ApiRecord record{};
    record.operation = static_cast<std::int32_t>(call);
    record.correlation.internal = correlation;
    record.start = static_cast<std::uint64_t>(start_ns);
    record.end = static_cast<std::uint64_t>(end_ns);
    add(kHipApi, record);
    deliver([](const Buffer& buffer) { return buffer.filled >= buffer.mark; });
  }

  // Calls back for the buffers that are chosen, with no lock held.
  void deliver(const std::function<bool(const Buffer&)>& chosen) {
    const std::lock_guard in_order(delivering_);
    for (std::size_t at = 0;; ++at) {
      std::vector<std::unique_ptr<std::byte[]>> records;
      Buffer* buffer = nullptr;
      {
        const std::lock_guard lock(mutex_);
        if (at >= buffers_.size()) return;
        buffer = buffers_[at].get();
        if (buffer->records.empty() || !chosen(*buffer)) continue;
        records.swap(buffer->records);
        buffer->filled = 0;
      }
      call_back(*buffer, at + 1, records);
    }
  }

  std::uint64_t next_correlation() { return correlation_.fetch_add(1) + 1; }
  bool traces() const { return tracing_.load(std::memory_order_relaxed); }

  // What the functions of the library do. The caller has checked their arguments.
  std::uint64_t make_context() {
    const std::lock_guard lock(mutex_);
    return ++contexts_;
  }
  int start(std::uint64_t context, bool on) {
    const std::lock_guard lock(mutex_);
    if (context == 0 || context > contexts_) return kNoContext;
    std::erase(started_, context);
    if (on) started_.push_back(context);
    tracing_ = !started_.empty();
    return kGood;
  }
  std::uint64_t make_buffer(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    buffers_.push_back(std::make_unique<Buffer>(std::move(buffer)));
    return buffers_.size();
  }
  bool has_buffer(std::uint64_t buffer) {
    const std::lock_guard lock(mutex_);
    return buffer >= 1 && buffer <= buffers_.size();
  }
  int configure(Service service) {
    const std::lock_guard lock(mutex_);
    if (service.context == 0 || service.context > contexts_) return kNoContext;
    if (service.buffer == 0 || service.buffer > buffers_.size()) return kNoBuffer;
    services_.push_back(std::move(service));
    return kGood;
  }
  bool configuring = false;  // services are made while tools are configured, and never again

 private:
  static std::uint64_t agent_of(Place place) {
    const auto domains = static_cast<std::uint64_t>(World::get().model().cpu.domains);
    const auto index = static_cast<std::uint64_t>(place.index);
    return 1 + index + (place.kind == Place::Kind::gpu ? domains : 0);
  }

  void add_allocation(std::int32_t operation, std::uint64_t agent, const void* data, std::uint64_t bytes,
                      std::int64_t start_ns, std::int64_t end_ns) {
    AllocationRecord record{};
    record.operation = operation;
    record.correlation.internal = this_call;
    record.start = static_cast<std::uint64_t>(start_ns);
    record.end = static_cast<std::uint64_t>(end_ns);
    record.agent = agent;
    record.address = data;
    record.bytes = bytes;
    add(kAllocation, record);
  }

  template <class Record>
  void add(std::uint32_t kind, Record record) {
    record.size = sizeof record;
    record.kind = kind;
    record.thread = static_cast<std::uint64_t>(syscall(SYS_gettid));
    const std::lock_guard lock(mutex_);
    for (const Service& service : services_) {
      const bool started = std::find(started_.begin(), started_.end(), service.context) != started_.end();
      const auto& chosen = service.operations;
      const bool all = chosen.empty();
      if (!started || service.kind != kind ||
          (!all && std::find(chosen.begin(), chosen.end(), record.operation) == chosen.end()))
        continue;
      Buffer& buffer = *buffers_[service.buffer - 1];
      buffer.records.push_back(std::make_unique<std::byte[]>(sizeof record));
      std::memcpy(buffer.records.back().get(), &record, sizeof record);
      buffer.filled += sizeof record;
    }
  }

  static void call_back(const Buffer& buffer, std::uint64_t number,
                        const std::vector<std::unique_ptr<std::byte[]>>& records) {
    std::vector<RecordHeader> headers;
    std::vector<RecordHeader*> places;
    headers.reserve(records.size());
    for (const auto& record : records) {
      std::uint32_t kind;
      std::memcpy(&kind, record.get() + offsetof(ApiRecord, kind), sizeof kind);
      headers.push_back({kTracing, kind, record.get()});
      places.push_back(&headers.back());
    }
    buffer.callback(buffer.context, {number}, places.data(), places.size(), buffer.data, 0);
  }

  std::mutex mutex_, delivering_;
  std::uint64_t contexts_ = 0;
  std::vector<std::uint64_t> started_;
  std::vector<Service> services_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::atomic<std::uint64_t> correlation_{0};
  std::atomic<bool> tracing_{false};
};

}  // namespace byteways::sim::rocprofiler
