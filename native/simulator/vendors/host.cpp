// The simulator's own entry points: every row of host.def. A plain C interface: exceptions become a number
// and a text.
#include <algorithm>
#include <exception>
#include <new>

#include "runtimes/mpi/table.hpp"
#include "simulator/engine/thread_state.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/vendors/api.hpp"

#define BYTEWAYS_ENTRY_TABLE "simulator/vendors/host.def"

namespace byteways::sim::host_api {
namespace {

thread_local std::string last_error;

int failed(Code code, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {  // no memory for the text: the number is sufficient
    last_error.clear();
  }
  return static_cast<int>(code) + 1;
}

// Returns 0, or the number of a Code + 1.
template <class Body>
int attempt(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const Failure& failure) {
    return failed(failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return failed(Code::out_of_memory, "out of memory");
  } catch (const std::exception& error) {
    return failed(Code::invalid, error.what());
  } catch (...) {
    return failed(Code::internal, "unknown error");
  }
}

// For queries on a machine that may not be loaded.
template <class Value, class Body>
Value ask(Value otherwise, Body body) noexcept {
  try {
    return body(World::get());
  } catch (...) {
    return otherwise;
  }
}

Stream* stream_of(void* stream) {
  if (stream == nullptr) throw Failure(Code::invalid, "there is no such stream");
  return static_cast<Stream*>(stream);
}
Event* event_of(void* event) {
  if (event == nullptr) throw Failure(Code::invalid, "there is no such event");
  return static_cast<Event*>(event);
}

Place domain_place(const Model& model, int domain) {
  if (domain < 0 || domain >= model.cpu.domains)
    throw Failure(Code::invalid, "the machine has no NUMA domain " + std::to_string(domain));
  return {Place::Kind::cpu, domain};
}

}  // namespace

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int bwsim_load(const char* sheet) {
  return attempt([&] { World::load(sheet == nullptr ? "" : sheet); });
}
int bwsim_restart(std::uint64_t key) {
  return attempt([&] {
    World::restart(key);
    this_thread().policy_domain = this_thread().bound_domain = -1;
  });
}
const char* bwsim_last_error() { return last_error.c_str(); }

std::int64_t bwsim_now() {
  return ask(std::int64_t{-1}, [](World& world) { return world.now_ns(); });
}
void bwsim_pass(std::int64_t nanoseconds) {
  ask(0, [nanoseconds](World& world) {
    world.pass(nanoseconds);
    return 0;
  });
}
std::uint64_t bwsim_start_timer(std::int64_t delay_ns, void (*action)(void*), void* data) {
  return ask(std::uint64_t{0},
             [&](World& world) { return world.start_timer(delay_ns, [action, data] { action(data); }); });
}
void bwsim_cancel_timer(std::uint64_t ticket) {
  ask(0, [&](World& world) {
    world.cancel_timer(ticket);
    return 0;
  });
}

void bwsim_set_thread_domain(int domain) { set_thread_domain(domain); }
void bwsim_bind_thread(int domain) { this_thread().bound_domain = domain; }
int bwsim_bound_domain() { return this_thread().bound_domain; }
int bwsim_gpu_domain(const char* pci_address) {
  return ask(-1, [&](World& world) {
    const Model& model = world.model();
    const auto& addresses = model.gpu.pci_addresses;
    const auto found = std::find(addresses.begin(), addresses.end(), pci_address);
    return found == addresses.end() ? -1 : domain_of(model, static_cast<int>(found - addresses.begin()));
  });
}

int bwsim_domains() {
  return ask(0, [](World& world) { return world.model().cpu.domains; });
}
const char* bwsim_machine_name() {
  return ask("", [](World& world) { return world.model().name.c_str(); });
}
const char* bwsim_cpu_name() {
  return ask("", [](World& world) { return world.model().cpu.name.c_str(); });
}
const char* bwsim_cpu_architecture() {
  return ask("", [](World& world) { return world.model().cpu.architecture.c_str(); });
}
int bwsim_cores() {
  return ask(0, [](World& world) { return world.model().cpu.cores; });
}
std::uint64_t bwsim_memory_bytes() {
  return ask(std::uint64_t{0}, [](World& world) { return world.model().cpu.memory_bytes; });
}
std::uint64_t bwsim_cache_bytes() {
  return ask(std::uint64_t{0}, [](World& world) { return world.model().cpu.last_cache_bytes(); });
}

int bwsim_allocate(int domain, int kind, std::uint64_t bytes, void** data) {
  return attempt([&] {
    if (data == nullptr || bytes == 0) throw Failure(Code::invalid, "a buffer of 0 bytes was asked for");
    if (kind != static_cast<int>(Kind::pageable) && kind != static_cast<int>(Kind::hugepage))
      throw Failure(Code::not_supported, "the host allocates pageable and hugepage memory only");
    World& world = World::get();
    *data = world.allocate(domain_place(world.model(), domain), static_cast<Kind>(kind), bytes);
  });
}
int bwsim_leave_to_first_touch(void* data) {
  return attempt([&] { World::get().leave_to_first_touch(data); });
}
int bwsim_touch(int domain, void* data, std::uint64_t bytes) {
  return attempt([&] {
    World& world = World::get();
    const int wanted = thread_domain();  // the thread's policy overrides the domain it runs on
    world.touch(data, bytes, domain_place(world.model(), wanted >= 0 ? wanted : domain));
  });
}
int bwsim_release(void* data) {
  return attempt([&] { World::get().release(data); });
}
int bwsim_placement(const void* data, std::uint64_t bytes, std::uint64_t* pages, int domains) {
  return attempt([&] {
    std::fill_n(pages, domains, 0);
    for (const auto& [domain, count] : World::get().placement(data, bytes))
      if (domain >= 0 && domain < domains) pages[domain] = count;
  });
}

int bwsim_create_stream(int domain, void** stream) {
  return attempt([&] {
    World& world = World::get();
    *stream = world.create_stream(domain_place(world.model(), domain));
  });
}
int bwsim_destroy_stream(void* stream) {
  return attempt([&] { World::get().destroy(stream_of(stream)); });
}
int bwsim_create_event(int domain, void** event) {
  return attempt([&] {
    World& world = World::get();
    *event = world.create_event(domain_place(world.model(), domain));
  });
}
int bwsim_destroy_event(void* event) {
  return attempt([&] { World::get().destroy(event_of(event)); });
}
int bwsim_record(void* event, void* stream) {
  return attempt([&] { World::get().record(event_of(event), stream_of(stream)); });
}
int bwsim_wait(void* stream, void* event) {
  return attempt([&] { World::get().wait(stream_of(stream), event_of(event)); });
}
int bwsim_launch(const char* kernel, unsigned threads, const void* arguments, std::size_t bytes,
                 void* stream) {
  return attempt([&] { World::get().launch(kernel, {threads, 1, 0}, arguments, bytes, stream_of(stream)); });
}
int bwsim_finished(void* event, int* finished) {
  return attempt([&] { *finished = World::get().finished(event_of(event)) ? 1 : 0; });
}
int bwsim_synchronize_event(void* event) {
  return attempt([&] { World::get().synchronize(event_of(event)); });
}
int bwsim_synchronize_stream(void* stream) {
  return attempt([&] { World::get().synchronize(stream_of(stream)); });
}
int bwsim_elapsed(void* begin, void* end, double* nanoseconds) {
  return attempt([&] { *nanoseconds = World::get().elapsed_ns(event_of(begin), event_of(end)); });
}

int bwsim_join(int rank, int size) {
  return attempt([&] {
    World::get();
    Timeline& time = Timeline::of_process();
    Lock lock(time.mutex());
    time.join(lock, rank, size);
  });
}
void bwsim_act_as_other_process(int other) { this_thread().other_process = other != 0; }
void bwsim_leave() {
  Timeline& time = Timeline::of_process();
  Lock lock(time.mutex());
  time.leave(lock);
}
void bwsim_at_fault(int* rank, int* gpu, int* library) {
  Timeline& time = Timeline::of_process();
  const Lock lock(time.mutex());
  *rank = time.at_fault().rank;
  *gpu = time.at_fault().gpu;
  *library = time.at_fault().library ? 1 : 0;
}
void bwsim_fail_call(std::uint64_t number, int code) { CountedCalls::fail(number, code); }
std::uint64_t bwsim_calls() { return CountedCalls::made(); }
int bwsim_reset_gpu(int gpu) {
  return attempt([&] { World::get().reset_gpu(gpu); });
}
std::uint64_t bwsim_thread_turns() {
  Timeline& time = Timeline::of_process();
  const Lock lock(time.mutex());
  return time.thread_turns();
}
int bwsim_carry(void (*body)(void*), void* data) {
  return attempt([&] {
    Timeline& time = Timeline::of_process();
    Lock lock(time.mutex());
    time.carry(lock, [body, data] { body(data); });
  });
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::host_api
