// The CUDA driver for the copy library. See copy_driver.hpp.
#include "runtimes/copy_driver.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtimes/copy_driver_calls.hpp"
#include "runtimes/cuda/driver.hpp"

// PTX, compiled by scripts/write_copy_kernels.py from kernels.cu and interfaces/blocks/bulk.cu
extern const char kernels_image[], bulk_kernels_image[];

namespace byteways::copy_library {
namespace {

using cuda::CudaTable;

// CU_POINTER_ATTRIBUTE_*, CU_MEMORYTYPE_*
constexpr int kMemoryType = 2, kDevicePointer = 3, kBufferId = 7, kIsManaged = 8, kOrdinal = 9,
              kIsLegacyIpc = 10, kRangeStart = 11, kRangeBytes = 12;
constexpr unsigned kTypeHost = 1, kTypeDevice = 2;

class CudaCopies final : public TableDriver<CudaTable> {
 public:
  int open(const Library& library, const std::string& path) {
    LibraryReport report;
    table_.bind(library, report);
    if (!gpu::complete(report) || !table_.pointer_attributes || !table_.stream_context ||
        !table_.get_context || !table_.context_device)
      return 1;
    int number = 0;
    if (const int code = table_.initialize(0)) return code;
    if (const int code = table_.device_count(&gpus)) return code;
    if (gpus == 0 || table_.driver_version(&number) != 0) return 1;
    vendor = "cuda";
    version = std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    release = release_of(path);
    if (release.empty()) release = "-";
    handles_.resize(static_cast<std::size_t>(gpus));
    primaries_ = std::vector<std::atomic<CudaTable::Context>>(handles_.size());
    for (int gpu = 0; gpu < gpus; ++gpu)
      if (const int code = table_.device_get(&handle(gpu), gpu)) return code;
    return 0;
  }

  std::string uuid(int gpu) const override {
    CudaTable::Uuid whole{}, instance{};
    if (table_.device_uuid(&whole, handle(gpu)) != 0) return {};
    instance = whole;
    if (table_.device_uuid_of_instance) table_.device_uuid_of_instance(&instance, handle(gpu));
    std::string text = std::memcmp(&whole, &instance, sizeof whole) == 0 ? "GPU-" : "MIG-";
    for (int i = 0; i < 16; ++i) {
      char byte[4];
      std::snprintf(byte, sizeof byte, "%02x", instance.bytes[i]);
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      text += byte;
    }
    return text;
  }
  std::string pci_address(int gpu) const override {
    char text[64] = "";
    table_.device_pci_address(text, sizeof text, handle(gpu));
    for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return text;
  }
  std::string error_text(int code) const override {
    const char *name = nullptr, *text = nullptr;
    if (table_.get_error_name(code, &name) != 0 || name == nullptr)
      return "CUDA error " + std::to_string(code);
    table_.get_error_string(code, &text);
    return std::string(name) + (text == nullptr ? "" : std::string(": ") + text);
  }

