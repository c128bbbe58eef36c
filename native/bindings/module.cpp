// The native Python module (src/byteways/_core.pyi): nanobind only, no logic.
#include <nanobind/nanobind.h>

#include "bindings/bindings.hpp"
#include "timing/measure.hpp"

NB_MODULE(_core, m) {
  m.attr("METHOD_VERSION") = byteways::kMethodVersion;
  byteways::bind_errors(m);
  byteways::bind_cpus(m);
  byteways::bind_team(m);
  byteways::bind_session(m);
  byteways::bind_interfaces(m);
  byteways::bind_timing(m);
  byteways::bind_management(m);
  byteways::bind_kernels(m);
  byteways::bind_mpi(m);
  byteways::bind_ucx(m);
  byteways::bind_xccl(m);
  byteways::bind_direct(m);
}
