// The ranks of direct collectives.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "interfaces/direct/communicator.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {

void bind_direct(nb::module_& m) {
  nb::class_<PeerCommunicator>(m, "PeerCommunicator")
      .def(
          "__init__",
          [](PeerCommunicator* self, const Ranks& ranks, Session& session, const std::string& device) {
            const nb::gil_scoped_release unlocked;
            new (self) PeerCommunicator(ranks, session, session.device(device));
          },
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), "ranks"_a, "session"_a, "device"_a)
      .def_static(
          "all",
          [](Session& session, const std::vector<std::string>& names) {
            const nb::gil_scoped_release unlocked;
            std::vector<Device*> devices;
            for (const std::string& name : names) devices.push_back(&session.device(name));
            return PeerCommunicator::all(session, devices);
          },
          "session"_a, "devices"_a)
      .def_prop_ro("obstacle", &PeerCommunicator::obstacle);
}

}  // namespace byteways
