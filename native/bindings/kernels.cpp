// Bindings without a session: compiled kernels, and the runtimes' rules for copy engines.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "runtimes/offline.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {

void bind_kernels(nb::module_& m) {
  m.def("compile_kernels", &compile_kernels, "architecture"_a,
        "library_directories"_a = std::vector<std::string>{}, nb::call_guard<nb::gil_scoped_release>());
  m.def("fill_kernel_cache", &fill_kernel_cache, "architecture"_a, "kernel_cache"_a,
        "library_directories"_a = std::vector<std::string>{}, nb::call_guard<nb::gil_scoped_release>());
  m.def(
      "copy_rule",
      [](const std::string& runtime, int version, const std::map<std::string, std::string>& environment,
         int source_device, int destination_device, std::uint64_t bytes, bool plain, bool opened) {
        const CopyRule rule = copy_rule(runtime, version, environment,
                                        {source_device, destination_device, plain, opened}, bytes);
        return std::pair(rule.engine, rule.rule);
      },
      "runtime"_a, "version"_a, "environment"_a, "source_device"_a, "destination_device"_a, "bytes"_a,
      nb::kw_only(), "plain"_a = false, "opened"_a = false);
  m.def("shares_memory_with_cpu", &shares_memory_with_cpu, "runtime"_a, "sysfs"_a, "pci_address"_a);
}

}  // namespace byteways
