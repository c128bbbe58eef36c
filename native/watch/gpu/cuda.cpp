// The library that CUDA's driver loads into every program with CUDA_INJECTION64_PATH: it asks CUPTI for
// records of copies and what belongs to them. It is always a subscriber: without, another client (PyTorch's
// profiler) would take the callbacks, and both would lose their records.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <string_view>

#include "watch/clock.hpp"
#include "watch/gpu/call_sites.hpp"
#include "watch/gpu/overlap.hpp"
#include "watch/gpu/records.hpp"
#include "watch/histogram.hpp"
#include "watch/output.hpp"
#include "watch/snapshot.hpp"

namespace {

using namespace byteways::watch;
using namespace byteways::watch::cupti;

// Libraries to try, separated by colons, in their order (src/byteways/ext/watch/launching.py).
constexpr const char* kLibrariesVariable = "BYTEWAYS_WATCH_CUPTI";
constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
// 1 MiB has some 10,000 records. When as many buffers are full as fit into memory's bound, CUPTI drops
// records and says how many.
constexpr std::size_t kBufferBytes = 1 << 20;
constexpr int kMostBuffers = 32;
constexpr std::uint32_t kMostCalls = 1500;  // numbers of calls; CUPTI 13.5 has some 800 of the driver

Functions cupti_functions{};
void* subscriber = nullptr;
pid_t process = 0;
std::atomic<int> buffers_out{0};
std::mutex flushing;
bool finished = false;
bool unified_memory_waits = false;  // under `flushing` once the thread runs

void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *most_records = 0;  // as many as fit
  const bool allowed = buffers_out.fetch_add(1) < kMostBuffers;
  *buffer = allowed ? static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes)) : nullptr;
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  if (*buffer == nullptr) buffers_out.fetch_sub(1);
}

void complete(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  if (buffer == nullptr) return;
  std::uint8_t* record = nullptr;
  int error = valid == 0 ? kNoMoreRecords : cupti_functions.next_record(buffer, valid, &record);
  for (; error == kSuccess; error = cupti_functions.next_record(buffer, valid, &record)) add_record(record);
  if (error != kNoMoreRecords) note_failure("cupti-dropped");
  std::size_t dropped = 0;
  if (cupti_functions.dropped(context, stream, &dropped) == kSuccess && dropped != 0) {
    histogram().lose(dropped);
    note_failure("cupti-dropped");
  }
  std::free(buffer);
  buffers_out.fetch_sub(1);
}

void called(void*, std::uint32_t domain, std::uint32_t, const CallInfo* info) {
  if ((domain != kDriverCalls && domain != kRuntimeCalls) || info == nullptr) return;
  (info->site == kBegins ? remember_call : remember_end)(info->correlation);
}

template <class Function>
bool resolve(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool resolve_all(void* library, Functions& found) {
  resolve(library, found.callback_name, "cuptiGetCallbackName");
  resolve(library, found.enable_callback, "cuptiEnableCallback");
  resolve(library, found.choose_unified_memory, "cuptiActivityConfigureUnifiedMemoryCounter");
  return resolve(library, found.get_version, "cuptiGetVersion") &&
         resolve(library, found.subscribe, "cuptiSubscribe") &&
         resolve(library, found.unsubscribe, "cuptiUnsubscribe") &&
         resolve(library, found.register_callbacks, "cuptiActivityRegisterCallbacks") &&
         resolve(library, found.enable, "cuptiActivityEnable") &&
         resolve(library, found.flush_all, "cuptiActivityFlushAll") &&
         resolve(library, found.next_record, "cuptiActivityGetNextRecord") &&
         resolve(library, found.dropped, "cuptiActivityGetNumDroppedRecords") &&
         resolve(library, found.get_timestamp, "cuptiGetTimestamp");
}

constexpr const char *kTaken = "cupti-taken", *kUnusable = "cupti-unusable", *kPartial = "cupti-partial";

// Tries a library; false: the next may do. That another profiler has one is the reason that stays.
bool subscribed(void* library, const char*& failure) {
  Functions found{};
  if (library == nullptr) return false;
  if (failure != kTaken) failure = kUnusable;
  if (!resolve_all(library, found)) return false;
  subscriber = nullptr;
  const int error = found.subscribe(&subscriber, called, nullptr);
  if (error == kOtherSubscriber) failure = kTaken;
  if (error != kSuccess) return false;
  cupti_functions = found;
  if (found.register_callbacks(request, complete) == kSuccess) return true;
  found.unsubscribe(subscriber);
  return false;
}

// The program's own CUPTI, if it is loaded, then those that the launcher found, then the linker's.
bool find_cupti(const char*& failure) {
  for (const char* name : kSonames)
    if (void* const loaded = dlopen(name, RTLD_NOW | RTLD_NOLOAD); subscribed(loaded, failure)) return true;
  const char* const text = std::getenv(kLibrariesVariable);
  std::string_view left(text == nullptr ? "" : text);
  while (!left.empty()) {
    const std::string_view name = left.substr(0, left.find(':'));
    left.remove_prefix(name.size() < left.size() ? name.size() + 1 : left.size());
    Text<PATH_MAX> path;
    path += name;
    if (path.empty() || !path.fits()) continue;
    if (subscribed(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), failure)) return true;
  }
  for (const char* name : kSonames)
    if (subscribed(dlopen(name, RTLD_NOW | RTLD_LOCAL), failure)) return true;
  return false;
}

