// The functions of the simulated NCCL and RCCL, which have the same names.
#include "simulator/vendors/api.hpp"

#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "runtimes/xccl/table.hpp"
#include "simulator/machine/world.hpp"
#include "simulator/vendors/cuda.hpp"
#undef BYTEWAYS_ENTRY_TABLE  // each of these headers names its own
#include "simulator/vendors/hip.hpp"
#undef BYTEWAYS_ENTRY_TABLE
#define BYTEWAYS_ENTRY_TABLE "runtimes/xccl/xccl.def"

namespace byteways::sim::xccl_api {
namespace {

using byteways::xccl::Table;
using sim::xccl::Arguments;
using sim::xccl::Kind;

constexpr int kUnhandledGpuError = 1;  // ncclUnhandledCudaError
constexpr int kVersion = 22902;        // the interface that is simulated: NCCL 2.29.2

// What a handle of a communicator points to: one rank's.
struct RankOfComm {
  std::shared_ptr<sim::xccl::Comm> comm;
  int rank;
};

sim::xccl::Library& library() { return sim::xccl::Library::of_process(); }

RankOfComm& of(Table::Comm comm) {
  if (comm == nullptr) throw Failure(Code::invalid, "no communicator");
  return *reinterpret_cast<RankOfComm*>(comm);
}

std::string& last_error() {
  thread_local std::string text;
  return text;
}

// Runs the body of a call, which takes a moment of the host's time; what is submitted takes more of it
// (groups.cpp). Returns a code of ncclResult_t.
template <class Body>
int call(Body body) {
  try {
    World& world = World::get();
    Lock lock(Timeline::of_process().mutex());
    Timeline::of_process().enter(lock, world.model().calls.clock_ns);
    body(lock, world.for_xccl());
    return byteways::xccl::kSuccess;
  } catch (const Failure& failure) {
    last_error() = failure.what();
    return failure.code() == Code::invalid ? byteways::xccl::kInvalidArgument
                                           : byteways::xccl::kInternalError;
  } catch (const std::exception& error) {
    last_error() = error.what();
    return byteways::xccl::kInternalError;
  }
}

// The same of a call on memory, for which the machine charges its own time.
template <class Body>
int memory_call(Body body) {
  try {
    body(World::get());
    return byteways::xccl::kSuccess;
  } catch (const Failure& failure) {
    last_error() = failure.what();
    return failure.code() == Code::out_of_memory ? kUnhandledGpuError : byteways::xccl::kInvalidArgument;
  }
}

std::uint64_t bytes_of(std::size_t count, int type) {
  if (type == byteways::xccl::kUnsigned64) return count * sizeof(std::uint64_t);
  if (type == byteways::xccl::kUnsigned32) return count * sizeof(std::uint32_t);
  if (type == byteways::xccl::kUnsigned8) return count;
  throw Failure(Code::not_supported, "this type is not simulated");
}

Stream* stream_of(Table::Stream stream) {
  if (stream == nullptr) throw Failure(Code::not_supported, "the default stream is not simulated here");
  return static_cast<Stream*>(stream);
}

// RCCL fails in its own code where XNACK is off and a buffer's pages migrate (schieffer2025, section 7.2).
void require_reach(const void* data, int rank) {
  const World& world = World::get();
  if (data == nullptr || world.settings().retry_faults) return;
  const Block* const block = world.memory().find(data);
  if (block == nullptr || !is_managed(block->kind)) return;
  const std::string why = "managed memory needs XNACK (HSA_XNACK=1)";
  library().refuse("a call of RCCL by rank " + std::to_string(rank) + " failed: " + why);
  throw Failure(Code::internal, why);
}

int collective(Kind kind, const Arguments& arguments, std::size_t count, int type, Table::Comm handle,
               Table::Stream stream) {
  return call([&](Lock& lock, sim::xccl::Machine machine) {
    const RankOfComm& me = of(handle);
    require_reach(arguments.source, me.rank);
    require_reach(arguments.destination, me.rank);
    Arguments own = arguments;
    own.bytes = bytes_of(count, type);
    if (own.root < 0 || own.root >= me.comm->size()) throw Failure(Code::invalid, "there is no such root");
    library().call(lock, machine, {me.comm, stream_of(stream), [machine, me, kind, own]() mutable {
                                     return me.comm->collective(machine, me.rank, kind, own);
                                   }});
  });
}

int message(bool sends, const void* data, std::size_t count, int type, int peer, Table::Comm handle,
            Table::Stream stream) {
  return call([&](Lock& lock, sim::xccl::Machine machine) {
    const RankOfComm& me = of(handle);
    require_reach(data, me.rank);
    const int from = sends ? me.rank : peer, to = sends ? peer : me.rank;
    const std::uint64_t bytes = bytes_of(count, type);
    library().call(lock, machine,
                   {me.comm, stream_of(stream), [machine, me, from, to, sends, data, bytes]() mutable {
                      return me.comm->message(machine, from, to, sends, const_cast<void*>(data), bytes);
                    }});
  });
}

// The block of rank `other` in a buffer of blocks.
void* block(const void* data, int other, std::size_t count, int type) {
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(data));
  return bytes + static_cast<std::uint64_t>(other) * bytes_of(count, type);
}

int current_gpu() {
  return World::get().model().vendor == "amd" ? hip_api::Hip::current_gpu() : cuda_api::Cuda::current_gpu();
}

}  // namespace

