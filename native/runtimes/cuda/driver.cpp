// See driver.hpp.
#include "runtimes/cuda/driver.hpp"

#include <algorithm>

namespace byteways::cuda {
std::string CudaTable::error_name(int code) const {
  const char* name = nullptr;
  if (get_error_name(code, &name) != 0 || name == nullptr) return "CUDA error " + std::to_string(code);
  return name;
}

std::string CudaTable::error_text(int code) const {
  const char* text = nullptr;
  if (get_error_string(code, &text) != 0 || text == nullptr) return {};
  return text;
}

void CudaDriver::find_devices() {
  int count = 0;
  call(-1, device_count, &count);
  handles_.resize(static_cast<std::size_t>(count));
  primaries_ = std::vector<Primary>(static_cast<std::size_t>(count));
  for (int device = 0; device < count; ++device)
    call(device, device_get, &handles_[static_cast<std::size_t>(device)], device);
}

int CudaDriver::attribute(int device, int attribute) const {
  int value = 0;
  call(device, device_attribute, &value, attribute, handle(device));
  return value;
}

int CudaDriver::attribute_or(int device, int attribute, int otherwise) const {
  int value = 0;
  return device_attribute(&value, attribute, handle(device)) == 0 ? value : otherwise;
}

void* CudaDriver::new_device_memory(int device, Memory, std::size_t bytes) const {
  void* data = nullptr;
  call(device, allocate_device, &data, bytes);
  return data;
}

void* CudaDriver::new_managed_memory(int device, Memory, std::size_t bytes) const {
  void* data = nullptr;
  call(device, allocate_managed, &data, bytes, kAttachGlobal);
  return data;
}

int CudaDriver::prepare_kernel(int device, Kernel kernel, int own_shared_bytes) const {
  // The driver loads kernels lazily and then waits for running ones: behind a shut gate it would deadlock.
  if (load_kernel) call(device, load_kernel, kernel);
  const int dynamic = attribute(device, kDeviceSharedBytesOptIn) - own_shared_bytes;
  call(device, set_kernel_attribute, kernel, kKernelMaxDynamicSharedBytes, dynamic);
  return dynamic;
}

CudaTable::Location CudaDriver::location(PagePlace place) const {
  if (place.device >= 0) return {kLocationDevice, handle(place.device)};
  if (place.numa_domain >= 0) return {kLocationHostDomain, place.numa_domain};
  return {kLocationHost, 0};
}

void CudaDriver::send_pages(int issuer, void* data, std::size_t bytes, PagePlace to, Stream stream) const {
  if (prefetch_to_location)
    call(issuer, prefetch_to_location, data, bytes, location(to), 0u, stream);
  else
    call(issuer, prefetch, data, bytes, whereabouts(to.device), stream);
}

Availability CudaDriver::offers_prefetch_to_domain() const {
  if (prefetch_to_location) return {true, {}};
  return {false, std::string("the driver has no ") + prefetch_to_location.symbol() + " (since CUDA 12.2)"};
}

std::optional<int> CudaDriver::device_of(Device handle) const {
  if (handle == kHostDevice) return -1;
  const auto found = std::find(handles_.begin(), handles_.end(), handle);
  if (found == handles_.end()) return std::nullopt;  // CU_DEVICE_INVALID
  return static_cast<int>(found - handles_.begin());
}

Availability CudaDriver::hold_pages(void* data, std::size_t bytes, int owner, int device, bool hold) const {
  if (!advise && !advise_location)
    return {false, "this driver takes no advice on managed memory (cuMemAdvise)"};
  make_current(device);
  const auto give = [&](int advice, int about) {
    if (advise_location)
      call(device, advise_location, data, bytes, advice, location({about, -1}));
    else
      call(device, advise, data, bytes, advice, whereabouts(about));
  };
  give(hold ? kPreferredLocation : kNoPreferredLocation, owner);
  give(hold ? kAccessedBy : kNotAccessedBy, device);
  return {true, {}};
}

std::string CudaDriver::batch_obstacle() const {
  if (copy_batch || copy_batch_before_13) return {};
  return "this driver copies no batch by one call (cuMemcpyBatchAsync, since CUDA 12.8)";
}

void CudaDriver::copy_all(int device, std::vector<void*>& to, std::vector<const void*>& from,
                          std::vector<std::size_t>& sizes, Stream stream) const {
  BatchAttributes attributes{kOrderOfStream, {0, 0}, {0, 0}, 0};
  std::size_t first = 0, failed = 0;
  if (copy_batch)
    call(device, copy_batch, to.data(), from.data(), sizes.data(), sizes.size(), &attributes, &first,
         std::size_t{1}, stream);
  else
    call(device, copy_batch_before_13, to.data(), from.data(), sizes.data(), sizes.size(), &attributes,
         &first, std::size_t{1}, &failed, stream);
}

std::string CudaDriver::rows_obstacle() const {
  return copy_rows_async ? "" : "this driver has no cuMemcpy2DAsync";
}

void CudaDriver::copy_rows(int device, const byteways::RowsCopy& rows, Stream stream) const {
  // Host memory unknown to the driver has no unified address: mark it as host memory.
  const auto side = [](const void* data, std::uint64_t pitch, bool on_host) {
    RowsSide made;
    made.kind = on_host ? kMemoryHost : kMemoryUnified;
    (on_host ? made.host : made.device) = data;
    made.pitch = pitch;
    return made;
  };
  const RowsCopy wanted{side(rows.source, rows.source_pitch, rows.source_on_host),
                        side(rows.destination, rows.destination_pitch, rows.destination_on_host),
                        rows.width_bytes, rows.rows};
  call(device, copy_rows_async, &wanted, stream);
}

CudaDriver::Context CudaDriver::context(int device) const {
  Primary& primary = primaries_.at(static_cast<std::size_t>(device));
  if (const Context made = primary.context.load(std::memory_order_acquire)) return made;
  const std::lock_guard one_at_a_time(primary.creation);
  Context context = primary.context.load(std::memory_order_relaxed);
  if (context == nullptr) {
    call(device, retain_context, &context, handle(device));
    primary.context.store(context, std::memory_order_release);
  }
  return context;
}

}  // namespace byteways::cuda