// Numbers of calls differ between versions, and so they are chosen by name: `cuMemcpyHtoDAsync_v2`,
// `cudaMemcpyAsync_v3020`. A graph's launch is the call of its copies.
void ask_for_calls() {
  if (cupti_functions.callback_name == nullptr || cupti_functions.enable_callback == nullptr) return;
  int asked = 0, refused = 0;
  for (const std::uint32_t domain : {kDriverCalls, kRuntimeCalls})
    for (std::uint32_t id = 1; id < kMostCalls; ++id) {
      const char* text = nullptr;
      if (cupti_functions.callback_name(domain, id, &text) != kSuccess || text == nullptr) continue;
      std::string_view name(text);
      if (!name.starts_with("cu")) continue;
      name.remove_prefix(name.starts_with("cuda") ? 4 : 2);
      for (const std::string_view wanted : {"Memcpy", "Memset", "GraphLaunch"})
        if (name.starts_with(wanted)) {
          ++asked;
          refused += cupti_functions.enable_callback(1, subscriber, domain, id) != kSuccess;
        }
    }
  // CUPTI lists calls of which it refuses some: those alone are no lack.
  if (asked != 0 && refused == asked) note_failure(kPartial);
}

// Whether CUPTI refuses records because the machine has nothing to record (managed memory, MPS, virtual
// GPUs).
bool is_not_supported(int error) { return error >= kNotSupported && error <= kNotSupportedVirtual; }

// CUPTI 13 refuses it until the program's driver has a context (an H200, 2026-11-28): then the thread of
// snapshots asks again.
void ask_for_unified_memory() {
  if (!unified_memory_waits) return;
  const int error = cupti_functions.enable(kUnifiedMemory);
  if (error == kNotReady) return;
  unified_memory_waits = false;
  if (error != kSuccess && !is_not_supported(error)) note_failure(kPartial);
}

void ask_for_records() {
  if (cupti_functions.choose_unified_memory != nullptr) {
    UnifiedMemoryChoice choices[] = {{kAllDevices, kToDevice, 0, 1},
                                     {kAllDevices, kToHost, 0, 1},
                                     {kAllDevices, kHostFaults, 0, 1},
                                     {kAllDevices, kDeviceFaults, 0, 1},
                                     {kAllDevices, kBetweenDevices, 0, 1}};
    // A machine without managed memory refuses: then there is nothing to count.
    unified_memory_waits = cupti_functions.choose_unified_memory(choices, std::size(choices)) == kSuccess;
    ask_for_unified_memory();
  }
  for (const Kind kind : {kMemcpy, kPeerCopy, kMemset, kMemory, kSynchronisation})
    if (cupti_functions.enable(kind) != kSuccess) note_failure(kind == kMemcpy ? kUnusable : kPartial);
  if (cupti_functions.enable(kKernel) == kSuccess) expect_kernels();
}

// By the thread of snapshots. cuptiActivityFlushPeriod() would deliver full buffers alone, and a program that
// is killed would leave nothing of the last ten thousand records.
void fetch_records() {
  if (process != getpid()) return;  // a forked child has no driver
  const std::lock_guard lock(flushing);
  if (finished) return;
  ask_for_unified_memory();
  cupti_functions.flush_all(0);  // buffers whose records are all complete, full or not
}

void finish() {
  if (process != getpid()) return;
  {
    const std::lock_guard lock(flushing);
    finished = true;
    // Also records of operations that still run.
    if (cupti_functions.flush_all(1) != kSuccess) note_failure("cupti-dropped");
    finish_overlaps();
  }
  save(true);
}

// Without the clock of the records they are taken for those of the monotonic one, which it is on Linux.
std::int64_t clock_offset() {
  std::uint64_t time = 0;
  if (cupti_functions.get_timestamp(&time) == kSuccess) return now() - static_cast<std::int64_t>(time);
  note_failure(kPartial);
  return 0;
}

}  // namespace

// 1: good, as the driver wants it whatever happened here.
extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  name_library("gpu");
  if (!is_watching()) return 1;
  note_collector("cuda");
  const char* failure = "cupti-missing";
  if (!find_cupti(failure)) {
    note_failure(failure);
    return 1;
  }
  // It says how records are read.
  std::uint32_t version = 0;
  if (cupti_functions.get_version(&version) != kSuccess) {
    note_failure(kUnusable);
    return 1;
  }
  begin_records(version, clock_offset());
  process = getpid();
  ask_for_records();
  collect_before_snapshots(fetch_records);
  ask_for_calls();
  // Before the driver's own end, which was registered earlier.
  std::atexit(finish);
  return 1;
}
