// The GPU driver as the copy library sees it: one small interface, and CUDA and HIP behind it. Functions
// return the driver's codes and throw nothing; handles are the vendor's, as void pointers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace byteways::copy_library {

using Stream = void*;
using Event = void*;
using Module = void*;
using Kernel = void*;

inline constexpr int kHost = -1;       // as a place, beside the numbers of GPUs
inline constexpr int kUnknown = -2;    // memory that is pageable or managed, or that the driver does not know
inline constexpr int kNotReady = 600;  // CUDA_ERROR_NOT_READY, hipErrorNotReady

// A range of addresses of one place. A range of one byte says nothing of its neighbours.
struct Extent {
  std::uintptr_t begin = 0, end = 0;
  int place = kUnknown;
  bool open_to_peers = false;  // memory of a GPU that all its peers with access may use
  std::uint64_t identity = 0;  // of the allocation, which no other one of this process has; 0: unknown
};

// The GPU of a stream. `usable`: the stream is of the primary context, which a plan was prepared for.
struct StreamPlace {
  int gpu = kUnknown;
  bool usable = false, other_context = false;
};

// Kernels of the library: loads and stores, and bulk-copy instructions.
enum class KernelFile { loads, bulk };

class Driver {
 public:
  virtual ~Driver() = default;

  // --- identity; a plan is for one of these
  const char* vendor = "";  // "cuda", "hip"
  std::string version,
      release;  // "13.0", "580.159.04"; the release is "-" where the file has none in its name
  int gpus = 0;
  virtual std::string uuid(int gpu) const = 0;
  virtual std::string pci_address(int gpu) const = 0;  // lower case
  virtual std::string error_text(int code) const = 0;
  // The failure that the driver keeps for this thread until it is cleared, 0: none.
  virtual int last_error() const { return 0; }
  virtual void clear_last_error() const {}

  // --- what copies call
  virtual int copy(void* to, const void* from, std::size_t bytes, Stream stream) const = 0;
  // Whether one call copies several blocks on this stream.
  virtual bool has_batch(Stream stream) const = 0;
  virtual int copy_batch(void** to, const void** from, std::size_t* bytes, std::size_t count,
                         Stream stream) const = 0;
  virtual StreamPlace place_of(Stream stream) const = 0;
  virtual bool is_capturing(Stream stream) const = 0;  // true as well when the driver does not say
  virtual Extent extent(const void* data) const = 0;
  virtual std::uint64_t identity(const void* data) const = 0;  // that of its extent, in less time
  virtual int record(Event event, Stream stream) const = 0;
  // 0, kNotReady, or a failure.
  virtual int query(Event event) const = 0;
  virtual int wait(Stream stream, Event event) const = 0;
  virtual int launch(Kernel kernel, unsigned blocks, unsigned threads, unsigned shared_bytes, Stream stream,
                     void** parameters) const = 0;

  // --- the current GPU of the thread
  virtual int current_gpu() const = 0;  // kUnknown: none
  // Makes the GPU current. `before` is what restore() needs; `changed`: another one was current.
  virtual int enter(int gpu, void** before, bool* changed) const = 0;
  virtual void restore(void* before) const = 0;

  // --- preparation; all for the current GPU
  virtual int retain(int gpu) = 0;  // its primary context, from now on until the process ends or resets it
  // Of the context of a GPU that is retained: another one after a reset. 0: it has none that is known.
  virtual std::uint64_t context_identity(int) const { return 0; }
  virtual bool is_active(
      int gpu) const = 0;  // whether the process uses the GPU: retaining costs nothing then
  virtual int allow_access(int gpu, int peer) = 0;  // of `gpu` to memory of `peer`; fine if it has it already
  virtual int allocate_device(void** data, std::size_t bytes) const = 0;
  virtual int free_device(void* data) const = 0;
  virtual int allocate_pinned(void** data, std::size_t bytes) const = 0;
  virtual int free_pinned(void* data) const = 0;
  virtual int create_stream(Stream* stream) const = 0;
  virtual int destroy_stream(Stream stream) const = 0;
  virtual int create_event(Event* event, bool timed) const = 0;
  virtual int destroy_event(Event event) const = 0;
  virtual int synchronize(Stream stream) const = 0;
  virtual int synchronize_event(Event event) const = 0;
  virtual int elapsed_ms(float* milliseconds, Event begin, Event end) const = 0;
  // Swaps the thread's mode for what might break a capture: of other threads (global, 0), of its own, or of
  // none (relaxed, 2).
  virtual int exchange_capture_mode(int* mode) const = 0;
  // Dynamic shared memory that a block of a kernel may have.
  virtual int most_shared_bytes(std::size_t* bytes) const = 0;
  // What load_module() takes for this GPU; empty, with the reason: it has no such kernels. May compile them,
  // once in a process.
  virtual std::string image_of(KernelFile file, std::string& reason) const = 0;
  virtual int load_module(Module* module, const void* image) const = 0;
  virtual void unload_module(Module module) const = 0;
  virtual int get_kernel(Kernel* kernel, Module module, const char* name) const = 0;
};

// While any thread captures in global mode, drivers refuse to others what might break the capture, and end it
// for them. A thread in relaxed mode may do it all the same: here it does so with objects of the library
// alone.
class Relaxed {
 public:
  explicit Relaxed(const Driver* driver)
      : driver_(driver), changed_(driver != nullptr && driver->exchange_capture_mode(&mode_) == 0) {}
  ~Relaxed() {
    if (changed_ && driver_->exchange_capture_mode(&mode_) != 0) driver_->exchange_capture_mode(&mode_);
  }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;

 private:
  const Driver* driver_;
  int mode_ = 2;
  bool changed_;
};

// The GPU that is current for a while; the thread's own is restored at the end.
class Current {
 public:
  Current(const Driver& driver, int gpu)
      : driver_(&driver), failed_(driver.enter(gpu, &before_, &changed_)) {}
  ~Current() {
    if (failed_ == 0 && changed_) driver_->restore(before_);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  int failed() const { return failed_; }

 private:
  const Driver* driver_;
  void* before_ = nullptr;
  bool changed_ = false;
  int failed_;
};

// Return nothing, with the reason, where the library or its GPUs are missing. `loaded`: only if the process
// uses it already.
std::unique_ptr<Driver> open_cuda(bool loaded, std::string& reason);
std::unique_ptr<Driver> open_hip(bool loaded, std::string& reason);

// The one driver of the process, opened at the first call; nullptr: there is none, or this is a forked child.
Driver* driver();
bool is_forked();              // since the driver was opened
bool is_switched_off();        // BYTEWAYS_COPY=off
std::string missing_driver();  // why driver() is nullptr

}  // namespace byteways::copy_library
