// Bindings of teams of ranks: teams of threads, and teams with a transport in Python.
#include "timing/team.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <nanobind/trampoline.h>

#include "bindings/bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {
namespace {

struct PythonTeam : Team {
  NB_TRAMPOLINE(Team, 3);
  int rank() const override { NB_OVERRIDE_PURE(rank); }
  int size() const override { NB_OVERRIDE_PURE(size); }
  std::vector<Vote> exchange(const Vote& mine) override { NB_OVERRIDE_PURE(exchange, mine); }
};

using Unlocked = nb::call_guard<nb::gil_scoped_release>;

void bind_vote(nb::module_& m) {
  nb::class_<Vote>(m, "Vote")
      .def(nb::init<>())
      .def(nb::init<const Vote&>(), "vote"_a)
      .def_rw("question", &Vote::question)
      .def_rw("values", &Vote::values)
      .def_rw("text", &Vote::text)
      .def_rw("failed", &Vote::failed)
      .def_rw("kind", &Vote::kind)
      .def_rw("call", &Vote::call)
      .def_rw("code", &Vote::code)
      .def_rw("device", &Vote::device)
      .def_rw("rank", &Vote::rank);
}

}  // namespace

void bind_team(nb::module_& m) {
  bind_vote(m);
  nb::class_<Team, PythonTeam>(m, "Team")
      .def(nb::init<>())
      .def("rank", &Team::rank)
      .def("size", &Team::size)
      .def("barrier", &Team::barrier, "question"_a, Unlocked())
      .def("agree_max", nb::overload_cast<std::string_view, double>(&Team::agree_max), "question"_a, "mine"_a,
           Unlocked())
      .def("agree_all", &Team::agree_all, "question"_a, "mine"_a, Unlocked())
      .def("agree_any", &Team::agree_any, "question"_a, "mine"_a, Unlocked())
      .def("agree_text", &Team::agree_text, "question"_a, "mine"_a, Unlocked())
      .def("gather", nb::overload_cast<std::string_view, double>(&Team::gather), "question"_a, "mine"_a,
           Unlocked())
      .def("broadcast", &Team::broadcast, "question"_a, "mine"_a, "from_rank"_a, Unlocked())
      .def("together", &Team::together, "name"_a, "phase"_a, Unlocked());
  m.def(
      "run_thread_team",
      [](int size, const nb::callable& body) {
        const auto play = [&](Team& team) {
          const nb::gil_scoped_acquire locked;
          body(nb::cast(&team, nb::rv_policy::reference));
        };
        const nb::gil_scoped_release unlocked;
        run_thread_team(size, play);
      },
      "size"_a, "body"_a);
}

}  // namespace byteways
