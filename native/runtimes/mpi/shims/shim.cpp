// The table of table.hpp over one ABI of MPI, whose types and constants BYTEWAYS_MPI_ABI brings. Built once
// for each ABI and linked with none: the library that was opened for all to see resolves the functions when
// the shim is loaded.
#include BYTEWAYS_MPI_ABI

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtimes/mpi/shims/elements.hpp"
#include "runtimes/mpi/shims/own_codes.hpp"
#include "runtimes/mpi/table.hpp"

namespace {

namespace own = byteways::mpi;
using own::with_elements;
using own::with_summands;

MPI_Comm own_world = abi::kNoComm;  // a copy, so that no message of others is taken for one of byteways
bool started_here = false;
// Open MPI 4.1 never returns from MPI_Waitall once a request has failed (seen in 4.1.4, with messages that
// were too long); from MPI_Wait it does. Several requests are waited for together all the same: that is what
// programs do and what is timed.
bool wait_singly = false;

template <class Handle>
std::uint64_t number_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<std::uintptr_t>(handle);
  else
    return static_cast<std::uint32_t>(handle);
}

template <class Handle>
Handle handle_of(std::uint64_t number) {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(number));
  else
    return static_cast<Handle>(static_cast<std::uint32_t>(number));
}

MPI_Comm comm_of(BytewaysComm number) { return handle_of<MPI_Comm>(number); }

int give_text(std::string_view from, char* text, int room) {
  if (room < 1) return 0;
  const std::size_t length = std::min(from.size(), static_cast<std::size_t>(room - 1));
  std::memcpy(text, from.data(), length);
  text[length] = '\0';
  return 0;
}

const void* in_place_or(const void* source) { return source == nullptr ? abi::kInPlace : source; }

// ---- Start, end and words

int library_version(char* text, int room) {
  std::vector<char> version(abi::kVersionRoom + 1, '\0');
  int length = 0;
  const int error = MPI_Get_library_version(version.data(), &length);
  return error != 0 ? error : give_text(version.data(), text, room);
}

int init(int thread_level) {
  int started = 0, ended = 0, level = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (ended != 0) return own::kWasFinalized;
  int error = 0;
  if (started == 0) {
    const int wanted = abi::kThreadLevels[thread_level];
    error = MPI_Init_thread(nullptr, nullptr, wanted, &level);
    started_here = error == 0;
    if (error == 0 && level < wanted) return own::kTooFewThreads;
    // A failure that belongs to no communicator of ours, as of several requests, goes to one of these two.
    // Their handler of the start ends the process. Whoever else started MPI chose handlers for it.
    for (const MPI_Comm comm : {abi::kWorld, abi::kSelf})
      if (error == 0) error = MPI_Comm_set_errhandler(comm, abi::kErrorsReturn);
  }
  char version[64] = "";
  library_version(version, sizeof version);
  wait_singly = std::string_view(version).starts_with("Open MPI v4");
  if (error == 0 && own_world == abi::kNoComm) error = MPI_Comm_dup(abi::kWorld, &own_world);
  return error != 0 ? error : MPI_Comm_set_errhandler(own_world, abi::kErrorsReturn);
}

int finalize() {
  int error = own_world == abi::kNoComm ? 0 : MPI_Comm_free(&own_world);
  own_world = abi::kNoComm;
  if (started_here) error = std::max(error, MPI_Finalize());
  started_here = false;
  return error;
}

int abort_all(int code) { return MPI_Abort(abi::kWorld, code); }

int describe(int error, char* text, int room) {
  switch (error) {
    case own::kNoSuchElement:
      return give_text("elements of this kind cannot be sent", text, room);
    case own::kBadCount:
      return give_text("no message has this many elements", text, room);
    case own::kReductionTooLarge:
      return give_text("MPI reduces at most 2147483647 elements at a time", text, room);
    case own::kWasFinalized:
      return give_text("MPI was finalized in this process and cannot start again", text, room);
    case own::kTooFewThreads:
      return give_text("MPI offers no such thread level", text, room);
    default:
      break;
  }
  std::vector<char> words(abi::kErrorRoom + 1, '\0');
  int length = 0;
  const int failed = MPI_Error_string(error, words.data(), &length);
  return failed != 0 ? failed : give_text(words.data(), text, room);
}

