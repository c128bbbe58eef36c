// The device kernels: in which file each is, and how large its argument block is. Who launches a kernel
// registers it.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace byteways::gpu {

// What a kernel needs of a device, beyond what all have.
enum class Needs { nothing, bulk_copies };

struct CatalogueEntry {
  std::string_view kernel;
  std::string_view file;  // embedded_kernels() has its text
  std::size_t argument_bytes;
  Needs needs = Needs::nothing;
};

// All that were registered, which is done before main().
const std::vector<CatalogueEntry>& kernel_catalogue();
// Index into kernel_catalogue(). Throws Unsupported.
std::size_t catalogue_index(std::string_view kernel);

void register_kernels(std::string_view file, std::initializer_list<std::string_view> kernels,
                      std::size_t argument_bytes, Needs needs);

// At namespace scope: the kernels of one file that take these arguments.
template <class Arguments>
class RegisterKernels {
 public:
  RegisterKernels(std::string_view file, std::initializer_list<std::string_view> kernels,
                  Needs needs = Needs::nothing) {
    register_kernels(file, kernels, sizeof(Arguments), needs);
  }
};

}  // namespace byteways::gpu
