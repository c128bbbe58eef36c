// The CUDA driver's entry points on the simulated machine: every row of runtimes/cuda/cuda.def.
//
// A device is its ordinal among the visible ones; a context is an opaque pointer. What both vendors have in
// common: gpu_twins.inc.
#include "simulator/vendors/cuda.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "runtimes/gpu/memory_types.hpp"
#include "simulator/engine/thread_state.hpp"
#include "simulator/engine/timeline.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/kernels.hpp"

namespace byteways::sim::cuda_api {

using cuda::CudaTable;

namespace {

struct Visible {
  std::mutex mutex;
  std::atomic<bool> initialised{false};
  std::vector<int> gpus;                   // by ordinal; read from the environment at the first cuInit
  std::atomic<std::uint64_t> retained{0};  // GPUs whose primary context is in use, a bit each
  std::array<std::atomic<std::uint64_t>, 64> resets{};  // of each GPU when its context was retained last
};
Visible& visible() {
  static Visible state;
  return state;
}

World& world() {
  require(visible().initialised, code::kNotInitialized);
  return world_of("nvidia");
}

int gpu_of(Device device) {
  const std::vector<int>& gpus = visible().gpus;
  require(device >= 0 && device < static_cast<int>(gpus.size()), code::kInvalidDevice);
  return gpus[static_cast<std::size_t>(device)];
}

int current_gpu() {
  require(this_thread().cuda_gpu >= 0, code::kInvalidContext);
  return this_thread().cuda_gpu;
}

// A context is the number of its GPU, counted from 1: one per GPU, without state.
Context context_of(int gpu) { return reinterpret_cast<Context>(static_cast<std::uintptr_t>(gpu) + 1); }
int gpu_of(Context context) {
  const auto number = reinterpret_cast<std::uintptr_t>(context);
  const std::vector<int>& gpus = visible().gpus;
  const int gpu = static_cast<int>(number) - 1;
  require(std::find(gpus.begin(), gpus.end(), gpu) != gpus.end(), code::kInvalidContext);
  return gpu;
}

// What a call answers; the driver keeps none of it.
int told(int code) { return code; }

// 90 for "sm_90".
int capability(const Model& model) {
  constexpr std::size_t kPrefix = 3;
  return model.gpu.architecture.starts_with("sm_") ? std::atoi(model.gpu.architecture.c_str() + kPrefix) : 0;
}

// CUDA C++ programming guide, technical specifications by compute capability.
std::size_t shared_bytes_of(const Model& model) {
  switch (capability(model)) {
    case 86:
    case 89:
    case 120:
      return 99 << 10;
    case 80:
    case 87:
      return 163 << 10;
    default:
      return 227 << 10;
  }
}

int attribute_of(const Model& model, int attribute) {
  switch (attribute) {
    case CudaTable::kDeviceNumaConfig:
      return model.gpu_domains ? CudaTable::kNumaNode : 0;
    case CudaTable::kDeviceMultiprocessors:
      return model.gpu.multiprocessors;
    case CudaTable::kDeviceMemoryClockKhz:
      return static_cast<int>(model.gpu.memory_bytes_per_s / (2e3 * kMemoryBusBytes));
    case CudaTable::kDeviceMemoryBusBits:
      return 8 * kMemoryBusBytes;
    case CudaTable::kDeviceL2Bytes:
      return static_cast<int>(model.gpu.cache_bytes);
    case CudaTable::kDeviceCopyEngines:
      return model.gpu.copy_engines;
    case CudaTable::kDeviceCapabilityMajor:
      return capability(model) / 10;
    case CudaTable::kDeviceCapabilityMinor:
      return capability(model) % 10;
    case CudaTable::kDeviceManagedMemory:
    case CudaTable::kDeviceConcurrentManaged:
      return model.managed_memory ? 1 : 0;
    case CudaTable::kDevicePageableAccess:
      return model.pageable_access ? 1 : 0;
    case CudaTable::kDeviceHostPointerForRegistered:
    case CudaTable::kDeviceMapsMemory:
    case CudaTable::kDeviceHasPools:
      return 1;
    case CudaTable::kDeviceSharedBytesOptIn:
      return static_cast<int>(shared_bytes_of(model));
    default:
      throw Refusal{code::kInvalidValue};
  }
}

// CU_POINTER_ATTRIBUTE_*
constexpr int kPointerMemoryType = 2, kPointerDeviceAddress = 3, kPointerBufferId = 7, kPointerIsManaged = 8,
              kPointerDeviceOrdinal = 9, kPointerIsLegacyIpc = 10, kPointerRangeStart = 11,
              kPointerRangeBytes = 12;

int word_of(int number, const char** to, const char* ErrorWords::* column) {
  const ErrorWords* words = error_words(number);
  if (to == nullptr || words == nullptr) return code::kInvalidValue;
  *to = words->*column;
  return 0;
}

}  // namespace

World& Cuda::world() { return cuda_api::world(); }
std::size_t Cuda::shared_bytes() { return shared_bytes_of(cuda_api::world().model()); }
int Cuda::current_gpu() { return cuda_api::current_gpu(); }
const std::vector<int>& Cuda::gpus() { return visible().gpus; }
int Cuda::gpu_of(int device) {
  world();
  return cuda_api::gpu_of(device);
}

int Cuda::gpu_of(Context context) {
  world();
  return cuda_api::gpu_of(context);
}

using Vendor = Cuda;
#define BYTEWAYS_TWIN(cuda, hip) cuda
#define BYTEWAYS_TRACED(name)
#include "simulator/vendors/gpu_twins.inc"

namespace {

// Only whether kernels access pages remotely matters here: with preferred location and accessor, pages stay.
int advise(const void* data, int advice) {
  return answer([&] {
    require(data != nullptr && advice >= Table::kPreferredLocation && advice <= Table::kNotAccessedBy,
            code::kInvalidValue);
    world().hold(data, advice == Table::kPreferredLocation || advice == Table::kAccessedBy);
  });
}

Place place_of(const Location& location) {
  if (location.type == Table::kLocationDevice) return gpu_place(Vendor::gpu_of(Device{location.id}));
  if (location.type == Table::kLocationHost) return host_place();
  require(location.type == Table::kLocationHostDomain && location.id >= 0 &&
              location.id < world().model().cpu.domains,
          code::kInvalidValue);
  return {Place::Kind::cpu, location.id};
}

void prefetch(void* data, std::size_t bytes, Place to, Stream stream) {
  world().prefetch(data, bytes, to, stream_of(stream));
}

}  // namespace

extern "C" {

int cuInit(unsigned flags) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    const Model& model = world_of("nvidia").model();
    Visible& state = visible();
    const std::lock_guard lock(state.mutex);
    if (state.initialised) return;
    std::vector<int> gpus(static_cast<std::size_t>(model.gpu.count));
    std::iota(gpus.begin(), gpus.end(), 0);
    if (const char* list = std::getenv("CUDA_VISIBLE_DEVICES"))
      gpus = choose_visible(gpus, list, [&](int gpu) { return nvidia_uuid_text(model, gpu); });
    require(!gpus.empty(), code::kNoDevice);
    state.gpus = std::move(gpus);
    state.initialised = true;
  });
}

