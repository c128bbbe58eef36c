// What CUDA and HIP call alike, for the copy library: the entries of their tables differ in their types
// alone.
#pragma once
#include <cstdint>

#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {

template <typename Table>
class TableDriver : public Driver {
 public:
  bool is_capturing(Stream stream) const override {
    int status = kNotCapturing;
    return !table_.is_capturing || table_.is_capturing(of(stream), &status) != 0 || status != kNotCapturing;
  }
  int record(Event event, Stream stream) const override {
    return table_.record_event(event_of(event), of(stream));
  }
  int query(Event event) const override {
    const Relaxed relaxed(this);
    return table_.query_event(event_of(event));
  }
  int wait(Stream stream, Event event) const override {
    return table_.wait_event(of(stream), event_of(event), 0u);
  }
  int launch(Kernel kernel, unsigned blocks, unsigned threads, unsigned shared_bytes, Stream stream,
             void** parameters) const override {
    return table_.launch_kernel(static_cast<typename Table::Kernel>(kernel), blocks, 1, 1, threads, 1, 1,
                                shared_bytes, of(stream), parameters, nullptr);
  }

  int allocate_device(void** data, std::size_t bytes) const override {
    return table_.allocate_device(data, bytes);
  }
  int free_device(void* data) const override { return table_.free_device(data); }
  int allocate_pinned(void** data, std::size_t bytes) const override {
    return table_.allocate_pinned(data, bytes, Table::kHostPortable | Table::kHostMapped);
  }
  int free_pinned(void* data) const override { return table_.free_pinned(data); }
  int create_stream(Stream* stream) const override {
    return table_.create_stream(reinterpret_cast<typename Table::Stream*>(stream), Table::kStreamNonBlocking);
  }
  int destroy_stream(Stream stream) const override { return table_.destroy_stream(of(stream)); }
  int create_event(Event* event, bool timed) const override {
    return table_.create_event(reinterpret_cast<typename Table::Event*>(event),
                               timed ? Table::kEventTiming : kEventWithoutTiming);
  }
  int destroy_event(Event event) const override { return table_.destroy_event(event_of(event)); }
  int synchronize(Stream stream) const override { return table_.synchronize_stream(of(stream)); }
  int synchronize_event(Event event) const override { return table_.synchronize_event(event_of(event)); }
  int elapsed_ms(float* milliseconds, Event begin, Event end) const override {
    const Relaxed relaxed(this);
    return table_.elapsed_time(milliseconds, event_of(begin), event_of(end));
  }
  int exchange_capture_mode(int* mode) const override {
    return table_.exchange_capture_mode ? table_.exchange_capture_mode(mode) : kNotSupported;
  }
  int load_module(Module* module, const void* image) const override {
    return table_.load_module(reinterpret_cast<typename Table::Module*>(module), image);
  }
  void unload_module(Module module) const override {
    if (table_.unload_module) table_.unload_module(static_cast<typename Table::Module>(module));
  }

 protected:
  // CU_STREAM_LEGACY, hipStreamLegacy
  static constexpr std::uintptr_t kLegacyStream = 1;
  // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, hipErrorPeerAccessUnsupported
  static constexpr int kNoPeerAccess = 217;

  static typename Table::Stream of(Stream stream) { return static_cast<typename Table::Stream>(stream); }
  static typename Table::Event event_of(Event event) { return static_cast<typename Table::Event>(event); }

  Table table_;

 private:
  static constexpr int kNotCapturing = 0;    // CU_STREAM_CAPTURE_STATUS_NONE, hipStreamCaptureStatusNone
  static constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED, hipErrorNotSupported
  static constexpr unsigned kEventWithoutTiming = 2;  // CU_EVENT_DISABLE_TIMING, hipEventDisableTiming
};

}  // namespace byteways::copy_library