  int copy(void* to, const void* from, std::size_t bytes, Stream stream) const override {
    return table_.copy_async(to, from, bytes, of(stream));
  }
  // The driver refuses its legacy default stream for batches (cuMemcpyBatchAsync).
  bool has_batch(Stream stream) const override {
    return (table_.copy_batch || table_.copy_batch_before_13) &&
           reinterpret_cast<std::uintptr_t>(stream) > kLegacyStream;
  }
  int copy_batch(void** to, const void** from, std::size_t* bytes, std::size_t count,
                 Stream stream) const override {
    CudaTable::BatchAttributes attributes{CudaTable::kOrderOfStream, {0, 0}, {0, 0}, 0};
    std::size_t first = 0, failed = 0;
    if (table_.copy_batch)
      return table_.copy_batch(to, from, bytes, count, &attributes, &first, 1, of(stream));
    return table_.copy_batch_before_13(to, from, bytes, count, &attributes, &first, 1, &failed, of(stream));
  }
  StreamPlace place_of(Stream stream) const override {
    CudaTable::Context context = nullptr;
    if (table_.stream_context(of(stream), &context) != 0 || context == nullptr) return {};
    for (int gpu = 0; gpu < gpus; ++gpu)
      if (primary(gpu) == context) return {gpu, true, false};
    CudaTable::Context before = nullptr;
    CudaTable::Device device = 0;
    if (table_.get_context(&before) != 0 || table_.set_context(context) != 0) return {};
    const int failed = table_.context_device(&device);
    restore(before);
    const int gpu = failed == 0 ? number_of(device) : kUnknown;
    return {gpu, false, gpu >= 0 && primary(gpu) != nullptr};
  }
  Extent extent(const void* data) const override {
    unsigned type = 0;
    int managed = 0, ordinal = 0, legacy = 0;
    void *start = nullptr, *device_pointer = nullptr;
    std::size_t bytes = 0;
    unsigned long long identity = 0;
    int attributes[] = {kMemoryType, kIsManaged,  kOrdinal,       kIsLegacyIpc,
                        kRangeStart, kRangeBytes, kDevicePointer, kBufferId};
    void* values[] = {&type, &managed, &ordinal, &legacy, &start, &bytes, &device_pointer, &identity};
    Extent found{reinterpret_cast<std::uintptr_t>(data), 0, kUnknown, false};
    found.end = found.begin + 1;
    if (table_.pointer_attributes(8, attributes, values, data) != 0) return found;
    found.identity = identity;
    // Kernels use the addresses of the caller: memory whose address on the GPU differs is left to the driver.
    if (managed != 0 || device_pointer != data) return found;
    if (type == kTypeHost) found.place = kHost;
    if (type == kTypeDevice) found.place = ordinal;
    // Of cuMemAlloc: pools and mapped memory are opened to each GPU by themselves.
    found.open_to_peers = type == kTypeDevice && legacy != 0;
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    if (bytes != 0 && first <= found.begin && found.begin - first < bytes) {
      found.begin = first;
      found.end = first + bytes;
    }
    return found;
  }
  std::uint64_t identity(const void* data) const override {
    unsigned long long identity = 0;
    int attribute = kBufferId;
    void* value = &identity;
    return table_.pointer_attributes(1, &attribute, &value, data) == 0 ? identity : 0;
  }

  int current_gpu() const override {
    CudaTable::Context context = nullptr;
    CudaTable::Device device = 0;
    if (table_.get_context(&context) != 0 || context == nullptr || table_.context_device(&device) != 0)
      return kUnknown;
    return number_of(device);
  }
  int enter(int gpu, void** before, bool* changed) const override {
    CudaTable::Context context = nullptr;
    if (const int code = table_.get_context(&context)) return code;
    *before = context;
    *changed = context != primary(gpu);
    return *changed ? table_.set_context(primary(gpu)) : 0;
  }
  // Once more after a failure: the program must find its own context again.
  void restore(void* before) const override {
    const auto context = static_cast<CudaTable::Context>(before);
    if (table_.set_context(context) != 0) table_.set_context(context);
  }

