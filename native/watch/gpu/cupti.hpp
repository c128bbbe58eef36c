// What this library needs of CUPTI, NVIDIA's tracing library (12.4 to 13.5), which the machine brings: own
// declarations, from its documentation. Newer versions of a record only add fields at its end: these are the
// fields that all versions have.
#pragma once
#include <cstddef>
#include <cstdint>

namespace byteways::watch::cupti {

enum Kind : std::uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kKernel = 10,  // that of kernels which may run beside each other; the other kind makes them run in turn
  kPeerCopy = 22,
  kUnifiedMemory = 25,
  kSynchronisation = 38,
  kMemory = 49,
};

struct [[gnu::packed]] Copy {
  std::uint32_t kind;
  std::uint8_t copy_kind, source, destination, flags;  // flags: 1 asynchronous
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation, runtime_correlation;
};
// From 12.9 on: the members of a batched copy.
inline constexpr std::uint32_t kVersionOfCopyCount = 28;
inline constexpr std::size_t kPlaceOfCopyCount = 88;

struct [[gnu::packed]] PeerCopy {
  std::uint32_t kind;
  std::uint8_t copy_kind, source, destination, flags;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, source_device, source_context, destination_device,
      destination_context, correlation;
};

struct [[gnu::packed]] Set {
  std::uint32_t kind, value;
  std::uint64_t bytes, start, end;
  std::uint32_t device, context, stream, correlation;
  std::uint16_t flags, memory;
};

struct [[gnu::packed]] Kernel {
  std::uint32_t kind, not_read[3];
  std::uint64_t start, end, not_read_either;
  std::uint32_t device;
};

struct [[gnu::packed]] UnifiedMemory {
  std::uint32_t kind, counter;
  std::uint64_t value, start, end, address;
  std::uint32_t source, destination, stream, process, flags;
};
enum Counter : std::uint32_t {
  kToDevice = 1,
  kToHost = 2,
  kHostFaults = 3,
  kDeviceFaults = 4,
  kBetweenDevices = 8
};

struct [[gnu::packed]] MemoryOperation {
  std::uint32_t kind, operation, memory, correlation;
  std::uint64_t address, bytes, time, program_counter;
  std::uint32_t process, device, context, stream;
  const char* name;
  std::uint32_t asynchronous;
};

struct [[gnu::packed]] Synchronisation {
  std::uint32_t kind, type;
  std::uint64_t start, end;
  std::uint32_t correlation, context, stream, event;
};

// How counters of managed memory are asked for.
struct UnifiedMemoryChoice {
  std::uint32_t scope, counter, device, enable;
};
inline constexpr std::uint32_t kAllDevices = 2;

inline constexpr int kSuccess = 0, kNoMoreRecords = 12, kNotReady = 13, kOtherSubscriber = 39;
// CUPTI_ERROR_NOT_SUPPORTED to CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, those of unified memory between
// them
inline constexpr int kNotSupported = 27, kNotSupportedVirtual = 33;

using Request = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using Complete = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                          std::size_t valid);
// What a callback gets of a call of CUDA.
struct CallInfo {
  std::uint32_t site;  // 0: the call begins
  const char* function;
  const void* parameters;
  void* returned;
  const char* symbol;
  void* context;
  std::uint32_t context_number;
  std::uint64_t* data;
  std::uint32_t correlation;
};
static_assert(offsetof(CallInfo, function) == 8 && offsetof(CallInfo, correlation) == 64);
inline constexpr std::uint32_t kBegins = 0, kDriverCalls = 1, kRuntimeCalls = 2;
using Callback = void (*)(void* data, std::uint32_t domain, std::uint32_t id, const CallInfo* info);

struct Functions {
  int (*get_version)(std::uint32_t* version);
  int (*subscribe)(void** subscriber, Callback callback, void* data);
  int (*unsubscribe)(void* subscriber);
  int (*register_callbacks)(Request request, Complete complete);
  int (*enable)(std::uint32_t kind);
  int (*flush_all)(std::uint32_t flags);
  int (*next_record)(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record);
  int (*dropped)(void* context, std::uint32_t stream, std::size_t* count);
  int (*get_timestamp)(std::uint64_t* time);
  // May be missing.
  int (*callback_name)(std::uint32_t domain, std::uint32_t id, const char** name);
  int (*enable_callback)(std::uint32_t enable, void* subscriber, std::uint32_t domain, std::uint32_t id);
  int (*choose_unified_memory)(UnifiedMemoryChoice* choices, std::uint32_t count);
};

}  // namespace byteways::watch::cupti
