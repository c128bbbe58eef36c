// rocprofiler-sdk on the simulated machine: contexts, buffers and the tracing services of
// vendors/rocprofiler.def, with the records of version 1.0. Callbacks come on the thread whose call fills a
// buffer beyond its mark, or that flushes it; times are of the simulated machine.
//
// As on a real machine, copies by kernels of the runtime are no memory copies.
#include "simulator/vendors/rocprofiler.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/machine/world.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/rocprofiler_tracer.hpp"

#define BYTEWAYS_ENTRY_TABLE "simulator/vendors/rocprofiler.def"

namespace byteways::sim::rocprofiler {

namespace {

// --- tools

struct ClientId {
  const char* name;
  std::uint32_t handle;
};
using Finalize = void (*)(ClientId);
struct Configured {
  std::size_t size;
  int (*initialize)(Finalize finalize, void* data);
  void (*finalize)(void* data);
  void* data;
};
using Configure = Configured* (*)(std::uint32_t version, const char* runtime, std::uint32_t priority,
                                  ClientId* id);

std::vector<Configured*>& tools() {
  static auto* const all = new std::vector<Configured*>;
  return *all;
}

void finalize_tools() {
  Tracer::get().deliver([](const Buffer&) { return true; });
  for (const Configured* tool : tools())
    if (tool->finalize != nullptr) tool->finalize(tool->data);
  tools().clear();
}

void configure_tool(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  const auto configure =
      library == nullptr ? nullptr : reinterpret_cast<Configure>(dlsym(library, "rocprofiler_configure"));
  if (configure == nullptr) return;
  ClientId id{nullptr, static_cast<std::uint32_t>(tools().size() + 1)};
  Configured* const tool = configure(kVersion, "byteways simulator", id.handle - 1, &id);
  if (tool == nullptr) return;
  const bool good =
      tool->initialize == nullptr || tool->initialize([](ClientId) { finalize_tools(); }, tool->data) == 0;
  if (good) tools().push_back(tool);
}

}  // namespace

void load_tools() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* const text = std::getenv("ROCP_TOOL_LIBRARIES");
    if (text == nullptr || *text == '\0' || !World::get().serves_program()) return;
    Tracer& tracer = Tracer::get();
    World::get().observe(&tracer);
    tracer.configuring = true;
    std::string_view left(text);
    while (!left.empty()) {
      const auto end = std::min(left.find_first_of(":, "), left.size());
      if (end != 0) configure_tool(std::string(left.substr(0, end)));
      left.remove_prefix(std::min(end + 1, left.size()));
    }
    tracer.configuring = false;
    std::atexit(finalize_tools);
  });
}

Traced::Traced(Called call) : call_(call) {
  try {
    load_tools();
  } catch (const Failure&) {  // no machine: the call says so
    return;
  }
  Tracer& tracer = Tracer::get();
  if (!tracer.traces()) return;
  this_call = correlation_ = tracer.next_correlation();
  start_ns_ = World::get().seen_ns();
}

Traced::~Traced() {
  if (correlation_ == 0) return;
  this_call = 0;
  Tracer::get().ended_call(call_, correlation_, start_ns_, World::get().seen_ns());
}

// --- the library's functions

using EachKind = int (*)(std::uint32_t kind, void* data);
using EachOperation = int (*)(std::uint32_t kind, std::int32_t operation, void* data);
using EachAgents = int (*)(std::uint32_t version, const void** agents, std::size_t count, void* data);

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int rocprofiler_get_timestamp(std::uint64_t* time) {
  if (time == nullptr) return kInvalid;
  *time = static_cast<std::uint64_t>(World::get().seen_ns());
  return kGood;
}

int rocprofiler_create_context(Handle* context) {
  if (context == nullptr || !Tracer::get().configuring) return context == nullptr ? kInvalid : kLocked;
  context->value = Tracer::get().make_context();
  return kGood;
}
int rocprofiler_start_context(Handle context) { return Tracer::get().start(context.value, true); }
int rocprofiler_stop_context(Handle context) { return Tracer::get().start(context.value, false); }