  int retain(int gpu) override {
    if (primary(gpu) != nullptr && is_active(gpu)) return 0;
    CudaTable::Context context = nullptr;
    if (const int code = table_.retain_context(&context, handle(gpu))) return code;
    primaries_[static_cast<std::size_t>(gpu)].store(context, std::memory_order_release);
    return 0;
  }
  std::uint64_t context_identity(int gpu) const override {
    unsigned long long identity = 0;
    const CudaTable::Context context = primary(gpu);
    const bool known =
        table_.context_identity && context != nullptr && table_.context_identity(context, &identity) == 0;
    return known ? identity : 0;
  }
  bool is_active(int gpu) const override {
    unsigned flags = 0;
    int active = 0;
    return table_.context_state && table_.context_state(handle(gpu), &flags, &active) == 0 && active != 0;
  }
  int allow_access(int gpu, int peer) override {
    int possible = 0;
    if (const int code = table_.can_access_peer(&possible, handle(gpu), handle(peer))) return code;
    if (possible == 0) return kNoPeerAccess;
    const Current current(*this, gpu);
    if (current.failed() != 0) return current.failed();
    const int code = table_.enable_peer_access(primary(peer), 0u);
    return code == CudaTable::kPeerAccessAlreadyEnabled ? 0 : code;
  }
  int most_shared_bytes(std::size_t* bytes) const override {
    int most = 0;
    const int code =
        table_.device_attribute(&most, CudaTable::kDeviceSharedBytesOptIn, handle(current_gpu()));
    *bytes = static_cast<std::size_t>(most);
    return code;
  }
  int get_kernel(Kernel* kernel, Module module, const char* name) const override {
    auto* found = reinterpret_cast<CudaTable::Kernel*>(kernel);
    int code = table_.get_kernel(found, static_cast<CudaTable::Module>(module), name);
    // Loaded now, and not lazily at the first launch, which would wait for running kernels.
    if (code == 0 && table_.load_kernel) code = table_.load_kernel(*found);
    int own = 0, most = 0;
    if (code == 0) code = table_.kernel_attribute(&own, CudaTable::kKernelSharedBytes, *found);
    if (code == 0)
      code = table_.device_attribute(&most, CudaTable::kDeviceSharedBytesOptIn, handle(current_gpu()));
    if (code != 0) return code;
    return table_.set_kernel_attribute(*found, CudaTable::kKernelMaxDynamicSharedBytes, most - own);
  }
  std::string image_of(KernelFile file, std::string& reason) const override {
    const int gpu = current_gpu(), oldest = file == KernelFile::bulk ? 90 : 80;  // that the PTX is for
    int major = 0, minor = 0;
    if (gpu >= 0 && table_.device_attribute(&major, CudaTable::kDeviceCapabilityMajor, handle(gpu)) == 0 &&
        table_.device_attribute(&minor, CudaTable::kDeviceCapabilityMinor, handle(gpu)) == 0 &&
        10 * major + minor >= oldest)
      return file == KernelFile::bulk ? bulk_kernels_image : kernels_image;
    reason = "the GPU is older than sm_" + std::to_string(oldest);
    return {};
  }

 private:
  CudaTable::Device& handle(int gpu) { return handles_[static_cast<std::size_t>(gpu)]; }
  CudaTable::Device handle(int gpu) const { return handles_[static_cast<std::size_t>(gpu)]; }
  int number_of(CudaTable::Device device) const {
    const auto found = std::find(handles_.begin(), handles_.end(), device);
    return found == handles_.end() ? kUnknown : static_cast<int>(found - handles_.begin());
  }
  CudaTable::Context primary(int gpu) const {
    return primaries_[static_cast<std::size_t>(gpu)].load(std::memory_order_acquire);
  }

  std::vector<CudaTable::Device> handles_;
  std::vector<std::atomic<CudaTable::Context>> primaries_;  // those that were retained
};

}  // namespace

std::unique_ptr<Driver> open_cuda(bool loaded, std::string& reason) {
  constexpr const char* kName = "libcuda.so.1";
  if (loaded) {
    void* handle = dlopen(kName, RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    dlclose(handle);
  }
  LibraryReport report;
  const Library library = Library::open({kName}, {}, "BYTEWAYS_LIBCUDA", {}, report);
  if (!library) {
    reason += (reason.empty() ? "" : "; ") + report.reason;
    return nullptr;
  }
  auto made = std::make_unique<CudaCopies>();
  const int code = made->open(library, report.path);
  if (code == 0) return made;
  reason += (reason.empty() ? "" : "; ") + report.path + " does not start or has no GPU";
  return nullptr;
}

}  // namespace byteways::copy_library
