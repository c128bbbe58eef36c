// See records.hpp.
#include "watch/gpu/records.hpp"

#include <cstdlib>
#include <cstring>
#include <iterator>

#include "watch/gpu/call_sites.hpp"
#include "watch/gpu/overlap.hpp"
#include "watch/histogram.hpp"
#include "watch/names.hpp"

namespace byteways::watch::cupti {
namespace {

constexpr std::size_t kMostDevices = 64;

std::uint32_t cupti_version = 0;
std::int64_t offset = 0;
bool has_kernels = false;
std::int16_t gpus[kMostDevices];  // of this process's devices

// Calls by CUpti_ActivityMemcpyKind: the driver's names, whichever API the program used.
constexpr const char* kCopies[] = {"cuMemcpy",     "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyHtoA",
                                   "cuMemcpyAtoH", "cuMemcpyAtoA", "cuMemcpyAtoD", "cuMemcpyDtoA",
                                   "cuMemcpyDtoD", "cuMemcpyHtoH", "cuMemcpyPeer"};
constexpr const char* kAsynchronous[] = {"cuMemcpyAsync",     "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync",
                                         "cuMemcpyHtoAAsync", "cuMemcpyAtoHAsync", "cuMemcpyAtoAAsync",
                                         "cuMemcpyAtoDAsync", "cuMemcpyDtoAAsync", "cuMemcpyDtoDAsync",
                                         "cuMemcpyHtoHAsync", "cuMemcpyPeerAsync"};
constexpr const char* kWaits[] = {"cuCtxSynchronize", "cuEventSynchronize", "cuStreamWaitEvent",
                                  "cuStreamSynchronize", "cuCtxSynchronize"};
constexpr std::uint32_t kStreamWait = 2;  // a stream waits for an event, and nobody else

// By CUpti_ActivityMemoryKind: pageable, pinned, device, array, managed, static of device, static and
// managed.
constexpr Memory kMemories[] = {Memory::kUnknown, Memory::kPageable, Memory::kPinned, Memory::kDevice,
                                Memory::kDevice,  Memory::kManaged,  Memory::kDevice, Memory::kManaged};

template <std::size_t N>
std::uint16_t named(const char* const (&names)[N], std::uint32_t number) {
  return number_of(names[number < N ? number : 0]);
}

Memory memory_of(std::uint32_t kind) {
  return kind < std::size(kMemories) ? kMemories[kind] : Memory::kUnknown;
}

bool is_on_gpu(Memory memory) { return memory == Memory::kDevice; }

std::int16_t gpu_of(std::uint32_t device) { return device < kMostDevices ? gpus[device] : std::int16_t{-1}; }

// CUDA_VISIBLE_DEVICES renumbers devices. Where it has anything but numbers, which GPU a device is stays
// unknown.
void number_devices() {
  for (std::size_t at = 0; at < kMostDevices; ++at) gpus[at] = static_cast<std::int16_t>(at);
  const char* text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return;
  for (std::int16_t& gpu : gpus) gpu = -1;
  for (std::size_t at = 0; at < kMostDevices && *text != '\0'; ++at) {
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    if (end == text || number < 0 || number > INT16_MAX || (*end != ',' && *end != '\0')) break;
    gpus[at] = static_cast<std::int16_t>(number);
    text = *end == ',' ? end + 1 : end;
  }
}

template <class Record>
Record read(const std::uint8_t* record) {
  Record found;
  std::memcpy(&found, record, sizeof found);
  return found;
}

// Times of 0 mean that CUPTI could not take them.
std::int64_t duration(std::uint64_t start, std::uint64_t end) {
  return start == 0 || end < start ? kUnknownTime : static_cast<std::int64_t>(end - start);
}

std::int64_t at(std::uint64_t time) { return static_cast<std::int64_t>(time) + offset; }

// A call of the runtime may make one of the driver: records have the numbers of both.
std::uint16_t site_of_either(std::uint32_t call, std::uint32_t of_runtime = 0) {
  const std::uint16_t site = site_of_call(call);
  return site != 0 ? site : site_of_call(of_runtime);
}

// That of the runtime's call contains the driver's, which is taken, too: both have one copy.
std::int64_t take_time_of_either(std::uint32_t call, std::uint32_t of_runtime = 0) {
  const std::int64_t inner = take_time_of_call(call);
  if (of_runtime == call) return inner;
  const std::int64_t outer = take_time_of_call(of_runtime);
  return outer != kUnknownTime ? outer : inner;
}

void add_copy(const std::uint8_t* place) {
  const auto record = read<Copy>(place);
  std::uint64_t count = 0;
  if (cupti_version >= kVersionOfCopyCount) std::memcpy(&count, place + kPlaceOfCopyCount, sizeof count);
  if (count == 0 || record.bytes % count != 0) count = 1;
  Key key;
  key.source = memory_of(record.source);
  key.destination = memory_of(record.destination);
  if (is_on_gpu(key.source)) key.source_gpu = gpu_of(record.device);
  if (is_on_gpu(key.destination)) key.destination_gpu = gpu_of(record.device);
  key.method = record.flags & 1 ? named(kAsynchronous, record.copy_kind) : named(kCopies, record.copy_kind);
  key.site = site_of_either(record.correlation, record.runtime_correlation);
  key.size = record.bytes / count;
  const Times times{duration(record.start, record.end),
                    take_time_of_either(record.correlation, record.runtime_correlation)};
  Bin* const bin = histogram().add(key, count, times, at(record.end));
  if (has_kernels) add_copy_time(record.device, record.start, record.end, bin);
}

void add_kernel(const std::uint8_t* place) {
  const auto record = read<Kernel>(place);
  add_kernel_time(record.device, record.start, record.end);
}

void add_peer_copy(const std::uint8_t* place) {
  const auto record = read<PeerCopy>(place);
  Key key;
  key.source = memory_of(record.source);
  key.destination = memory_of(record.destination);
  key.source_gpu = gpu_of(record.source_device);
  key.destination_gpu = gpu_of(record.destination_device);
  key.method = number_of(record.flags & 1 ? "cuMemcpyPeerAsync" : "cuMemcpyPeer");
  key.site = site_of_either(record.correlation);
  key.size = record.bytes;
  const Times times{duration(record.start, record.end), take_time_of_either(record.correlation)};
  Bin* const bin = histogram().add(key, 1, times, at(record.end));
  if (has_kernels) add_copy_time(record.device, record.start, record.end, bin);
}

void add_set(const std::uint8_t* place) {
  const auto record = read<Set>(place);
  Key key;
  key.what = What::kSet;
  key.destination = memory_of(record.memory);
  if (is_on_gpu(key.destination)) key.destination_gpu = gpu_of(record.device);
  key.method = number_of(record.flags & 1 ? "cuMemsetAsync" : "cuMemset");
  key.site = site_of_either(record.correlation);
  key.size = record.bytes;
  histogram().add(key, 1, {duration(record.start, record.end)}, at(record.end));
}

void add_unified(const std::uint8_t* place) {
  const auto record = read<UnifiedMemory>(place);
  Key key;
  std::uint64_t count = 1;
  key.source = key.destination = Memory::kManaged;
  if (record.counter == kHostFaults || record.counter == kDeviceFaults) {
    key.what = What::kFault;
    key.method = number_of(record.counter == kHostFaults ? "CPU page fault" : "GPU page fault");
    key.source = Memory::kUnknown;
    if (record.counter == kDeviceFaults) key.destination_gpu = gpu_of(record.source);
    count = record.value == 0 || record.counter == kHostFaults ? 1 : record.value;
  } else if (record.counter == kToDevice || record.counter == kToHost || record.counter == kBetweenDevices) {
    key.what = What::kMigration;
    key.method = number_of("managed memory");
    if (record.counter != kToDevice) key.source_gpu = gpu_of(record.source);
    if (record.counter != kToHost) key.destination_gpu = gpu_of(record.destination);
    key.size = record.value;
  } else {
    return;
  }
  histogram().add(key, count, {duration(record.start, record.end)},
                  at(record.end != 0 ? record.end : record.start));
}

const char* allocator_of(Memory memory, bool asynchronous) {
  if (memory == Memory::kPinned) return "cuMemHostAlloc";
  if (memory == Memory::kManaged) return "cuMemAllocManaged";
  return asynchronous ? "cuMemAllocAsync" : "cuMemAlloc";
}

const char* releaser_of(Memory memory, bool asynchronous) {
  if (memory == Memory::kPinned) return "cuMemFreeHost";
  return asynchronous ? "cuMemFreeAsync" : "cuMemFree";
}

void add_allocation(const std::uint8_t* place) {
  const auto record = read<MemoryOperation>(place);
  if (record.operation != 1 && record.operation != 2) return;
  Key key;
  const bool allocates = record.operation == 1;
  const Memory memory = memory_of(record.memory);
  key.what = allocates ? What::kAllocation : What::kRelease;
  key.destination = memory;
  if (is_on_gpu(memory)) key.destination_gpu = gpu_of(record.device);
  key.method = number_of((allocates ? allocator_of : releaser_of)(memory, record.asynchronous != 0));
  key.size = record.bytes;
  histogram().add(key, 1, {}, at(record.time));
}

void add_wait(const std::uint8_t* place) {
  const auto record = read<Synchronisation>(place);
  Key key;
  key.what = What::kSynchronisation;
  key.method = named(kWaits, record.type);
  const std::int64_t time = duration(record.start, record.end);
  const bool of_host = record.type != kStreamWait;
  histogram().add(key, 1, {time, of_host ? time : kUnknownTime, of_host ? time : kUnknownTime},
                  at(record.end));
}

}  // namespace

void begin_records(std::uint32_t version, std::int64_t clock_offset) noexcept {
  cupti_version = version;
  offset = clock_offset;
  number_devices();
}

void expect_kernels() noexcept { has_kernels = true; }

void add_record(const std::uint8_t* record) noexcept {
  switch (read<std::uint32_t>(record)) {
    case kMemcpy:
      return add_copy(record);
    case kKernel:
      return add_kernel(record);
    case kPeerCopy:
      return add_peer_copy(record);
    case kMemset:
      return add_set(record);
    case kUnifiedMemory:
      return add_unified(record);
    case kMemory:
      return add_allocation(record);
    case kSynchronisation:
      return add_wait(record);
    default:
      return;
  }
}

}  // namespace byteways::watch::cupti