// ---- Device memory

template <class Function>
Function* optional_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

// By the extension functions of MPICH and Open MPI.
int extension_support(std::string_view vendor) {
  const bool cuda = vendor == "cuda";
  for (const char* name : {cuda ? "MPIX_Query_cuda_support" : "MPIX_Query_rocm_support",
                           cuda ? "MPIX_Query_cuda_support" : "MPIX_Query_hip_support"})
    if (auto* query = optional_function<int()>(name)) return query() != 0 ? kYes : kNo;
  if (auto* query = optional_function<int(int, int*)>("MPIX_GPU_query_support")) {
    int supported = 0;
    if (query(cuda ? 0 : 2, &supported) == 0) return supported != 0 ? kYes : kNo;
  }
  return kUnknown;
}

// By the key mpi_memory_alloc_kinds (MPI 4.1, 11.4.3): "system,mpi,cuda:device,rocm".
int info_support(std::string_view vendor) {
  auto* get = optional_function<int(MPI_Info, const char*, int*, char*, int*)>("MPI_Info_get_string");
  MPI_Info info = abi::kNoInfo;
  if (get == nullptr || MPI_Comm_get_info(own_world, &info) != 0) return kUnknown;
  char value[1024] = "";
  int room = sizeof value, there = 0;
  const int error = get(info, "mpi_memory_alloc_kinds", &room, value, &there);
  MPI_Info_free(&info);
  if (error != 0 || there == 0) return kUnknown;
  const std::string_view kinds = value, wanted = vendor == "cuda" ? "cuda" : "rocm";
  for (std::size_t at = 0; at < kinds.size(); at = std::min(kinds.find(',', at), kinds.size() - 1) + 1) {
    const std::string_view kind = kinds.substr(at, kinds.find(',', at) - at);
    if (kind.substr(0, kind.find(':')) == wanted) return kYes;
  }
  return kNo;
}

int device_support(const char* vendor, int* support) {
  *support = extension_support(vendor);
  if (*support == kUnknown) *support = info_support(vendor);
  return 0;
}

// ---- Communicators

BytewaysComm world() { return own_world == abi::kNoComm ? 0 : number_of(own_world); }
BytewaysComm plain_world() { return started_here ? number_of(abi::kWorld) : 0; }
int rank_in(BytewaysComm comm, int* rank) { return MPI_Comm_rank(comm_of(comm), rank); }
int size_of(BytewaysComm comm, int* size) { return MPI_Comm_size(comm_of(comm), size); }

int give_part(int error, MPI_Comm made, BytewaysComm* part) {
  *part = 0;
  if (error != 0 || made == abi::kNoComm) return error;
  *part = number_of(made);
  return MPI_Comm_set_errhandler(made, abi::kErrorsReturn);
}

int split(BytewaysComm comm, int color, int key, BytewaysComm* part) {
  MPI_Comm made = abi::kNoComm;
  const int error = MPI_Comm_split(comm_of(comm), color == -1 ? abi::kUndefined : color, key, &made);
  return give_part(error, made, part);
}

int split_by_host(BytewaysComm comm, BytewaysComm* part) {
  MPI_Comm made = abi::kNoComm;
  const int error = MPI_Comm_split_type(comm_of(comm), abi::kSharedMemory, 0, abi::kNoInfo, &made);
  return give_part(error, made, part);
}

int free_comm(BytewaysComm comm) {
  MPI_Comm gone = comm_of(comm);
  return MPI_Comm_free(&gone);
}

// ---- Messages between two ranks

int send(const void* data, std::int64_t count, int element, int to, int tag, BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, int rank, int mark,
                            MPI_Comm in) { return MPI_Send(from, number, type, rank, mark, in); };
  return with_elements(kCall, count, element, data, to, tag, comm_of(comm));
}

int receive(void* data, std::int64_t count, int element, int from, int tag, BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, void* to, int rank, int mark, MPI_Comm in) {
    return MPI_Recv(to, number, type, rank, mark, in, abi::kIgnoreStatus);
  };
  return with_elements(kCall, count, element, data, from, tag, comm_of(comm));
}

