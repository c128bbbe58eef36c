// The functions of the simulated UCX, for two ranks. A model has no numbers of UCX's own: messages and
// transfers take what [mpi] says.
#include "simulator/vendors/api.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtimes/ucx/table.hpp"
#include "simulator/machine/world.hpp"
#include "simulator/mpi/mpi.hpp"
#define BYTEWAYS_ENTRY_TABLE "runtimes/ucx/ucx.def"

namespace byteways::sim::ucx_api {
namespace {

using byteways::ucx::Table;
using sim::mpi::Call;
using sim::mpi::CallKind;
using sim::mpi::Exposed;
using sim::mpi::Mpi;
using Text = std::string;

constexpr std::int8_t kFailed = -3;             // UCS_ERR_IO_ERROR
constexpr std::uint64_t kContextOfUcx = ~0ull;  // of no communicator of MPI
constexpr BytewaysComm kNoComm = 0;

struct EndpointState {
  int peer = 0;  // the other rank
  std::vector<BytewaysWindow> windows;
};

struct WorkerState {
  std::vector<std::unique_ptr<EndpointState>> endpoints;
};

WorkerState& of(Table::Worker worker) { return *reinterpret_cast<WorkerState*>(worker); }
EndpointState& of(Table::Endpoint endpoint) { return *reinterpret_cast<EndpointState*>(endpoint); }

Text& last_text() {
  thread_local Text text;
  return text;
}

Mpi& library() { return Mpi::of_process(); }

template <class Body>
std::int8_t call(const char* name, CallKind kind, Body body) {
  const int error = library().run(name, kind, 0, body);
  if (error == 0) return byteways::ucx::kOk;
  last_text() = library().describe(error);
  return kFailed;
}

// What a call answers that begins something: nullptr, a request, or the code of a failure.
void* started(std::int8_t status, sim::mpi::RequestHandle request = 0) {
  if (status != byteways::ucx::kOk) request = static_cast<std::uint64_t>(std::int64_t{status});
  return reinterpret_cast<void*>(request);
}

void* transfer(const char* name, Table::Endpoint endpoint, void* own, std::size_t bytes,
               std::uint64_t address, Table::Key key, bool puts) {
  of(endpoint);
  return started(call(name, CallKind::message, [&](Call& one) {
    const auto window = reinterpret_cast<BytewaysWindow>(key);
    const std::uint64_t begin = library().one_sided().window(window).ranks.front().address;
    library().start_one_sided(one, window, 0, address - begin, own, bytes, puts);
  }));
}

}  // namespace

using Context = Table::Context;
using Endpoint = Table::Endpoint;
using EndpointAttributes = Table::EndpointAttributes;
using EndpointParams = Table::EndpointParams;
using Key = Table::Key;
using MapParams = Table::MapParams;
using Memory = Table::Memory;
using Params = Table::Params;
using RequestParam = Table::RequestParam;
using Status = Table::Status;
using Worker = Table::Worker;
using WorkerParams = Table::WorkerParams;

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

void ucp_get_version(unsigned* major, unsigned* minor, unsigned* release) {
  *major = byteways::ucx::kApiMajor;
  *minor = byteways::ucx::kApiMinor;
  *release = 0;
}
const char* ucp_get_version_string() { return "1.10.0"; }  // the interface that is simulated
const char* ucs_status_string(Status) { return last_text().c_str(); }

Status ucp_init_version(unsigned, unsigned, const Params*, const void*, Context* context) {
  *context = reinterpret_cast<Context>(context);  // it has nothing to tell apart
  return byteways::ucx::kOk;
}
void ucp_cleanup(Context) {}

Status ucp_worker_create(Context, const WorkerParams*, Worker* worker) {
  *worker = reinterpret_cast<Worker>(new WorkerState);
  return byteways::ucx::kOk;
}
void ucp_worker_destroy(Worker worker) { delete &of(worker); }
Status ucp_worker_get_address(Worker, void** address, std::size_t* bytes) {
  *bytes = sizeof(int);
  *address = new int(sim::mpi::rank_of_thread().number);
  return byteways::ucx::kOk;
}
void ucp_worker_release_address(Worker, void* address) { delete static_cast<int*>(address); }
// Transfers go on by themselves.
unsigned ucp_worker_progress(Worker) { return 0; }

Status ucp_ep_create(Worker worker, const EndpointParams* params, Endpoint* endpoint) {
  auto made = std::make_unique<EndpointState>();
  std::memcpy(&made->peer, params->address, sizeof made->peer);
  *endpoint = reinterpret_cast<Endpoint>(made.get());
  of(worker).endpoints.push_back(std::move(made));
  return byteways::ucx::kOk;
}
Status ucp_ep_query(Endpoint, EndpointAttributes* attributes) {
  if (attributes->count > 0) *attributes->entries = {"simulated", "memory"};
  return byteways::ucx::kOk;
}

Status ucp_mem_map(Context, const MapParams* params, Memory* memory) {
  const sim::mpi::Rank me = sim::mpi::rank_of_thread();
  const auto address = reinterpret_cast<std::uintptr_t>(params->address);
  *memory = reinterpret_cast<Memory>(new Exposed{address, params->length, me.number, me.place.index});
  return byteways::ucx::kOk;
}
Status ucp_mem_unmap(Context, Memory memory) {
  delete reinterpret_cast<Exposed*>(memory);
  return byteways::ucx::kOk;
}
Status ucp_rkey_pack(Context, Memory memory, void** packed, std::size_t* bytes) {
  *bytes = sizeof(Exposed);
  *packed = new Exposed(*reinterpret_cast<Exposed*>(memory));
  return byteways::ucx::kOk;
}
void ucp_rkey_buffer_release(void* packed) { delete static_cast<Exposed*>(packed); }
Status ucp_ep_rkey_unpack(Endpoint endpoint, const void* packed, Key* key) {
  return call("ucp_ep_rkey_unpack", CallKind::local, [&](Call&) {
    static std::uint64_t keys = 0;
    Exposed exposed;
    std::memcpy(&exposed, packed, sizeof exposed);
    const BytewaysWindow window = library().one_sided().create(kNoComm, ++keys, {exposed});
    of(endpoint).windows.push_back(window);
    *key = reinterpret_cast<Key>(window);
  });
}
void ucp_rkey_destroy(Key) {}

void* ucp_put_nbx(Endpoint endpoint, const void* data, std::size_t bytes, std::uint64_t address, Key key,
                  const RequestParam*) {
  return transfer("ucp_put_nbx", endpoint, const_cast<void*>(data), bytes, address, key, true);
}
void* ucp_get_nbx(Endpoint endpoint, void* data, std::size_t bytes, std::uint64_t address, Key key,
                  const RequestParam*) {
  return transfer("ucp_get_nbx", endpoint, data, bytes, address, key, false);
}
// Waits, so that it needs no request.
void* ucp_ep_flush_nbx(Endpoint endpoint, const RequestParam*) {
  return started(call("ucp_ep_flush_nbx", CallKind::message, [&](Call& one) {
    Timeline::of_process().enter(one.lock, Call::transfers().model().calls.clock_ns);
    sim::mpi::OneSided& transfers = library().one_sided();
    for (const BytewaysWindow window : of(endpoint).windows)
      library().wait(one, transfers.take(transfers.window(window), one.me.number, -1));
  }));
}

void* ucp_tag_send_nbx(Endpoint endpoint, const void* data, std::size_t bytes, std::uint64_t tag,
                       const RequestParam*) {
  sim::mpi::RequestHandle request = 0;
  const std::int8_t status = call("ucp_tag_send_nbx", CallKind::message, [&](Call& one) {
    const sim::mpi::Route route{kContextOfUcx, tag, one.me.number, of(endpoint).peer};
    request = library().keep(library().start_send(one, route, data, bytes));
  });
  return started(status, request);
}
// A receive of UCX knows no sender: there is one other rank.
void* ucp_tag_recv_nbx(Worker worker, void* data, std::size_t bytes, std::uint64_t tag, std::uint64_t,
                       const RequestParam*) {
  sim::mpi::RequestHandle request = 0;
  const std::int8_t status = call("ucp_tag_recv_nbx", CallKind::message, [&](Call& one) {
    if (of(worker).endpoints.size() != 1) throw Failure(Code::not_supported, "it joins two ranks");
    const sim::mpi::Route route{kContextOfUcx, tag, of(worker).endpoints.front()->peer, one.me.number};
    request = library().keep(library().start_receive(one, route, data, bytes));
  });
  return started(status, request);
}

// Waits, as a program that asks again and again does.
Status ucp_request_check_status(void* request) {
  return call("ucp_request_check_status", CallKind::message, [&](Call& one) {
    library().wait(one, {library().known(reinterpret_cast<sim::mpi::RequestHandle>(request))});
  });
}
void ucp_request_free(void* request) {
  call("ucp_request_free", CallKind::local,
       [&](Call&) { library().forget(reinterpret_cast<sim::mpi::RequestHandle>(request)); });
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::ucx_api