int cuDriverGetVersion(int* version) {
  return answer([&] { give(version, world_of("nvidia").model().runtime_version); });
}

int cuGetErrorName(int number, const char** name) { return word_of(number, name, &ErrorWords::cuda); }

int cuGetErrorString(int number, const char** text) {
  const int failed = word_of(number, text, &ErrorWords::cuda_text);
  if (failed == 0) *text = text_of(number, *text);
  return failed;
}

int cuDeviceGetCount(int* count) {
  return answer([&] {
    world();
    give(count, static_cast<int>(visible().gpus.size()));
  });
}

int cuDeviceGet(Device* device, int ordinal) {
  return answer([&] {
    world();
    gpu_of(ordinal);
    give(device, ordinal);
  });
}

int cuDeviceGetUuid(Uuid* uuid, Device device) {
  return answer([&] {
    const sim::Uuid found = nvidia_uuid(world().model(), gpu_of(device));
    require(uuid != nullptr, code::kInvalidValue);
    std::copy(std::begin(found.bytes), std::end(found.bytes), uuid->bytes);
  });
}

int cuDeviceGetUuid_v2(Uuid* uuid, Device device) {  // equal for both versions: no GPU here is divided
  return answer([&] {
    const sim::Uuid found = nvidia_uuid(world().model(), gpu_of(device));
    require(uuid != nullptr, code::kInvalidValue);
    std::copy(std::begin(found.bytes), std::end(found.bytes), uuid->bytes);
  });
}

