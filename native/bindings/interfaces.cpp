// Bindings of the registered interfaces and their kernels.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "interfaces/registry.hpp"
#include "runtimes/gpu/kernel_catalogue.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {

void bind_interfaces(nanobind::module_& m) {
  m.def("interfaces", [] {
    std::vector<std::string> names;
    for (const std::string_view name : interface_names()) names.emplace_back(name);
    return names;
  });
  m.def("device_kernels", [] {
    std::map<std::string, std::string> files;
    for (const gpu::CatalogueEntry& entry : gpu::kernel_catalogue())
      files[std::string(entry.kernel)] = entry.file;
    return files;
  });
  m.def("host_kernels", [] {
    std::vector<std::string> names;
    for (const HostKernel& kernel : host_kernels()) names.emplace_back(kernel.name);
    return names;
  });
}

}  // namespace byteways
