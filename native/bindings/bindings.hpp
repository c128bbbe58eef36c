// One function per part of the module.
#pragma once
#include <nanobind/nanobind.h>

namespace byteways {
void bind_errors(nanobind::module_& m);
void bind_cpus(nanobind::module_& m);
void bind_session(nanobind::module_& m);
void bind_interfaces(nanobind::module_& m);
void bind_team(nanobind::module_& m);
void bind_timing(nanobind::module_& m);
void bind_management(nanobind::module_& m);
void bind_kernels(nanobind::module_& m);
void bind_mpi(nanobind::module_& m);
void bind_ucx(nanobind::module_& m);
void bind_xccl(nanobind::module_& m);
void bind_direct(nanobind::module_& m);
}  // namespace byteways