int rocprofiler_create_buffer(Handle context, std::size_t size, std::size_t mark, std::uint32_t policy,
                              Callback callback, void* data, Handle* buffer) {
  if (size == 0 || mark > size || policy == 0 || policy > 2 || callback == nullptr || buffer == nullptr)
    return kInvalid;
  if (!Tracer::get().configuring) return kLocked;
  buffer->value = Tracer::get().make_buffer({context, mark, callback, data, {}});
  return kGood;
}

int rocprofiler_flush_buffer(Handle buffer) {
  Tracer& tracer = Tracer::get();
  if (!tracer.has_buffer(buffer.value)) return kNoBuffer;
  tracer.deliver([](const Buffer&) { return true; });
  return kGood;
}

int rocprofiler_configure_buffer_tracing_service(Handle context, std::uint32_t kind,
                                                 const std::int32_t* operations, std::size_t count,
                                                 Handle buffer) {
  const Kind* const known = kind_of(kind);
  if (known == nullptr) return kNoKind;
  if (!Tracer::get().configuring) return kLocked;
  std::vector<std::int32_t> chosen;
  if (operations != nullptr) chosen.assign(operations, operations + count);
  for (const std::int32_t one : chosen)
    if (one < 0 || static_cast<std::size_t>(one) >= known->count) return kNoOperation;
  return Tracer::get().configure({context.value, kind, std::move(chosen), buffer.value});
}

int rocprofiler_query_buffer_tracing_kind_name(std::uint32_t kind, const char** name, std::uint64_t* length) {
  const Kind* const known = kind_of(kind);
  if (known == nullptr) return kNoKind;
  if (name != nullptr) *name = known->name;
  if (length != nullptr) *length = std::strlen(known->name);
  return kGood;
}

int rocprofiler_query_buffer_tracing_kind_operation_name(std::uint32_t kind, std::int32_t operation,
                                                         const char** name, std::uint64_t* length) {
  const Kind* const known = kind_of(kind);
  if (known == nullptr) return kNoKind;
  if (operation < 0 || static_cast<std::size_t>(operation) >= known->count) return kNoOperation;
  if (name != nullptr) *name = known->operations[operation];
  if (length != nullptr) *length = std::strlen(known->operations[operation]);
  return kGood;
}

int rocprofiler_iterate_buffer_tracing_kinds(EachKind each, void* data) {
  for (const Kind& kind : kKinds)
    if (const int stop = each(kind.number, data); stop != 0) break;
  return kGood;
}

int rocprofiler_iterate_buffer_tracing_kind_operations(std::uint32_t kind, EachOperation each, void* data) {
  const Kind* const known = kind_of(kind);
  if (known == nullptr) return kNoKind;
  for (std::size_t at = 0; at < known->count; ++at)
    if (each(kind, static_cast<std::int32_t>(at), data) != 0) break;
  return kGood;
}

// Agents have more fields than these, which the simulator leaves 0. As of the real library, they come in the
// order of the kernel driver's nodes: processors, then GPUs.
int rocprofiler_query_available_agents(std::uint32_t version, EachAgents each, std::size_t agent_bytes,
                                       void* data) {
  struct Agent {
    std::uint64_t size, id;
    std::uint32_t type;
    std::uint32_t rest[71];
  };
  if (version != 1 || each == nullptr || agent_bytes > sizeof(Agent)) return kInvalid;
  const Model& model = World::get().model();
  std::vector<Agent> agents;
  for (int at = 0; at < model.cpu.domains + model.gpu.count; ++at) {
    const std::uint32_t type = at < model.cpu.domains ? kCpuAgent : kGpuAgent;
    agents.push_back({sizeof(Agent), static_cast<std::uint64_t>(at) + 1, type, {}});
  }
  std::vector<const void*> places;
  for (const Agent& agent : agents) places.push_back(&agent);
  return each(version, places.data(), places.size(), data);
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::rocprofiler
