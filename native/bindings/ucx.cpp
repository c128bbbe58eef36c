// UCX: the library, and a rank in it.
#include "runtimes/ucx/ucx.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {

void bind_ucx(nb::module_& m) {
  nb::class_<Ucx>(m, "Ucx")
      .def(
          "__init__",
          [](Ucx* self, std::vector<std::string> directories, std::string simulator) {
            const nb::gil_scoped_release unlocked;
            new (self) Ucx({std::move(directories), std::move(simulator)});
          },
          "directories"_a = std::vector<std::string>(), "simulator"_a = "")
      .def_prop_ro("report", &Ucx::report);
  nb::class_<UcxRank>(m, "UcxRank")
      .def(
          "__init__",
          [](UcxRank* self, std::shared_ptr<Ucx> library, const Ranks& ranks, Session& session,
             const std::string& device) {
            const nb::gil_scoped_release unlocked;
            new (self) UcxRank(std::move(library), ranks, session, session.device(device));
          },
          nb::keep_alive<1, 4>(), "library"_a, "ranks"_a, "session"_a, "device"_a)
      .def("transports", &UcxRank::transports, "other"_a);
  m.def(
      "ucx_report",
      [](std::vector<std::string> directories, std::string simulator) {
        return find_ucx({std::move(directories), std::move(simulator)});
      },
      "directories"_a = std::vector<std::string>(), "simulator"_a = "");
}

}  // namespace byteways
