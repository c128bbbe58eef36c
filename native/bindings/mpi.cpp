// Ranks: processes of MPI, with the library, or threads of this process; and the team they make.
#include "runtimes/mpi/mpi.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "runtimes/mpi/patient.hpp"
#include "runtimes/process_ranks.hpp"
#include "runtimes/session.hpp"
#include "runtimes/thread_ranks.hpp"
#include "timing/clock_offset.hpp"
#include "timing/rank_team.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {
namespace {

using Unlocked = nb::call_guard<nb::gil_scoped_release>;

nb::bytes broadcast(const Ranks& ranks, const nb::bytes& mine, int root) {
  std::string all(mine.c_str(), mine.size());
  {
    const nb::gil_scoped_release unlocked;
    all = ranks.broadcast_bytes(std::move(all), root);
  }
  return nb::bytes(all.data(), all.size());
}

nb::list gather(const Ranks& ranks, const nb::bytes& mine) {
  const std::string own(mine.c_str(), mine.size());
  std::vector<std::string> all;
  {
    const nb::gil_scoped_release unlocked;
    all = ranks.gather_bytes(own);
  }
  nb::list list;
  for (const std::string& each : all) list.append(nb::bytes(each.data(), each.size()));
  return list;
}

nb::bytes patient_broadcast_of(const Communicator& ranks, const nb::bytes& mine, int root) {
  std::string all(mine.c_str(), mine.size());
  {
    const nb::gil_scoped_release unlocked;
    all = patient_broadcast(ranks, std::move(all), root);
  }
  return nb::bytes(all.data(), all.size());
}

nb::list patient_collect_of(const Communicator& ranks, const nb::bytes& mine, int root,
                            const std::vector<int>& from, double patience_s) {
  const std::string own(mine.c_str(), mine.size());
  std::vector<std::optional<std::string>> all;
  {
    const nb::gil_scoped_release unlocked;
    all = patient_collect(ranks, own, root, from, patience_s);
  }
  nb::list list;
  for (const auto& each : all) {
    if (each)
      list.append(nb::bytes(each->data(), each->size()));
    else
      list.append(nb::none());
  }
  return list;
}

void bind_between_hosts(nb::module_& m) {
  m.def("patient_broadcast", &patient_broadcast_of, "ranks"_a, "data"_a, "root"_a);
  m.def("patient_collect", &patient_collect_of, "ranks"_a, "data"_a, "root"_a, "senders"_a, "patience_s"_a);
  nb::class_<ClockOffset>(m, "ClockOffset")
      .def_ro("offset_ns", &ClockOffset::offset_ns)
      .def_ro("uncertainty_ns", &ClockOffset::uncertainty_ns)
      .def_ro("round_trips", &ClockOffset::round_trips);
  m.def(
      "estimate_clock_offsets",
      [](const Communicator& ranks, Session& session, int round_trips) {
        return estimate_clock_offsets(ranks, session.clock(), round_trips);
      },
      "ranks"_a, "session"_a, "round_trips"_a, Unlocked());
}

void bind_ranks(nb::module_& m) {
  nb::class_<Ranks>(m, "Ranks")
      .def_prop_ro("rank", &Ranks::rank)
      .def_prop_ro("size", &Ranks::size)
      .def("broadcast", &broadcast, "data"_a, "root"_a)
      .def("gather", &gather, "data"_a);
  nb::class_<Communicator, Ranks>(m, "Communicator")
      .def("split", &Communicator::split, "color"_a, "key"_a = 0, Unlocked())
      .def("split_by_host", &Communicator::split_by_host, Unlocked())
      .def(
          "message_to_self",
          [](const Communicator& ranks, const Buffer& buffer) {
            ranks.message_to_self(buffer.data(), static_cast<std::int64_t>(buffer.bytes() / 2));
          },
          "buffer"_a, Unlocked())
      .def("barrier", &Communicator::barrier, Unlocked());
  nb::class_<ProcessRanks, Ranks>(m, "ProcessRanks")
      .def_static("join", &ProcessRanks::join, "folder"_a, "rank"_a, "size"_a, "patience_s"_a, Unlocked())
      .def("split", &ProcessRanks::split, "color"_a, "key"_a = 0, Unlocked());
  nb::class_<ThreadRanks, Ranks>(m, "ThreadRanks")
      .def_static("make", &ThreadRanks::make, "size"_a)
      .def("split", &ThreadRanks::split, "color"_a, "key"_a = 0, Unlocked())
      .def("leave", &ThreadRanks::leave, "cause"_a, Unlocked());
}

constexpr const char* kThreadLevels[] = {"single", "funneled", "serialized", "multiple"};

int thread_level(const std::string& word) {
  for (int level = kSingle; level <= kMultiple; ++level)
    if (word == kThreadLevels[level]) return level;
  throw Error("MPI_Init_thread", word, "no thread level: they are single, funneled, serialized and multiple");
}

void bind_library(nb::module_& m) {
  nb::class_<Mpi>(m, "Mpi")
      .def(
          "__init__",
          [](Mpi* self, std::string shims, std::vector<std::string> directories, std::string simulator,
             const std::string& threads) {
            const nb::gil_scoped_release unlocked;
            new (self)
                Mpi({std::move(shims), std::move(directories), std::move(simulator), thread_level(threads)});
          },
          "shims"_a, "directories"_a = std::vector<std::string>(), "simulator"_a = "",
          "threads"_a = kThreadLevels[kSingle])
      .def_prop_ro("report", &Mpi::report)
      .def_prop_ro("abi", &Mpi::abi)
      .def_prop_ro("world", &Mpi::world)
      .def("plain_world", &Mpi::plain_world)
      .def("says_device_support", &Mpi::says_device_support, "vendor"_a)
      .def("finalize", &Mpi::finalize, Unlocked())
      .def("abort", &Mpi::abort, "code"_a, Unlocked());
  m.def(
      "mpi_report",
      [](std::string shims, std::vector<std::string> directories, std::string simulator,
         std::string launcher) {
        LibraryReport report;
        std::string abi;
        open_mpi_table(
            {std::move(shims), std::move(directories), std::move(simulator), kSingle, std::move(launcher)},
            report, abi);
        return report;
      },
      "shims"_a, "directories"_a = std::vector<std::string>(), "simulator"_a = "", "launcher"_a = "");
}

}  // namespace

void bind_mpi(nb::module_& m) {
  bind_ranks(m);
  bind_library(m);
  bind_between_hosts(m);
  nb::class_<RankTeam, Team>(m, "RankTeam")
      .def(nb::init<const Ranks&>(), "ranks"_a, nb::keep_alive<1, 2>())
      .def("leave", &RankTeam::leave, "cause"_a, Unlocked());
  m.def(
      "run_rank_team",
      [](const Ranks& ranks, const nb::callable& body) {
        const auto play = [&](Team& team) {
          const nb::gil_scoped_acquire locked;
          body(nb::cast(&team, nb::rv_policy::reference));
        };
        const nb::gil_scoped_release unlocked;
        run_rank_team(ranks, play);
      },
      "ranks"_a, "body"_a);
}

}  // namespace byteways
