// What byteways knows of AMD's runtime apart from a session: its compiler, and how it picks copy engines.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "runtimes/hip/copy_rules.hpp"
#include "runtimes/hip/hiprtc.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {
namespace {

// Engine and rule for a copy; both empty when nothing is known.
std::pair<std::string, std::string> copy_rule(int version,
                                              const std::map<std::string, std::string>& environment,
                                              int source_device, int destination_device, std::uint64_t bytes,
                                              bool plain) {
  const hip::CopyRules rules(version, [&environment](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
  const CopyRule rule = rules.rule({source_device, destination_device, plain}, bytes);
  return {rule.engine, rule.rule};
}

}  // namespace

void bind_hip(nb::module_& m) {
  m.def("compile_hip_kernels", &hip::compile_kernels, "architecture"_a, "kernel_cache"_a,
        "library_directories"_a = std::vector<std::string>{}, nb::call_guard<nb::gil_scoped_release>());
  m.def("hip_copy_rule", &copy_rule, "version"_a, "environment"_a, "source_device"_a, "destination_device"_a,
        "bytes"_a, nb::kw_only(), "plain"_a = false);
}

}  // namespace byteways
