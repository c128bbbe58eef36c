// See driver.hpp.
#include "runtimes/hip/driver.hpp"

namespace byteways::hip {

void HipTable::bind(const Library& library, LibraryReport& report){
#define BYTEWAYS_FUNCTION BYTEWAYS_BIND
#include "runtimes/hip/hip.def"
#undef BYTEWAYS_FUNCTION
}

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

unsigned HipDriver::pinned_flags(Memory memory) {
  // NumaUser: without it the pages go to the domain nearest to the GPU, whatever the thread asked for.
  constexpr unsigned kBoth = kHostPortable | kHostNumaUser;
  // Mapped, which all pinned memory is, makes it coherent in older versions whatever else is asked for (clr,
  // hip_memory.cpp, hipHostMalloc).
  if (memory == Memory::write_combined) return kBoth | kHostMapped | kHostWriteCombined;
  return memory == Memory::pinned_noncoherent ? kBoth | kHostNonCoherent
                                              : kBoth | kHostMapped | kHostCoherent;
}

void HipDriver::copy_all(int device, std::vector<void*>& to, std::vector<const void*>& from,
                         std::vector<std::size_t>& sizes, Stream stream) const {
  std::size_t failed = 0;
  // Attributes are refused by the versions that were read about.
  call(device, copy_batch, to.data(), from.data(), sizes.data(), sizes.size(), nullptr, nullptr,
       std::size_t{0}, &failed, stream);
}

int HipDriver::prepare_kernel(int device, Kernel, int own_shared_bytes) const {
  return attribute(device, kDeviceSharedBytes) - own_shared_bytes;
}

}  // namespace byteways::hip
