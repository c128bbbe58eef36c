// The HIP runtime for the copy library. See copy_driver.hpp. It has no contexts: a stream belongs to a GPU.
#include "runtimes/copy_driver.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cctype>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "runtimes/copy_driver_calls.hpp"
#include "runtimes/hip/driver.hpp"
#include "runtimes/hip/hiprtc.hpp"

namespace byteways::copy_library {
namespace {

using hip::HipTable;

// The last handle that means a stream of the current GPU: the default one, kLegacyStream, hipStreamPerThread.
constexpr std::uintptr_t kPerThreadStream = 2;
const std::vector<std::string> kDirectories{"/opt/rocm/lib", "/opt/rocm/hip/lib"};

class HipCopies final : public TableDriver<HipTable> {
 public:
  int open(const Library& library, const std::string& path) {
    LibraryReport report;
    table_.bind(library, report);
    const bool clean = last_error() == 0;
    const int code = start(library, path, report);
    if (clean) clear_last_error();
    return code;
  }

  int start(const Library& library, const std::string& path, LibraryReport& report) {
    if (!gpu::complete(report) || !table_.pointer_attributes || !table_.stream_device || !table_.get_device)
      return 1;
    if (const int code = table_.initialize(0)) return code;
    if (const int code = table_.device_count(&gpus)) return code;
    if (gpus == 0 || table_.runtime_version(&number_) != 0) return 1;
    vendor = "hip";
    version = std::to_string(number_ / 10'000'000) + "." + std::to_string(number_ / 100'000 % 100);
    release = release_of(path);
    if (release.empty()) release = "-";
    hip_ = {library, path, number_};
    retained_ = std::vector<std::atomic<bool>>(static_cast<std::size_t>(gpus));
    return 0;
  }

  std::string uuid(int gpu) const override {
    HipTable::Uuid uuid{};
    if (!table_.device_uuid || table_.device_uuid(&uuid, gpu) != 0) return {};
    return "GPU-" + std::string(uuid.bytes, sizeof uuid.bytes);
  }
  std::string pci_address(int gpu) const override {
    char text[64] = "";
    table_.device_pci_address(text, sizeof text, gpu);
    for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return text;
  }
  std::string error_text(int code) const override {
    const char *name = table_.get_error_name(code), *text = table_.get_error_string(code);
    return std::string(name == nullptr ? "HIP error" : name) +
           (text == nullptr ? "" : std::string(": ") + text);
  }

  int last_error() const override { return table_.peek_last_error ? table_.peek_last_error() : 0; }
  void clear_last_error() const override {
    if (table_.last_error) table_.last_error();
  }

  int copy(void* to, const void* from, std::size_t bytes, Stream stream) const override {
    return table_.copy_async(to, from, bytes, HipTable::kCopyDefault, of(stream));
  }
  bool has_batch(Stream stream) const override {
    return table_.copy_batch && reinterpret_cast<std::uintptr_t>(stream) > kLegacyStream;
  }
  int copy_batch(void** to, const void** from, std::size_t* bytes, std::size_t count,
                 Stream stream) const override {
    std::size_t failed = 0;  // attributes are not supported (hipMemcpyBatchAsync)
    return table_.copy_batch(to, from, bytes, count, nullptr, nullptr, 0, &failed, of(stream));
  }
  StreamPlace place_of(Stream stream) const override {
    int gpu = kUnknown;
    const bool current = reinterpret_cast<std::uintptr_t>(stream) <= kPerThreadStream;
    const int code = current ? table_.get_device(&gpu) : table_.stream_device(of(stream), &gpu);
    if (code != 0 || gpu < 0 || gpu >= gpus) return {};
    return {gpu, retained_[static_cast<std::size_t>(gpu)].load(std::memory_order_acquire), false};
  }
  Extent extent(const void* data) const override {
    Extent found{reinterpret_cast<std::uintptr_t>(data), 0, kUnknown, false};
    found.end = found.begin + 1;
    HipTable::PointerAttributes attributes{};
    if (table_.pointer_attributes(&attributes, data) != 0) return found;
    // hipMemoryTypeHost was 0 before HIP 6, where 0 became hipMemoryTypeUnregistered.
    const int host = number_ < HipTable::kVersion6 ? 0 : 1;
    if (attributes.is_managed != 0 || attributes.device_pointer != data) return found;
    if (attributes.type == host) found.place = kHost;
    if (attributes.type == host + 1) found.place = attributes.device;
    void* start = nullptr;
    std::size_t bytes = 0;
    if (!table_.address_range || table_.address_range(&start, &bytes, const_cast<void*>(data)) != 0)
      return found;
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    if (first <= found.begin && found.begin - first < bytes) {
      found.begin = first;
      found.end = first + bytes;
      found.identity = identity(data);
    }
    return found;
  }
  std::uint64_t identity(const void* data) const override {
    std::uint64_t identity = 0;  // the runtime writes 32 bits of it
    if (!table_.pointer_attribute) return 0;
    return table_.pointer_attribute(&identity, HipTable::kBufferId, data) == 0 ? identity : 0;
  }

  int current_gpu() const override {
    int gpu = kUnknown;
    return table_.get_device(&gpu) == 0 ? gpu : kUnknown;
  }
  int enter(int gpu, void** before, bool* changed) const override {
    int current = 0;
    if (const int code = table_.get_device(&current)) return code;
    *before = reinterpret_cast<void*>(static_cast<std::intptr_t>(current));
    *changed = current != gpu;
    return *changed ? table_.set_device(gpu) : 0;
  }
  void restore(void* before) const override {
    // Once more after a failure: the program must find its own GPU again.
    const auto gpu = static_cast<int>(reinterpret_cast<std::intptr_t>(before));
    if (table_.set_device(gpu) != 0) table_.set_device(gpu);
  }

  int retain(int gpu) override {
    retained_[static_cast<std::size_t>(gpu)].store(true, std::memory_order_release);
    return 0;
  }
  bool is_active(int) const override { return true; }  // there are no contexts
  int allow_access(int gpu, int peer) override {
    int possible = 0;
    if (const int code = table_.can_access_peer(&possible, gpu, peer)) return code;
    if (possible == 0) return kNoPeerAccess;
    const Current current(*this, gpu);
    if (current.failed() != 0) return current.failed();
    const int code = table_.enable_peer_access(peer, 0u);
    if (code == HipTable::kPeerAccessAlreadyEnabled) return 0;
    return code;
  }
  int most_shared_bytes(std::size_t* bytes) const override {
    int most = 0;
    const int code = table_.device_attribute(&most, HipTable::kDeviceSharedBytes, current_gpu());
    *bytes = static_cast<std::size_t>(most);
    return code;
  }
  int get_kernel(Kernel* kernel, Module module, const char* name) const override {
    return table_.get_kernel(reinterpret_cast<HipTable::Kernel*>(kernel),
                             static_cast<HipTable::Module>(module), name);
  }
  // Compiled by hipRTC for the architecture of the GPU with its features.
  std::string image_of(KernelFile file, std::string& reason) const override {
    if (file == KernelFile::bulk) {
      reason = "the GPU has no bulk-copy instructions";
      return {};
    }
    const std::string architecture = architecture_of(current_gpu());
    if (architecture.empty()) {
      reason = "the runtime does not name the architecture of the GPU";
      return {};
    }
    const std::lock_guard lock(compiling_);
    std::string& image = images_[architecture];
    try {
      if (image.empty()) {
        hip::Hiprtc compiler(hip_, kDirectories, hip::Hiprtc::Place::worker);
        gpu::require(compiler, "hipRTC");
        image = compiler.compile("copy_library/kernels.cu", architecture);
      }
    } catch (const Error& error) {
      reason = error.text();
    }
    return image;
  }

 private:
  std::string architecture_of(int gpu) const {
    const auto properties = std::make_unique<HipTable::Properties>();
    std::memset(properties->bytes, 0, sizeof properties->bytes);
    const auto& get = table_.device_properties ? table_.device_properties : table_.device_properties_before_6;
    return gpu >= 0 && get && get(properties.get(), gpu) == 0 ? properties->architecture() : std::string();
  }

  int number_ = 0;
  hip::HipLibrary hip_;
  mutable std::mutex compiling_;
  mutable std::map<std::string, std::string> images_;  // by architecture
  std::vector<std::atomic<bool>> retained_;
};

}  // namespace

std::unique_ptr<Driver> open_hip(bool loaded, std::string& reason) {
  std::vector<std::string> names{"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                 "libamdhip64.so.5"};
  if (loaded) {
    // Under its own name only: another name may be that of another copy on the machine.
    std::erase_if(names, [](const std::string& name) {
      void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
      if (handle != nullptr) dlclose(handle);
      return handle == nullptr;
    });
    if (names.empty()) return nullptr;
  }
  LibraryReport report;
  const Library library = Library::open(names, kDirectories, "BYTEWAYS_LIBHIP", {}, report);
  if (!library) {
    reason += (reason.empty() ? "" : "; ") + report.reason;
    return nullptr;
  }
  auto made = std::make_unique<HipCopies>();
  const int code = made->open(library, report.path);
  if (code == 0) return made;
  reason += (reason.empty() ? "" : "; ") + report.path + " does not start or has no GPU";
  return nullptr;
}

}  // namespace byteways::copy_library