int cuDeviceGetPCIBusId(char* address, int room, Device device) {
  return answer([&] {
    const Model& model = world().model();
    std::string text = model.gpu.pci_addresses.at(static_cast<std::size_t>(gpu_of(device)));
    for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    write_text(text, address, static_cast<std::size_t>(std::max(0, room)));
  });
}

int cuDeviceGetAttribute(int* value, int attribute, Device device) {
  return answer([&] {
    const Model& model = world().model();
    const int gpu = gpu_of(device);
    give(value,
         attribute == CudaTable::kDeviceNumaId ? model.memory_domain(gpu) : attribute_of(model, attribute));
  });
}

int cuDevicePrimaryCtxRetain(Context* context, Device device) {
  return answer([&] {
    world();
    give(context, context_of(gpu_of(device)));
    visible().retained |= std::uint64_t{1} << gpu_of(device);
    visible().resets[static_cast<std::size_t>(gpu_of(device))] = world().resets(gpu_of(device));
  });
}

int cuDevicePrimaryCtxGetState(Device device, unsigned* flags, int* active) {
  return answer([&] {
    world();
    give(flags, 0u);
    const int gpu = gpu_of(device);
    const bool current = visible().resets[static_cast<std::size_t>(gpu)] == world().resets(gpu);
    give(active, static_cast<int>(visible().retained >> gpu & 1) * (current ? 1 : 0));
  });
}

// Of a context that was reset and not retained since then there is none.
int cuCtxGetId(Context context, unsigned long long* identity) {
  return answer([&] {
    world();
    const int gpu = context == nullptr ? current_gpu() : gpu_of(context);
    const std::uint64_t resets = world().resets(gpu);
    require((visible().retained >> gpu & 1) != 0 && visible().resets[static_cast<std::size_t>(gpu)] == resets,
            code::kContextDestroyed);
    give(identity, 64ull * resets + static_cast<unsigned>(gpu) + 1);
  });
}

int cuCtxSetCurrent(Context context) {
  return answer([&] {
    world();
    this_thread().cuda_gpu = context == nullptr ? -1 : gpu_of(context);
  });
}

int cuCtxGetCurrent(Context* context) {
  return answer([&] {
    const int gpu = this_thread().cuda_gpu;
    give(context, gpu < 0 ? nullptr : context_of(gpu));
  });
}

int cuCtxGetDevice(Device* device) {
  return answer([&] { give(device, device_of(gpu_place(current_gpu()))); });
}

int cuStreamGetCtx(Stream stream, Context* context) {
  return answer([&] { give(context, context_of(stream_of(stream)->place.index)); });
}

int cuCtxEnablePeerAccess(Context peer, unsigned flags) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    world().enable_peer(current_gpu(), gpu_of(peer));
  });
}

int cuCtxDisablePeerAccess(Context peer) {
  return answer([&] { world().disable_peer(current_gpu(), gpu_of(peer)); });
}

// --- memory

int cuMemHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  return answer([&] {
    require(data != nullptr && bytes != 0, code::kInvalidValue);
    const bool combined = (flags & Table::kHostWriteCombined) != 0;
    *data = world().allocate(host_place(), combined ? Kind::write_combined : Kind::pinned, bytes);
  });
}

int cuMemFreeHost(void* data) {
  return data == nullptr ? forget_sentence(code::kInvalidValue) : free_memory(data);
}

int cuMemPrefetchAsync(void* data, std::size_t bytes, Device device, Stream stream) {
  return answer([&] {
    prefetch(data, bytes, device == Table::kHostDevice ? host_place() : gpu_place(Vendor::gpu_of(device)),
             stream);
  });
}

int cuMemPrefetchAsync_v2(void* data, std::size_t bytes, Location to, unsigned flags, Stream stream) {
  return answer([&] {
    require(flags == 0, code::kInvalidValue);
    prefetch(data, bytes, place_of(to), stream);
  });
}

int cuMemAdvise(void* data, std::size_t, int advice, Device) { return advise(data, advice); }

int cuMemAdvise_v2(void* data, std::size_t, int advice, Location) { return advise(data, advice); }