using Comm = Table::Comm;
using Stream = Table::Stream;
using UniqueId = Table::UniqueId;
using Window = Table::Window;
using Signals = Table::Signals;

extern "C" {

#include "simulator/vendors/entry_points_declared.inc"

int ncclGetVersion(int* version) {
  *version = kVersion;
  return byteways::xccl::kSuccess;
}

const char* ncclGetErrorString(int code) {
  switch (code) {
    case byteways::xccl::kSuccess:
      return "no error";
    case byteways::xccl::kInvalidArgument:
      return "invalid argument";
    default:
      return "internal error";
  }
}

const char* ncclGetLastError(Comm) { return last_error().c_str(); }

int ncclGetUniqueId(UniqueId* id) {
  return call([&](Lock&, const sim::xccl::Machine&) {
    const std::uint64_t number = library().new_id();
    *id = {};
    std::memcpy(id->bytes, &number, sizeof number);
  });
}

int ncclCommInitRank(Comm* comm, int size, UniqueId id, int rank) {
  return call([&](Lock& lock, const sim::xccl::Machine&) {
    std::uint64_t number = 0;
    std::memcpy(&number, id.bytes, sizeof number);
    auto joined = std::make_unique<RankOfComm>();
    joined->rank = rank;
    joined->comm = library().join(lock, number, size, rank, current_gpu());
    *comm = reinterpret_cast<Comm>(joined.release());
  });
}

int ncclCommDestroy(Comm comm) {
  delete reinterpret_cast<RankOfComm*>(comm);
  return byteways::xccl::kSuccess;
}

int ncclCommAbort(Comm comm) {
  const int code = call([&](Lock&, sim::xccl::Machine machine) {
    const RankOfComm& me = of(comm);
    me.comm->abort(machine, me.rank);
  });
  delete reinterpret_cast<RankOfComm*>(comm);
  return code;
}

int ncclCommGetAsyncError(Comm, int* error) {
  *error = byteways::xccl::kSuccess;
  return byteways::xccl::kSuccess;
}

int ncclAllReduce(const void* source, void* destination, std::size_t count, int type, int, Comm comm,
                  Stream stream) {
  return collective(Kind::all_reduce, {source, destination, 0, 0}, count, type, comm, stream);
}
int ncclReduce(const void* source, void* destination, std::size_t count, int type, int, int root, Comm comm,
               Stream stream) {
  return collective(Kind::reduce, {source, destination, 0, root}, count, type, comm, stream);
}
int ncclReduceScatter(const void* source, void* destination, std::size_t count, int type, int, Comm comm,
                      Stream stream) {
  return collective(Kind::reduce_scatter, {source, destination, 0, 0}, count, type, comm, stream);
}
int ncclAllGather(const void* source, void* destination, std::size_t count, int type, Comm comm,
                  Stream stream) {
  return collective(Kind::all_gather, {source, destination, 0, 0}, count, type, comm, stream);
}
int ncclBroadcast(const void* source, void* destination, std::size_t count, int type, int root, Comm comm,
                  Stream stream) {
  return collective(Kind::broadcast, {source, destination, 0, root}, count, type, comm, stream);
}
int ncclSend(const void* data, std::size_t count, int type, int peer, Comm comm, Stream stream) {
  return message(true, data, count, type, peer, comm, stream);
}
int ncclRecv(void* data, std::size_t count, int type, int peer, Comm comm, Stream stream) {
  return message(false, data, count, type, peer, comm, stream);
}

static int in_a_group(const std::function<int()>& body) {
  if (const int failed = ncclGroupStart(); failed != 0) return failed;
  const int failed = body();
  const int ended = ncclGroupEnd();
  return failed != 0 ? failed : ended;
}

// Made of messages, as NCCL 2.28 makes them.
int ncclAlltoAll(const void* source, void* destination, std::size_t count, int type, Comm comm,
                 Stream stream) {
  return in_a_group([&] {
    int failed = 0;
    for (int other = 0; failed == 0 && other < of(comm).comm->size(); ++other) {
      failed = ncclSend(block(source, other, count, type), count, type, other, comm, stream);
      if (failed == 0)
        failed = ncclRecv(block(destination, other, count, type), count, type, other, comm, stream);
    }
    return failed;
  });
}
int ncclGather(const void* source, void* destination, std::size_t count, int type, int root, Comm comm,
               Stream stream) {
  return in_a_group([&] {
    int failed = ncclSend(source, count, type, root, comm, stream);
    for (int other = 0; failed == 0 && of(comm).rank == root && other < of(comm).comm->size(); ++other)
      failed = ncclRecv(block(destination, other, count, type), count, type, other, comm, stream);
    return failed;
  });
}
int ncclScatter(const void* source, void* destination, std::size_t count, int type, int root, Comm comm,
                Stream stream) {
  return in_a_group([&] {
    int failed = 0;
    for (int other = 0; failed == 0 && of(comm).rank == root && other < of(comm).comm->size(); ++other)
      failed = ncclSend(block(source, other, count, type), count, type, other, comm, stream);
    return failed != 0 ? failed : ncclRecv(destination, count, type, root, comm, stream);
  });
}

int ncclMemAlloc(void** data, std::size_t bytes) {
  return memory_call([&](World& world) {
    *data = world.allocate({Place::Kind::gpu, current_gpu()}, sim::Kind::device, bytes);
  });
}
int ncclMemFree(void* data) {
  return memory_call([&](World& world) { world.release(data); });
}
// Registration saves the library a copy through its own buffers, which is not simulated.
int ncclCommRegister(Comm comm, void* data, std::size_t, void** handle) {
  return memory_call([&](World& world) {
    of(comm);
    world.owner_of(data);  // throws for what is no memory
    *handle = data;
  });
}
int ncclCommDeregister(Comm comm, void*) {
  return memory_call([&](World&) { of(comm); });
}

// All ranks register a window at once. Its handle is its number, from 1.
int ncclCommWindowRegister(Comm comm, void* data, std::size_t, Window* window, int) {
  return call([&](Lock& lock, const sim::xccl::Machine&) {
    const RankOfComm& me = of(comm);
    if (World::get().memory().find(data) == nullptr)
      throw Failure(Code::invalid, "a window is no memory of a GPU");
    const std::size_t number = me.comm->register_window(me.rank, data);
    Timeline::of_process().wait_until(
        lock, {[comm = me.comm, number] { return comm->window_complete(number); },
               [] { return std::string("all ranks to register a window of NCCL or RCCL"); }});
    *window = reinterpret_cast<Window>(number + 1);
  });
}
int ncclCommWindowDeregister(Comm comm, Window) { return ncclCommDeregister(comm, nullptr); }

int ncclPutSignal(const void* data, std::size_t count, int type, int peer, Window window, std::size_t offset,
                  int, int, unsigned, Comm comm, Stream stream) {
  return call([&](Lock& lock, sim::xccl::Machine machine) {
    const RankOfComm& me = of(comm);
    const std::uint64_t bytes = bytes_of(count, type);
    const std::size_t number = reinterpret_cast<std::size_t>(window) - 1;
    library().call(lock, machine,
                   {me.comm, stream_of(stream), [machine, me, data, peer, number, offset, bytes]() mutable {
                      return me.comm->put(machine, me.rank, peer, const_cast<void*>(data), number, offset,
                                          bytes);
                    }});
  });
}
int ncclWaitSignal(int descriptions, Table::Signals* signals, Comm comm, Stream stream) {
  return call([&](Lock& lock, sim::xccl::Machine machine) {
    const RankOfComm& me = of(comm);
    for (int k = 0; k < descriptions; ++k)
      library().call(lock, machine, {me.comm, stream_of(stream), [machine, me, of = signals[k]]() mutable {
                                       return me.comm->signals(machine, of.peer, me.rank, of.count);
                                     }});
  });
}

int ncclGroupStart() {
  return call([](Lock&, const sim::xccl::Machine&) { library().begin_group(); });
}
int ncclGroupEnd() {
  return call([](Lock& lock, sim::xccl::Machine machine) { library().end_group(lock, machine); });
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::xccl_api
