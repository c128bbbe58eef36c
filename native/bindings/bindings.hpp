// One function per part of the module.
#pragma once
#include <nanobind/nanobind.h>

namespace byteways {
void bind_errors(nanobind::module_& m);
void bind_session(nanobind::module_& m);
void bind_team(nanobind::module_& m);
void bind_timing(nanobind::module_& m);
void bind_nvidia(nanobind::module_& m);
void bind_hip(nanobind::module_& m);
}  // namespace byteways
