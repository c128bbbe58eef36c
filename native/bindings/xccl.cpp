// NCCL and RCCL: the library, and the ranks of a communicator in it.
#include "runtimes/xccl/xccl.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {

void bind_xccl(nb::module_& m) {
  nb::class_<Xccl>(m, "Xccl")
      .def(
          "__init__",
          [](Xccl* self, std::string vendor, std::vector<std::string> directories, std::string simulator) {
            const nb::gil_scoped_release unlocked;
            new (self) Xccl({std::move(vendor), std::move(directories), std::move(simulator)});
          },
          "vendor"_a, "directories"_a = std::vector<std::string>(), "simulator"_a = "")
      .def_prop_ro("report", &Xccl::report)
      .def(
          "allocate",
          [](const std::shared_ptr<Xccl>& library, Session& session, const std::string& device,
             std::uint64_t bytes) { return Xccl::allocate(library, session, session.device(device), bytes); },
          "session"_a, "device"_a, "bytes"_a, nb::keep_alive<0, 2>(),
          nb::call_guard<nb::gil_scoped_release>())
      .def("register_obstacle", &Xccl::register_obstacle, "ranks"_a)
      .def("put_obstacle", &Xccl::put_obstacle);
  nb::class_<XcclCommunicator>(m, "XcclCommunicator")
      .def(
          "__init__",
          [](XcclCommunicator* self, std::shared_ptr<Xccl> library, const Ranks& ranks, Session& session,
             const std::string& device) {
            const nb::gil_scoped_release unlocked;
            new (self) XcclCommunicator(std::move(library), ranks, session, session.device(device));
          },
          nb::keep_alive<1, 4>(), "library"_a, "ranks"_a, "session"_a, "device"_a)
      .def_static(
          "all",
          [](const std::shared_ptr<Xccl>& library, Session& session, const std::vector<std::string>& names) {
            const nb::gil_scoped_release unlocked;
            std::vector<Device*> devices;
            for (const std::string& name : names) devices.push_back(&session.device(name));
            return XcclCommunicator::all(library, session, devices);
          },
          "library"_a, "session"_a, "devices"_a)
      .def_prop_ro("usable", &XcclCommunicator::usable);
  m.def(
      "xccl_report",
      [](std::string vendor, std::vector<std::string> directories, std::string simulator) {
        return find_xccl({std::move(vendor), std::move(directories), std::move(simulator)});
      },
      "vendor"_a, "directories"_a = std::vector<std::string>(), "simulator"_a = "");
}

}  // namespace byteways
