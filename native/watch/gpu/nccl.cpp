// The profiler plugin that NCCL and RCCL load (NCCL_PROFILER_PLUGIN): collectives and messages with
// algorithm, protocol and channels, and the time of their kernels on the GPU. An operation is counted when
// NCCL starts its event; its time follows when the kernels of all its channels have stopped. NCCL forgets
// some of these when many operations are under way: then the time of those is missing.
#include "watch/gpu/nccl.hpp"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/names.hpp"
#include "watch/snapshot.hpp"

namespace {

using namespace byteways::watch;
using namespace byteways::watch::nccl;

// Operations and kernels under way; the oldest are overwritten. NCCL itself holds 64 for each of at most 64
// channels.
constexpr std::uint64_t kMostOperations = 8192, kMostKernels = 8192;
// Handles are numbers, never addresses: what NCCL gives back late cannot point to anything else.
enum Tag : std::uintptr_t { kOperationTag = 1, kKernelTag = 2, kOtherTag = 3 };
constexpr unsigned kTagBits = 2;

struct Communicator {
  int ranks, rank;
};

struct Operation {
  std::uint64_t number = 0;  // 0: none
  Key key;
  unsigned channels = 0, stopped = 0;
  std::uint64_t start = UINT64_MAX, stop = 0;  // the GPU's timer, ns
};

struct Kernel {
  std::uint64_t number = 0, operation = 0, start = 0;
};

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
constinit Operation operations[kMostOperations];
constinit Kernel kernels[kMostKernels];
std::uint64_t last_operation = 0, last_kernel = 0;

class Locked {
 public:
  Locked() { pthread_mutex_lock(&lock); }
  ~Locked() { pthread_mutex_unlock(&lock); }
};

void* handle_of(std::uint64_t number, Tag tag) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number << kTagBits | tag));
}

// The number in a handle with this tag; 0 in others.
std::uint64_t number_in(void* handle, Tag tag) {
  const auto word = reinterpret_cast<std::uintptr_t>(handle);
  return (word & ((1u << kTagBits) - 1)) == tag ? word >> kTagBits : 0;
}

std::size_t bytes_of(const char* datatype) {
  if (datatype == nullptr) return 0;
  const std::string_view name(datatype);
  if (name.find("64") != name.npos || name.find("ouble") != name.npos) return 8;
  if (name.find("loat8") != name.npos) return 1;
  if (name.find("16") != name.npos || name.find("alf") != name.npos) return 2;
  if (name.find("32") != name.npos || name.ends_with("Int") || name.ends_with("Float")) return 4;
  return name.find('8') != name.npos || name.find("har") != name.npos ? 1 : 0;
}

// NCCL's count is of one block where blocks are exchanged.
bool exchanges_blocks(std::string_view function) {
  return function.starts_with("AllGather") || function.starts_with("ReduceScatter") ||
         function.starts_with("Gather") || function.starts_with("Scatter") ||
         function.starts_with("AlltoAll") || function.starts_with("AllToAll");
}

std::uint16_t method_of(const char* function) {
  char name[64];
  std::snprintf(name, sizeof name, "nccl%s", function == nullptr ? "" : function);
  return number_of(name);
}

// Names are NCCL's own; anything but letters, digits and _ is left out.
void append_name(char* text, std::size_t room, const char* name) {
  std::size_t length = std::strlen(text);
  for (; name != nullptr && *name != '\0' && length + 1 < room; ++name)
    if (std::strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *name) != nullptr)
      text[length++] = *name;
  text[length] = '\0';
}

std::uint16_t detail_of(const char* algorithm, const char* protocol, unsigned channels) {
  char text[160] = "{";
  const auto add = [&text](const char* label, const char* name) {
    if (name == nullptr || *name == '\0') return;
    std::strncat(text, label, sizeof text - std::strlen(text) - 1);
    append_name(text, sizeof text - 40, name);
    std::strncat(text, "\",", sizeof text - std::strlen(text) - 1);
  };
  add("\"algorithm\":\"", algorithm);
  add("\"protocol\":\"", protocol);
  const std::size_t length = std::strlen(text);
  std::snprintf(text + length, sizeof text - length, "\"channels\":%u}", channels);
  return number_of(text);
}

