// Compiles and loads kernels, once per device and only when first requested.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtimes/gpu/driver.hpp"
#include "runtimes/gpu/kernel_cache.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"
#include "runtimes/queue.hpp"

namespace byteways::gpu {

template <class Vendor>
class KernelStore {
 public:
  struct Loaded {
    typename Vendor::Kernel handle{};
    KernelInfo info;
  };

  KernelStore(std::shared_ptr<Vendor> driver, std::shared_ptr<KernelCompiler> compiler,
              std::string cache_folder, int devices)
      : driver_(std::move(driver)),
        compiler_(std::move(compiler)),
        cache_(std::move(cache_folder)),
        slots_(static_cast<std::size_t>(devices), std::vector<Slot>(kernel_catalogue().size())) {}

  // Thread-safe. Throws Unsupported with the reason; the reason is cached, because compiling again would
  // not help.
  const Loaded& get(int device, std::size_t index, const std::string& architecture) {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_.at(static_cast<std::size_t>(device))[index];
    if (!slot.obstacle.empty())
      throw Unsupported("kernel", "unavailable", slot.obstacle, driver_->name_of(device));
    if (!slot.loaded) {
      try {
        slot.loaded = load(device, kernel_catalogue()[index], architecture);
      } catch (const Unsupported& error) {
        slot.obstacle = error.text();
        throw;
      }
    }
    return *slot.loaded;
  }

 private:
  struct Slot {
    std::optional<Loaded> loaded;
    std::string obstacle;
  };

  Loaded load(int device, const CatalogueEntry& entry, const std::string& architecture) {
    const Availability compiler = compiler_->available();
    if (!compiler.available)
      throw Unsupported("kernel", "unavailable", compiler.reason, driver_->name_of(device));
    driver_->make_current(device);
    Loaded loaded;
    driver_->call(device, driver_->get_kernel, &loaded.handle,
                  module_of(device, std::string(entry.file), architecture),
                  std::string(entry.kernel).c_str());
    loaded.info = info_of(device, loaded.handle);
    return loaded;
  }

  typename Vendor::Module module_of(int device, const std::string& file, const std::string& architecture) {
    typename Vendor::Module& module = modules_[{device, file}];
    if (module != nullptr) return module;
    std::string& image = images_[{architecture, file}];
    if (image.empty()) image = cache_.image(*compiler_, file, architecture);
    const int code = driver_->load_module(&module, image.data());
    if (code != 0) {
      module = nullptr;
      throw Unsupported("kernel", driver_->error_name(code),
                        "the driver refuses what " + compiler_->version() + " compiled for " + architecture +
                            ": " + driver_->words(code) + "; a compiler no newer than the driver helps",
                        driver_->name_of(device));
    }
    return module;
  }

  KernelInfo info_of(int device, typename Vendor::Kernel kernel) const {
    int threads = 0, own_shared = 0, blocks = 0;
    driver_->call(device, driver_->kernel_attribute, &threads, Vendor::kKernelMaxThreads, kernel);
    driver_->call(device, driver_->kernel_attribute, &own_shared, Vendor::kKernelSharedBytes, kernel);
    const int dynamic = driver_->prepare_kernel(device, kernel, own_shared);
    driver_->call(device, driver_->resident_blocks, &blocks, kernel, threads, std::size_t{0});
    return {static_cast<unsigned>(threads), static_cast<unsigned>(blocks), static_cast<unsigned>(dynamic)};
  }

  std::shared_ptr<Vendor> driver_;
  std::shared_ptr<KernelCompiler> compiler_;
  KernelCache cache_;
  std::mutex mutex_;
  std::vector<std::vector<Slot>> slots_;                                    // [device][kernel]
  std::map<std::pair<int, std::string>, typename Vendor::Module> modules_;  // device, file
  std::map<std::pair<std::string, std::string>, std::string> images_;       // architecture, file
};

}  // namespace byteways::gpu
