// See driver.hpp. Own declarations of the drivers' functions: CUDA driver API 12 and 13, HIP 5 to 7.
#include "watch/allocations/driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

namespace byteways::watch::allocations {
namespace {

using Context = void*;
constexpr unsigned kPortable =
    1;  // CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTALLOC_PORTABLE, hipHostRegisterPortable
constexpr unsigned kAttachGlobal = 1;  // CU_MEM_ATTACH_GLOBAL, hipMemAttachGlobal
constexpr int kRelaxed = 2;            // CU_STREAM_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed

struct Driver {
  int (*device_count)(int*) = nullptr;
  int (*primary_state)(int, unsigned*, int*) = nullptr;
  int (*retain)(Context*, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*current)(Context*) = nullptr;
  int (*push)(Context) = nullptr;
  int (*pop)(Context*) = nullptr;
  int (*host_register)(void*, std::size_t, unsigned) = nullptr;
  int (*host_unregister)(void*) = nullptr;
  int (*host_allocate)(void**, std::size_t, unsigned) = nullptr;
  int (*host_free)(void*) = nullptr;
  int (*allocate_managed)(void**, std::size_t, unsigned) = nullptr;
  int (*free_device)(void*) = nullptr;
  int (*exchange_capture_mode)(int*) = nullptr;  // null: of before CUDA 10.1
};

struct Names {
  const char *library, *device_count, *primary_state, *retain, *release, *current, *push, *pop,
      *host_register, *host_unregister, *host_allocate, *host_free, *allocate_managed, *free_device,
      *exchange_capture_mode;
};
constexpr Names kDrivers[] = {
    {"libcuda.so.1", "cuDeviceGetCount", "cuDevicePrimaryCtxGetState", "cuDevicePrimaryCtxRetain",
     "cuDevicePrimaryCtxRelease_v2", "cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
     "cuMemHostRegister_v2", "cuMemHostUnregister", "cuMemHostAlloc", "cuMemFreeHost", "cuMemAllocManaged",
     "cuMemFree_v2", "cuThreadExchangeStreamCaptureMode"},
    {"libamdhip64.so", "hipGetDeviceCount", "hipDevicePrimaryCtxGetState", "hipDevicePrimaryCtxRetain",
     "hipDevicePrimaryCtxRelease", "hipCtxGetCurrent", "hipCtxPushCurrent", "hipCtxPopCurrent",
     "hipHostRegister", "hipHostUnregister", "hipHostMalloc", "hipHostFree", "hipMallocManaged", "hipFree",
     "hipThreadExchangeStreamCaptureMode"},
};
// Further file names of the second library: programs open the one with their version.
constexpr const char* kFurtherFiles[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

constinit Driver driver{};
constinit std::atomic<bool> is_complete{false};

void* loaded(const Names& names) {
  if (void* library = dlopen(names.library, RTLD_LAZY | RTLD_NOLOAD)) return library;
  if (&names != &kDrivers[1]) return nullptr;
  for (const char* file : kFurtherFiles)
    if (void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD)) return library;
  return nullptr;
}

template <class Function>
bool resolve(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool complete(void* library, const Names& names, Driver& found) {
  return resolve(library, names.device_count, found.device_count) &&
         resolve(library, names.primary_state, found.primary_state) &&
         resolve(library, names.retain, found.retain) && resolve(library, names.release, found.release) &&
         resolve(library, names.current, found.current) && resolve(library, names.push, found.push) &&
         resolve(library, names.pop, found.pop) &&
         resolve(library, names.host_register, found.host_register) &&
         resolve(library, names.host_unregister, found.host_unregister) &&
         resolve(library, names.host_allocate, found.host_allocate) &&
         resolve(library, names.host_free, found.host_free) &&
         resolve(library, names.allocate_managed, found.allocate_managed) &&
         resolve(library, names.free_device, found.free_device);
}

// The device whose primary context is active; -1 without one.
int active_device() {
  int count = 0;
  if (driver.device_count(&count) != 0) return -1;
  for (int device = 0; device < count; ++device) {
    unsigned flags = 0;
    int active = 0;
    if (driver.primary_state(device, &flags, &active) == 0 && active != 0) return device;
  }
  return -1;
}

// Makes a context current for this thread while it lives: its own, or else an active primary one.
class Current {
 public:
  Current() {
    Context context = nullptr;
    if (!is_complete.load(std::memory_order_acquire)) return;
    // In another mode a capture that this thread or any other has begun would become invalid by what follows.
    if (driver.exchange_capture_mode != nullptr) is_exchanged_ = driver.exchange_capture_mode(&mode_) == 0;
    if (driver.current(&context) == 0 && context != nullptr) {
      is_there_ = true;
      return;
    }
    device_ = active_device();
    if (device_ < 0 || driver.retain(&context, device_) != 0) {
      device_ = -1;
      return;
    }
    is_there_ = driver.push(context) == 0;
  }
  ~Current() {
    if (device_ >= 0) {
      Context context = nullptr;
      if (is_there_) driver.pop(&context);
      driver.release(device_);
    }
    if (is_exchanged_) driver.exchange_capture_mode(&mode_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  bool is_there() const { return is_there_; }

 private:
  int device_ = -1, mode_ = kRelaxed;
  bool is_there_ = false, is_exchanged_ = false;
};

}  // namespace

// The library stays open: the program loaded it and may keep memory of it to its end.
void look_for_driver() noexcept {
  if (is_complete.load(std::memory_order_relaxed)) return;
  for (const Names& names : kDrivers) {
    void* library = loaded(names);
    Driver found;
    if (library == nullptr || !complete(library, names, found)) continue;
    resolve(library, names.exchange_capture_mode, found.exchange_capture_mode);
    driver = found;
    is_complete.store(true, std::memory_order_release);
    return;
  }
}

bool has_context() noexcept { return Current().is_there(); }

bool register_pages(void* begin, std::size_t bytes) noexcept {
  const Current current;
  return current.is_there() && driver.host_register(begin, bytes, kPortable) == 0;
}

void unregister_pages(void* begin) noexcept {
  const Current current;
  if (current.is_there()) driver.host_unregister(begin);
}

void* pinned(std::size_t bytes) noexcept {
  const Current current;
  void* begin = nullptr;
  return current.is_there() && driver.host_allocate(&begin, bytes, kPortable) == 0 ? begin : nullptr;
}

void free_pinned(void* begin) noexcept {
  const Current current;
  if (current.is_there()) driver.host_free(begin);
}

void* managed(std::size_t bytes) noexcept {
  const Current current;
  void* begin = nullptr;
  return current.is_there() && driver.allocate_managed(&begin, bytes, kAttachGlobal) == 0 ? begin : nullptr;
}

void free_managed(void* begin) noexcept {
  const Current current;
  if (current.is_there()) driver.free_device(begin);
}

}  // namespace byteways::watch::allocations
