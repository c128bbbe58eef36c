// See kernel_catalogue.hpp.
#include "runtimes/gpu/kernel_catalogue.hpp"

#include <string>

#include "core/error.hpp"

namespace byteways::gpu {
namespace {

// A function-local static, because registrations run in any order.
std::vector<CatalogueEntry>& entries() {
  static std::vector<CatalogueEntry> all;
  return all;
}

}  // namespace

const std::vector<CatalogueEntry>& kernel_catalogue() { return entries(); }

std::size_t catalogue_index(std::string_view kernel) {
  for (std::size_t index = 0; index < entries().size(); ++index)
    if (entries()[index].kernel == kernel) return index;
  throw Unsupported("kernel", "unknown", "there is no GPU kernel named '" + std::string(kernel) + "'");
}

void register_kernels(std::string_view file, std::initializer_list<std::string_view> kernels,
                      std::size_t argument_bytes, Needs needs) {
  for (const std::string_view kernel : kernels) entries().push_back({kernel, file, argument_bytes, needs});
}

}  // namespace byteways::gpu
