// Catalogue of device kernels: source file and size of the argument block. The code that launches a kernel
// registers it.
#pragma once
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace byteways::gpu {

// Device features that a kernel needs.
enum class Needs { nothing, bulk_copies };

struct CatalogueEntry {
  std::string_view kernel;
  std::string_view file;  // embedded_kernels() has its text
  std::size_t argument_bytes;
  Needs needs = Needs::nothing;
};

// Returns all registered kernels. Registration happens before main().
const std::vector<CatalogueEntry>& kernel_catalogue();
// Returns the index in kernel_catalogue(). Throws Unsupported for an unknown kernel.
std::size_t catalogue_index(std::string_view kernel);

void register_kernels(std::string_view file, std::initializer_list<std::string_view> kernels,
                      std::size_t argument_bytes, Needs needs);

// Registers the kernels of one file that take these arguments: define one at namespace scope.
template <class Arguments>
class RegisterKernels {
 public:
  RegisterKernels(std::string_view file, std::initializer_list<std::string_view> kernels,
                  Needs needs = Needs::nothing) {
    register_kernels(file, kernels, sizeof(Arguments), needs);
  }
};

}  // namespace byteways::gpu
