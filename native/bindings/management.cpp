// Bindings of the GPU management library: topology and health.
#include "runtimes/management.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {

void bind_management(nb::module_& m) {
  nb::class_<FabricLink>(m, "FabricLink")
      .def_ro("index", &FabricLink::index)
      .def_ro("active", &FabricLink::active)
      .def_ro("version", &FabricLink::version)
      .def_ro("remote_kind", &FabricLink::remote_kind)
      .def_ro("remote_pci_address", &FabricLink::remote_pci_address)
      .def_ro("signalling_bytes_per_s", &FabricLink::signalling_bytes_per_s);
  nb::class_<ManagementDevice>(m, "ManagementDevice")
      .def_ro("index", &ManagementDevice::index)
      .def_ro("name", &ManagementDevice::name)
      .def_ro("uuid", &ManagementDevice::uuid)
      .def_ro("pci_address", &ManagementDevice::pci_address)
      .def_ro("memory_bytes", &ManagementDevice::memory_bytes)
      .def_ro("memory_clock_mhz", &ManagementDevice::memory_clock_mhz)
      .def_ro("memory_bus_bits", &ManagementDevice::memory_bus_bits)
      .def_ro("pcie_generation", &ManagementDevice::pcie_generation)
      .def_ro("pcie_width", &ManagementDevice::pcie_width)
      .def_ro("pcie_generation_max", &ManagementDevice::pcie_generation_max)
      .def_ro("pcie_width_max", &ManagementDevice::pcie_width_max)
      .def_ro("fabric_links", &ManagementDevice::fabric_links)
      .def_ro("mig_enabled", &ManagementDevice::mig_enabled)
      .def_ro("compute_mode", &ManagementDevice::compute_mode)
      .def_ro("compute_processes", &ManagementDevice::compute_processes)
      .def_ro("numa_domain", &ManagementDevice::numa_domain);
  nb::class_<ManagementProcess>(m, "ManagementProcess")
      .def_ro("pid", &ManagementProcess::pid)
      .def_ro("kind", &ManagementProcess::kind)
      .def_ro("memory_bytes", &ManagementProcess::memory_bytes);
  nb::class_<ManagementUse>(m, "ManagementUse")
      .def_ro("processes_known", &ManagementUse::processes_known)
      .def_ro("processes", &ManagementUse::processes)
      .def_ro("utilisation_percent", &ManagementUse::utilisation_percent);
  nb::class_<ManagementHealth>(m, "ManagementHealth")
      .def_ro("sm_clock_mhz", &ManagementHealth::sm_clock_mhz)
      .def_ro("memory_clock_mhz", &ManagementHealth::memory_clock_mhz)
      .def_ro("temperature_c", &ManagementHealth::temperature_c)
      .def_ro("power_mw", &ManagementHealth::power_mw)
      .def_ro("throttle_reasons", &ManagementHealth::throttle_reasons)
      .def_ro("pcie_replays", &ManagementHealth::pcie_replays)
      .def_ro("nvlink_errors", &ManagementHealth::nvlink_errors)
      .def_ro("nvlink_data_tx_bytes", &ManagementHealth::nvlink_data_tx_bytes)
      .def_ro("nvlink_data_rx_bytes", &ManagementHealth::nvlink_data_rx_bytes)
      .def_ro("unknown", &ManagementHealth::unknown);
  nb::class_<ManagementLinkBytes>(m, "ManagementLinkBytes")
      .def_ro("fabric_tx_bytes", &ManagementLinkBytes::fabric_tx_bytes)
      .def_ro("fabric_rx_bytes", &ManagementLinkBytes::fabric_rx_bytes)
      .def_ro("pcie_tx_bytes", &ManagementLinkBytes::pcie_tx_bytes)
      .def_ro("pcie_rx_bytes", &ManagementLinkBytes::pcie_rx_bytes);
  m.def("announce_management_calls", &announce_management_calls, "descriptor"_a);
  nb::class_<Management>(m, "Management")
      .def(nb::init<const std::string&>(), "simulator"_a = "")
      .def_prop_ro("report", [](const Management& library) { return library.report(); })
      .def("devices", &Management::devices)
      .def("health", &Management::health, "uuid"_a)
      .def("link_bytes", &Management::link_bytes, "uuid"_a)
      .def("use", &Management::use, "uuid"_a, "with_utilisation"_a = true)
      .def("energy_mj", &Management::energy_mj, "uuid"_a);
}

}  // namespace byteways