int start_send(const void* data, std::int64_t count, int element, int to, int tag, BytewaysComm comm,
               void* request) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, int rank, int mark, MPI_Comm in,
                            void* made) {
    return MPI_Isend(from, number, type, rank, mark, in, static_cast<MPI_Request*>(made));
  };
  return with_elements(kCall, count, element, data, to, tag, comm_of(comm), request);
}

int start_receive(void* data, std::int64_t count, int element, int from, int tag, BytewaysComm comm,
                  void* request) {
  constexpr auto kCall = [](int number, MPI_Datatype type, void* to, int rank, int mark, MPI_Comm in,
                            void* made) {
    return MPI_Irecv(to, number, type, rank, mark, in, static_cast<MPI_Request*>(made));
  };
  return with_elements(kCall, count, element, data, from, tag, comm_of(comm), request);
}

// Calls `act` with room for statuses, and returns the first failure of a request by its own code: "look into
// the statuses" says nothing. Without statuses MPICH 5.0 and Open MPI 5.0 answer that all is well when a
// message was too long.
template <class Act>
int with_statuses(int count, const Act& act) {
  constexpr int kUsual = 64;  // without an allocation between a clock's two readings
  MPI_Status few[kUsual];
  std::vector<MPI_Status> many(count > kUsual ? static_cast<std::size_t>(count) : 0);
  MPI_Status* const statuses = count > kUsual ? many.data() : few;
  const int error = act(statuses);
  if (error != abi::kErrorInStatus) return error;
  const auto own = [](const MPI_Status& status) {
    return status.MPI_ERROR != 0 && status.MPI_ERROR != abi::kErrorPending;
  };
  const MPI_Status* failed = std::find_if(statuses, statuses + count, own);
  return failed == statuses + count ? error : failed->MPI_ERROR;
}

int wait_all(int count, void* requests) {
  auto* const own = static_cast<MPI_Request*>(requests);
  if (wait_singly && count == 1) return MPI_Wait(own, abi::kIgnoreStatus);
  return with_statuses(count, [=](MPI_Status* statuses) { return MPI_Waitall(count, own, statuses); });
}

int test_all(int count, void* requests, int* done) {
  auto* const own = static_cast<MPI_Request*>(requests);
  return with_statuses(count, [=](MPI_Status* statuses) { return MPI_Testall(count, own, done, statuses); });
}

int unfinished(int count, void* requests) {
  auto* const own = static_cast<MPI_Request*>(requests);
  return static_cast<int>(std::remove(own, own + count, abi::kNoRequest) - own);
}

// ---- Collectives

int barrier(BytewaysComm comm) { return MPI_Barrier(comm_of(comm)); }

int broadcast(void* data, std::int64_t count, int element, int root, BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, void* all, int first, MPI_Comm in) {
    return MPI_Bcast(all, number, type, first, in);
  };
  return with_elements(kCall, count, element, data, root, comm_of(comm));
}

int reduce(const void* source, void* destination, std::int64_t count, int element, int root,
           BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, void* to, int last,
                            MPI_Comm in) { return MPI_Reduce(from, to, number, type, abi::kSum, last, in); };
  return with_summands(kCall, count, element, in_place_or(source), destination, root, comm_of(comm));
}

int allreduce(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, void* to, MPI_Comm in) {
    return MPI_Allreduce(from, to, number, type, abi::kSum, in);
  };
  return with_summands(kCall, count, element, in_place_or(source), destination, comm_of(comm));
}

int reduce_scatter(const void* source, void* destination, std::int64_t count, int element,
                   BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, void* to, MPI_Comm in) {
    return MPI_Reduce_scatter_block(from, to, number, type, abi::kSum, in);
  };
  return with_summands(kCall, count, element, in_place_or(source), destination, comm_of(comm));
}

int allgather(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, void* to, MPI_Comm in) {
    return MPI_Allgather(from, number, type, to, number, type, in);
  };
  return with_elements(kCall, count, element, in_place_or(source), destination, comm_of(comm));
}

int gather(const void* source, void* destination, std::int64_t count, int element, int root,
           BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, void* to, int last,
                            MPI_Comm in) {
    return MPI_Gather(from, number, type, to, number, type, last, in);
  };
  return with_elements(kCall, count, element, in_place_or(source), destination, root, comm_of(comm));
}

