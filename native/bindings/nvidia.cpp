// NVML, and the text of the compiled kernels for inspection.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "runtimes/cuda/nvrtc.hpp"
#include "runtimes/nvml.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {

void bind_nvidia(nb::module_& m) {
  nb::class_<NvLink>(m, "NvLink")
      .def_ro("index", &NvLink::index)
      .def_ro("active", &NvLink::active)
      .def_ro("version", &NvLink::version)
      .def_ro("remote_kind", &NvLink::remote_kind)
      .def_ro("remote_pci_address", &NvLink::remote_pci_address)
      .def_ro("signalling_bytes_per_s", &NvLink::signalling_bytes_per_s);
  nb::class_<NvmlDevice>(m, "NvmlDevice")
      .def_ro("index", &NvmlDevice::index)
      .def_ro("name", &NvmlDevice::name)
      .def_ro("uuid", &NvmlDevice::uuid)
      .def_ro("pci_address", &NvmlDevice::pci_address)
      .def_ro("memory_bytes", &NvmlDevice::memory_bytes)
      .def_ro("memory_clock_mhz", &NvmlDevice::memory_clock_mhz)
      .def_ro("memory_bus_bits", &NvmlDevice::memory_bus_bits)
      .def_ro("pcie_generation", &NvmlDevice::pcie_generation)
      .def_ro("pcie_width", &NvmlDevice::pcie_width)
      .def_ro("pcie_generation_max", &NvmlDevice::pcie_generation_max)
      .def_ro("pcie_width_max", &NvmlDevice::pcie_width_max)
      .def_ro("nvlinks", &NvmlDevice::nvlinks)
      .def_ro("mig_enabled", &NvmlDevice::mig_enabled)
      .def_ro("compute_mode", &NvmlDevice::compute_mode)
      .def_ro("compute_processes", &NvmlDevice::compute_processes)
      .def_ro("numa_domain", &NvmlDevice::numa_domain);
  nb::class_<NvmlProcess>(m, "NvmlProcess")
      .def_ro("pid", &NvmlProcess::pid)
      .def_ro("kind", &NvmlProcess::kind)
      .def_ro("memory_bytes", &NvmlProcess::memory_bytes);
  nb::class_<NvmlUse>(m, "NvmlUse")
      .def_ro("processes_known", &NvmlUse::processes_known)
      .def_ro("processes", &NvmlUse::processes)
      .def_ro("utilisation_percent", &NvmlUse::utilisation_percent);
  nb::class_<NvmlHealth>(m, "NvmlHealth")
      .def_ro("sm_clock_mhz", &NvmlHealth::sm_clock_mhz)
      .def_ro("memory_clock_mhz", &NvmlHealth::memory_clock_mhz)
      .def_ro("temperature_c", &NvmlHealth::temperature_c)
      .def_ro("power_mw", &NvmlHealth::power_mw)
      .def_ro("throttle_reasons", &NvmlHealth::throttle_reasons)
      .def_ro("pcie_replays", &NvmlHealth::pcie_replays)
      .def_ro("nvlink_errors", &NvmlHealth::nvlink_errors)
      .def_ro("nvlink_data_tx_bytes", &NvmlHealth::nvlink_data_tx_bytes)
      .def_ro("nvlink_data_rx_bytes", &NvmlHealth::nvlink_data_rx_bytes);
  nb::class_<Nvml>(m, "Nvml")
      .def(nb::init<const std::string&>(), "simulator"_a = "")
      .def_prop_ro("report", [](const Nvml& nvml) { return nvml.report(); })
      .def("devices", &Nvml::devices)
      .def("health", &Nvml::health, "uuid"_a)
      .def("use", &Nvml::use, "uuid"_a)
      .def("energy_mj", &Nvml::energy_mj, "uuid"_a);
  m.def("compile_kernels", &cuda::compile_kernels, "architecture"_a,
        "library_directories"_a = std::vector<std::string>{}, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace byteways
