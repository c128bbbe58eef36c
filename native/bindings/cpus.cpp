// Bindings of the CPU topology.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "core/cpu_topology.hpp"
#include "runtimes/host/host_clock.hpp"
#include "runtimes/host/isa_names.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {

void bind_cpus(nb::module_& m) {
  nb::class_<CpuCache>(m, "CpuCache")
      .def_ro("level", &CpuCache::level)
      .def_ro("kind", &CpuCache::kind)
      .def_ro("size_bytes", &CpuCache::size_bytes)
      .def_ro("line_bytes", &CpuCache::line_bytes)
      .def_ro("sharing_cpus", &CpuCache::sharing_cpus);
  nb::class_<SharedCpuCache>(m, "SharedCpuCache")
      .def_ro("level", &SharedCpuCache::level)
      .def_ro("cpus", &SharedCpuCache::cpus);
  nb::class_<CpuDomain>(m, "CpuDomain")
      .def_ro("number", &CpuDomain::number)
      .def_ro("cpus", &CpuDomain::cpus)
      .def_ro("cores", &CpuDomain::cores)
      .def_ro("memory_bytes", &CpuDomain::memory_bytes)
      .def_ro("distances", &CpuDomain::distances)
      .def_ro("caches", &CpuDomain::caches)
      .def_ro("shared", &CpuDomain::shared)
      .def_ro("last_level_cache_bytes", &CpuDomain::last_level_cache_bytes);
  nb::class_<MemoryDomain>(m, "MemoryDomain")
      .def_ro("number", &MemoryDomain::number)
      .def_ro("memory_bytes", &MemoryDomain::memory_bytes)
      .def_ro("distances", &MemoryDomain::distances)
      .def_ro("nearest", &MemoryDomain::nearest);
  nb::class_<CoreType>(m, "CoreType").def_ro("name", &CoreType::name).def_ro("cpus", &CoreType::cpus);
  nb::class_<CpuTopology>(m, "CpuTopology")
      .def_ro("model", &CpuTopology::model)
      .def_ro("virtual_machine", &CpuTopology::virtual_machine)
      .def_ro("domains", &CpuTopology::domains)
      .def_ro("memory_only", &CpuTopology::memory_only)
      .def_ro("core_types", &CpuTopology::core_types)
      .def_ro("notes", &CpuTopology::notes);
  m.def("read_cpus", &read_cpus, "sysfs"_a, "proc"_a, "allowed"_a);
  m.def("reads_raw_clock_by_itself",
        [](const std::string& release) { return reads_raw_clock_by_itself(release); });
  m.def("host_isa", [] { return std::string(isa_name(host_isa())); });
  m.def("host_isas", [] {
    std::vector<std::string> names;
    for (const IsaName isa : host_isas()) names.emplace_back(isa_name(isa));
    return names;
  });
  m.attr("COMPILER") = host_compiler();
}

}  // namespace byteways
