// See driver.hpp.
#include "runtimes/hip/driver.hpp"

#include <cstring>
#include <memory>

namespace byteways::hip {

std::string HipTable::error_name(int code) const {
  const char* name = get_error_name(code);
  return name == nullptr ? "HIP error " + std::to_string(code) : name;
}

std::string HipTable::error_text(int code) const {
  const char* text = get_error_string(code);
  return text == nullptr ? std::string() : text;
}

int HipDriver::attribute(int device, int attribute) const {
  int value = 0;
  call(device, device_attribute, &value, attribute, device);
  return value;
}

int HipDriver::attribute_or(int device, int attribute, int otherwise) const {
  int value = 0;
  return device_attribute(&value, attribute, device) == 0 ? value : otherwise;
}

int HipDriver::devices() const {
  int count = 0;
  call(-1, device_count, &count);
  return count;
}

std::string HipDriver::architecture(int device) const {
  const auto properties = std::make_unique<Properties>();
  std::memset(properties.get(), 0, sizeof *properties);
  if (device_properties)
    call(device, device_properties, properties.get(), device);
  else
    call(device, device_properties_before_6, properties.get(), device);
  std::string found = properties->architecture();
  if (found.empty())
    throw Error("hipGetDeviceProperties", "architecture", "no name that begins with gfx is in the answer",
                name_of(device));
  return found;
}

void* HipDriver::new_device_memory(int device, Memory memory, std::size_t bytes) const {
  void* data = nullptr;
  if (memory == Memory::device)
    call(device, allocate_device, &data, bytes);
  else
    call(device, allocate_device_with_flags, &data, bytes,
         memory == Memory::device_fine ? kDeviceFineGrained : kDeviceUncached);
  return data;
}

void* HipDriver::new_managed_memory(int device, Memory memory, std::size_t bytes) const {
  void* data = nullptr;
  call(device, allocate_managed, &data, bytes, kAttachGlobal);
  if (memory != Memory::managed_coarse) return data;
  try {
    call(device, advise, static_cast<const void*>(data), bytes, kAdviseCoarseGrain, device);
  } catch (const Error&) {
    free_device(data);
    throw;
  }
  return data;
}

unsigned HipDriver::handle_flags() const {
  int version = 0;
  call(-1, runtime_version, &version);
  return open_with_peer_access(version);
}

unsigned HipDriver::pinned_flags(Memory memory) {
  // NumaUser: otherwise the pages go to the domain nearest to the GPU, regardless of the thread's policy.
  constexpr unsigned kBoth = kHostPortable | kHostNumaUser;
  // All pinned memory is mapped, which older versions always make coherent (clr, hip_memory.cpp,
  // hipHostMalloc).
  if (memory == Memory::write_combined) return kBoth | kHostMapped | kHostWriteCombined;
  return memory == Memory::pinned_noncoherent ? kBoth | kHostNonCoherent
                                              : kBoth | kHostMapped | kHostCoherent;
}

Availability HipDriver::hold_pages(void*, std::size_t, int, int device, bool) const {
  if (architecture(device).find(":xnack+") == std::string::npos) return {true, {}};
  return {false, "this process has HSA_XNACK=1, with which kernels move the pages that they touch"};
}

std::string HipDriver::batch_obstacle() const {
  return copy_batch ? "" : "this runtime copies no batch by one call (hipMemcpyBatchAsync)";
}

void HipDriver::copy_all(int device, std::vector<void*>& to, std::vector<const void*>& from,
                         std::vector<std::size_t>& sizes, Stream stream) const {
  std::size_t failed = 0;
  // The versions whose sources were read reject attributes.
  call(device, copy_batch, to.data(), from.data(), sizes.data(), sizes.size(), nullptr, nullptr,
       std::size_t{0}, &failed, stream);
}

std::string HipDriver::rows_obstacle() const {
  return copy_rows_async ? "" : "this runtime has no hipMemcpy2DAsync";
}

void HipDriver::copy_rows(int device, const RowsCopy& rows, Stream stream) const {
  call(device, copy_rows_async, rows.destination, std::size_t{rows.destination_pitch}, rows.source,
       std::size_t{rows.source_pitch}, std::size_t{rows.width_bytes}, std::size_t{rows.rows}, kCopyDefault,
       stream);
}

int HipDriver::prepare_kernel(int device, Kernel, int own_shared_bytes) const {
  return attribute(device, kDeviceSharedBytes) - own_shared_bytes;
}

}  // namespace byteways::hip