Key key_of(const Descriptor& event, bool of_collective, const Communicator& communicator) {
  Key key;
  key.source = key.destination = Memory::kDevice;
  if (of_collective) {
    const auto& one = event.collective;
    const std::string_view function(one.function == nullptr ? "" : one.function);
    key.what = What::kCollective;
    key.ranks = communicator.ranks;
    key.method = method_of(one.function);
    key.detail = detail_of(one.algorithm, one.protocol, one.channels);
    key.size = one.count * bytes_of(one.datatype) *
               (exchanges_blocks(function) ? static_cast<std::size_t>(communicator.ranks) : 1);
  } else {
    const auto& one = event.message;
    key.what = What::kMessage;
    key.method = method_of(one.function);
    key.detail = detail_of(nullptr, nullptr, one.channels);
    key.size = one.count * bytes_of(one.datatype);
  }
  return key;
}

void* start_operation(const Descriptor& event, bool of_collective, const Communicator& communicator) {
  const Key key = key_of(event, of_collective, communicator);
  histogram().add(key, 1, {}, now());
  const Locked locked;
  const std::uint64_t number = ++last_operation;
  Operation& one = operations[number % kMostOperations];
  one = Operation{};
  one.number = number;
  one.key = key;
  one.channels = of_collective ? event.collective.channels : event.message.channels;
  return handle_of(number, kOperationTag);
}

void* start_kernel(const Descriptor& event) {
  const Locked locked;
  const std::uint64_t number = ++last_kernel;
  kernels[number % kMostKernels] = {number, number_in(event.parent, kOperationTag), event.kernel.start};
  return handle_of(number, kKernelTag);
}

int start_event(void* context, void** handle, Descriptor* event, std::uint64_t type) {
  *handle = handle_of(0, kOtherTag);
  if (context == nullptr || !is_watching()) return 0;
  const auto& communicator = *static_cast<const Communicator*>(context);
  if (type == kCollective || type == kMessage)
    *handle = start_operation(*event, type == kCollective, communicator);
  else if (type == kKernelChannel)
    *handle = start_kernel(*event);
  return 0;
}

int start_event_v4(void* context, void** handle, Descriptor* event) {
  return start_event(context, handle, event, static_cast<std::uint8_t>(event->type));
}

int start_event_v5(void* context, void** handle, Descriptor* event) {
  return start_event(context, handle, event, event->type);
}

int stop_event(void*) { return 0; }

int record_state(void* handle, int state, StateArguments* arguments) {
  const std::uint64_t number = number_in(handle, kKernelTag);
  if (number == 0 || state != kKernelStopped || arguments == nullptr) return 0;
  const Locked locked;
  const Kernel& kernel = kernels[number % kMostKernels];
  if (kernel.number != number || kernel.operation == 0) return 0;
  Operation& one = operations[kernel.operation % kMostOperations];
  if (one.number != kernel.operation) return 0;
  one.start = std::min(one.start, kernel.start);
  one.stop = std::max(one.stop, arguments->kernel.stop);
  if (++one.stopped != one.channels || one.stop < one.start) return 0;
  histogram().add(one.key, 0, {static_cast<std::int64_t>(one.stop - one.start)}, now());
  one.number = 0;
  return 0;
}

int finalize(void*) {
  save(false);
  return 0;
}

int begin(void** context, int* mask, int ranks, int rank) {
  name_library("gpu");
  *context = nullptr;
  *mask = 0;
  if (!is_watching()) return 0;
  note_collector("nccl");
  // Kept: kernels may end after their communicator.
  *context = new (std::nothrow) Communicator{ranks, rank};
  if (*context != nullptr)
    *mask = kCollective | kMessage | kKernelChannel;
  else
    note_failure("nccl-unusable");
  return 0;
}

int begin_v4(void** context, int* mask, const char*, std::uint64_t, int, int ranks, int rank, Log) {
  return begin(context, mask, ranks, rank);
}

int begin_v5(void** context, std::uint64_t, int* mask, const char*, int, int ranks, int rank, Log) {
  return begin(context, mask, ranks, rank);
}

constexpr const char* kName = "byteways";

}  // namespace

#define BYTEWAYS_SHOWN extern "C" [[gnu::visibility("default")]] const

BYTEWAYS_SHOWN Profiler<InitOfV4> ncclProfiler_v4 = {kName,      begin_v4,     start_event_v4,
                                                     stop_event, record_state, finalize};
BYTEWAYS_SHOWN Profiler<InitOfV5> ncclProfiler_v5 = {kName,      begin_v5,     start_event_v5,
                                                     stop_event, record_state, finalize};
BYTEWAYS_SHOWN Profiler<InitOfV5> ncclProfiler_v6 = {kName,      begin_v5,     start_event_v5,
                                                     stop_event, record_state, finalize};
