// The tool that rocprofiler-register loads into every program of HIP (ROCP_TOOL_LIBRARIES): it asks
// rocprofiler-sdk for records of calls, copies and allocations. Other tools may do so beside it.
#include "watch/gpu/rocprofiler.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <cstddef>
#include <mutex>
#include <string_view>

#include "watch/clock.hpp"
#include "watch/gpu/rocprofiler_records.hpp"
#include "watch/histogram.hpp"
#include "watch/snapshot.hpp"

namespace {

using namespace byteways::watch;
using namespace byteways::watch::rocprofiler;

constexpr const char* kSonames[] = {"librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0",
                                    "librocprofiler-sdk.so"};
// Some 10,000 records; the library keeps twice as many bytes.
constexpr std::size_t kBufferBytes = 1 << 20, kMark = kBufferBytes / 2;

Functions sdk{};
Id context{}, buffer{};
pid_t process = 0;
std::mutex flushing;
bool may_flush = false;

void complete(Id, Id, RecordHeader** headers, std::size_t count, void*, std::uint64_t dropped) {
  if (process != getpid()) return;
  add_records(headers, count);
  if (dropped == 0) return;
  histogram().lose(dropped);
  note_failure("rocprofiler-dropped");
}

template <class Function>
bool resolve(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool resolve_all(void* library) {
  return library != nullptr && resolve(library, sdk.get_timestamp, "rocprofiler_get_timestamp") &&
         resolve(library, sdk.create_context, "rocprofiler_create_context") &&
         resolve(library, sdk.start_context, "rocprofiler_start_context") &&
         resolve(library, sdk.create_buffer, "rocprofiler_create_buffer") &&
         resolve(library, sdk.flush_buffer, "rocprofiler_flush_buffer") &&
         resolve(library, sdk.trace, "rocprofiler_configure_buffer_tracing_service") &&
         resolve(library, sdk.kind_name, "rocprofiler_query_buffer_tracing_kind_name") &&
         resolve(library, sdk.operation_name, "rocprofiler_query_buffer_tracing_kind_operation_name") &&
         resolve(library, sdk.each_kind, "rocprofiler_iterate_buffer_tracing_kinds") &&
         resolve(library, sdk.each_operation, "rocprofiler_iterate_buffer_tracing_kind_operations") &&
         resolve(library, sdk.agents, "rocprofiler_query_available_agents");
}

// The library that calls us is loaded: it is looked for first.
bool find_library() {
  for (const int mode : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL})
    for (const char* name : kSonames)
      if (resolve_all(dlopen(name, mode))) return true;
  return resolve_all(RTLD_DEFAULT);
}

// What the library refuses is missing from what is counted, or lacks its name.
bool noted(int error) {
  if (error != kSuccess) note_failure("rocprofiler-partial");
  return error == kSuccess;
}

std::string_view name_of_operation(std::uint32_t kind, std::int32_t operation) {
  const char* name = nullptr;
  const bool good = noted(sdk.operation_name(kind, operation, &name, nullptr)) && name != nullptr;
  return good ? std::string_view(name) : std::string_view();
}

Kinds find_kinds() {
  Kinds kinds;
  noted(sdk.each_kind(
      [](std::uint32_t kind, void* data) {
        auto& found = *static_cast<Kinds*>(data);
        const char* text = nullptr;
        if (!noted(sdk.kind_name(kind, &text, nullptr)) || text == nullptr) return 0;
        const std::string_view name(text);
        if (name == "HIP_RUNTIME_API") found.calls = kind;
        if (name == "MEMORY_COPY") found.copies = kind;
        if (name == "MEMORY_ALLOCATION") found.allocations = kind;
        return 0;
      },
      &kinds));
  if (kinds.allocations != 0)
    noted(sdk.each_operation(
        kinds.allocations,
        [](std::uint32_t kind, std::int32_t operation, void* data) {
          const std::string_view name = name_of_operation(kind, operation);
          if (name == "MEMORY_ALLOCATION_ALLOCATE") static_cast<Kinds*>(data)->allocate = operation;
          if (name == "MEMORY_ALLOCATION_FREE") static_cast<Kinds*>(data)->release = operation;
          return 0;
        },
        &kinds));
  return kinds;
}

// The calls of a kind that are counted.
struct Calls {
  std::int32_t numbers[kMostOperations];
  std::size_t count = 0;
};

void find_calls(std::uint32_t kind, Calls& wanted) {
  if (kind == 0) return;
  noted(sdk.each_operation(
      kind,
      [](std::uint32_t of, std::int32_t operation, void* data) {
        auto& calls = *static_cast<Calls*>(data);
        if (calls.count < kMostOperations && add_call(operation, name_of_operation(of, operation)))
          calls.numbers[calls.count++] = operation;
        return 0;
      },
      &wanted));
}

void find_agents() {
  noted(sdk.agents(
      kAgentVersion,
      [](std::uint32_t, const void** agents, std::size_t count, void*) {
        for (std::size_t at = 0; at < count; ++at) {
          const auto* agent = static_cast<const Agent*>(agents[at]);
          add_agent(agent->id, agent->type);
        }
        return 0;
      },
      sizeof(Agent), nullptr));
}

bool start() {
  if (sdk.create_context(&context) != kSuccess) return false;
  if (sdk.create_buffer(context, kBufferBytes, kMark, kLossless, complete, nullptr, &buffer) != kSuccess)
    return false;
  Kinds kinds = find_kinds();
  if (kinds.copies == 0 || sdk.trace(context, kinds.copies, nullptr, 0, buffer) != kSuccess) return false;
  static Calls calls;
  find_calls(kinds.calls, calls);
  if (calls.count == 0 || !noted(sdk.trace(context, kinds.calls, calls.numbers, calls.count, buffer)))
    kinds.calls = 0;
  if (kinds.allocations != 0 && !noted(sdk.trace(context, kinds.allocations, nullptr, 0, buffer)))
    kinds.allocations = 0;
  find_agents();
  std::uint64_t time = 0;
  const bool timed = noted(sdk.get_timestamp(&time));
  begin_records(kinds, timed ? now() - static_cast<std::int64_t>(time) : 0);
  return sdk.start_context(context) == kSuccess;
}

// Whether all that was buffered has come.
bool flush() {
  const std::lock_guard held(flushing);
  return !may_flush || process != getpid() || sdk.flush_buffer(buffer) == kSuccess;
}

int initialize(void (*)(ClientId), void*) {
  if (!find_library()) {
    note_failure("rocprofiler-missing");
    return -1;
  }
  if (!start()) {
    note_failure("rocprofiler-unusable");
    return -1;
  }
  process = getpid();
  may_flush = true;
  // What a killed program loses is that since the last snapshot.
  collect_before_snapshots([] { flush(); });  // what does not come now comes later
  return 0;
}

void finalize(void*) {
  if (process != getpid()) return;
  if (!flush()) note_failure("rocprofiler-dropped");
  {
    const std::lock_guard held(flushing);
    may_flush = false;
  }
  finish_records();
  save(true);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] Configured* rocprofiler_configure(std::uint32_t, const char*,
                                                                            std::uint32_t, ClientId* id) {
  static Configured configured{sizeof configured, initialize, finalize, nullptr};
  name_library("gpu");
  if (id == nullptr || !is_watching() || process == getpid()) return nullptr;
  note_collector("hip");
  id->name = "byteways";
  return &configured;
}