int cuPointerGetAttributes(unsigned count, int* attributes, void** values, const void* data) {
  return answer([&] {
    require(count != 0 && attributes != nullptr && values != nullptr, code::kInvalidValue);
    const std::optional<World::Extent> extent = world().extent_of(data);
    const bool known = extent && !is_plain(extent->kind);
    for (unsigned k = 0; k < count; ++k) {
      switch (attributes[k]) {
        case kPointerMemoryType:
          *static_cast<unsigned*>(values[k]) = !known ? 0 : is_device(extent->kind) ? 2 : 1;
          break;
        case kPointerIsManaged:
          *static_cast<int*>(values[k]) = known && is_managed(extent->kind) ? 1 : 0;
          break;
        case kPointerDeviceOrdinal:
          *static_cast<int*>(values[k]) = known && is_device(extent->kind) ? device_of(extent->owner) : 0;
          break;
        case kPointerIsLegacyIpc:
          *static_cast<int*>(values[k]) =
              known && is_device(extent->kind) && !needs_grant(extent->kind) ? 1 : 0;
          break;
        case kPointerRangeStart:
          *static_cast<const void**>(values[k]) = known ? extent->data : nullptr;
          break;
        case kPointerRangeBytes:
          *static_cast<std::size_t*>(values[k]) = known ? extent->bytes : 0;
          break;
        case kPointerBufferId:
          *static_cast<unsigned long long*>(values[k]) = known ? extent->number : 0;
          break;
        case kPointerDeviceAddress:
          *static_cast<const void**>(values[k]) = known ? data : nullptr;
          break;
        default:
          throw Refusal{code::kInvalidValue};
      }
    }
  });
}

// Another process simulates a separate machine, so handles work only between ranks of this one.
int cuIpcOpenMemHandle_v2(void** data, Handle handle, unsigned flags) {
  if (flags != Table::kOpenWithPeerAccess) return code::kInvalidValue;
  return open_handle(data, handle);
}

// --- copies and kernels

int cuMemcpyAsync(void* destination, const void* source, std::size_t bytes, Stream stream) {
  return answer([&] {
    require(destination != nullptr && source != nullptr, code::kInvalidValue);
    if (bytes != 0) world().copy(destination, source, bytes, stream_of(stream), CopyPolicy{});
  });
}

int cuMemcpy(void* destination, const void* source, std::size_t bytes) {
  return answer([&] { copy_blocking(destination, source, bytes); });
}

int cuMemcpy2DAsync_v2(const Table::RowsCopy* rows, Stream stream) {
  return answer([&] {
    require(rows != nullptr, code::kInvalidValue);
    const auto address = [](const Table::RowsSide& side) {
      require(side.x == 0 && side.y == 0 && side.array == nullptr, code::kNotSupported);
      require(side.kind == Table::kMemoryHost || side.kind == Table::kMemoryUnified, code::kInvalidValue);
      const void* data = side.kind == Table::kMemoryHost ? side.host : side.device;
      require(data != nullptr, code::kInvalidValue);
      return data;
    };
    world().copy_rows(const_cast<void*>(address(rows->destination)), rows->destination.pitch,
                      address(rows->source), rows->source.pitch, rows->width_bytes, rows->rows,
                      stream_of(stream), CopyPolicy{});
  });
}

int cuMemcpyBatchAsync_v2(void** to, const void** from, const std::size_t* sizes, std::size_t count,
                          BatchAttributes*, std::size_t*, std::size_t, Stream stream) {
  return copy_batch(to, from, sizes, count, stream, CopyPolicy{});
}

int cuMemcpyBatchAsync(void** to, const void** from, const std::size_t* sizes, std::size_t count,
                       BatchAttributes*, std::size_t*, std::size_t, std::size_t*, Stream stream) {
  return copy_batch(to, from, sizes, count, stream, CopyPolicy{});
}

int cuFuncLoad(Kernel kernel) {
  return answer([&] { kernel_of(kernel); });
}

int cuFuncSetAttribute(Kernel kernel, int attribute, int value) {
  return answer([&] {
    require(attribute == Table::kKernelMaxDynamicSharedBytes && value >= 0 &&
                static_cast<std::size_t>(value) <= Cuda::shared_bytes(),
            code::kInvalidValue);
    kernel_of(kernel).most_shared_bytes = static_cast<std::size_t>(value);
  });
}

}  // extern "C"

#include "simulator/vendors/entry_points_kept.inc"

}  // namespace byteways::sim::cuda_api