// In place, the root's own block stays where it is: its destination is none.
int scatter(const void* source, void* destination, std::int64_t count, int element, int root,
            BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, void* to, int first,
                            MPI_Comm in) {
    return MPI_Scatter(from, number, type, to, number, type, first, in);
  };
  return with_elements(kCall, count, element, source, destination == nullptr ? abi::kInPlace : destination,
                       root, comm_of(comm));
}

int alltoall(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, void* to, MPI_Comm in) {
    return MPI_Alltoall(from, number, type, to, number, type, in);
  };
  return with_elements(kCall, count, element, in_place_or(source), destination, comm_of(comm));
}

// ---- One-sided

int create_window(void* memory, std::int64_t bytes, BytewaysComm comm, BytewaysWindow* window) {
  MPI_Win made;
  const int error =
      MPI_Win_create(memory, static_cast<MPI_Aint>(bytes), 1, abi::kNoInfo, comm_of(comm), &made);
  if (error != 0) return error;
  *window = number_of(made);
  return MPI_Win_set_errhandler(made, abi::kErrorsReturn);
}

int free_window(BytewaysWindow window) {
  auto gone = handle_of<MPI_Win>(window);
  return MPI_Win_free(&gone);
}

int put(const void* data, std::int64_t count, int element, int to, std::int64_t offset,
        BytewaysWindow window) {
  constexpr auto kCall = [](int number, MPI_Datatype type, const void* from, int rank, MPI_Aint at,
                            MPI_Win in) { return MPI_Put(from, number, type, rank, at, number, type, in); };
  return with_elements(kCall, count, element, data, to, static_cast<MPI_Aint>(offset),
                       handle_of<MPI_Win>(window));
}

int get(void* data, std::int64_t count, int element, int from, std::int64_t offset, BytewaysWindow window) {
  constexpr auto kCall = [](int number, MPI_Datatype type, void* to, int rank, MPI_Aint at, MPI_Win in) {
    return MPI_Get(to, number, type, rank, at, number, type, in);
  };
  return with_elements(kCall, count, element, data, from, static_cast<MPI_Aint>(offset),
                       handle_of<MPI_Win>(window));
}

int lock_all(BytewaysWindow window) { return MPI_Win_lock_all(0, handle_of<MPI_Win>(window)); }
int unlock_all(BytewaysWindow window) { return MPI_Win_unlock_all(handle_of<MPI_Win>(window)); }
int flush(int rank, BytewaysWindow window) { return MPI_Win_flush(rank, handle_of<MPI_Win>(window)); }
int sync(BytewaysWindow window) { return MPI_Win_sync(handle_of<MPI_Win>(window)); }
int fence(BytewaysWindow window) { return MPI_Win_fence(0, handle_of<MPI_Win>(window)); }

static_assert(sizeof(MPI_Request) <= kMostRequestBytes);

constexpr BytewaysMpi kTable = {
    .version = kMpiTableVersion,
    .request_bytes = sizeof(MPI_Request),
    .init = init,
    .finalize = finalize,
    .abort = abort_all,
    .library_version = library_version,
    .describe = describe,
    .device_support = device_support,
    .world = world,
    .plain_world = plain_world,
    .rank = rank_in,
    .size = size_of,
    .split = split,
    .split_by_host = split_by_host,
    .free_comm = free_comm,
    .send = send,
    .receive = receive,
    .start_send = start_send,
    .start_receive = start_receive,
    .wait_all = wait_all,
    .test_all = test_all,
    .unfinished = unfinished,
    .barrier = barrier,
    .broadcast = broadcast,
    .reduce = reduce,
    .allreduce = allreduce,
    .reduce_scatter = reduce_scatter,
    .allgather = allgather,
    .gather = gather,
    .scatter = scatter,
    .alltoall = alltoall,
    .create_window = create_window,
    .free_window = free_window,
    .put = put,
    .get = get,
    .lock_all = lock_all,
    .unlock_all = unlock_all,
    .flush = flush,
    .sync = sync,
    .fence = fence,
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const BytewaysMpi* byteways_mpi_table() { return &kTable; }
