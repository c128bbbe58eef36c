// Bindings of sessions, devices, buffers and library reports.
#include "runtimes/session.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.hpp"
#include "interfaces/pattern.hpp"
#include "timing/load_generator.hpp"
#include "timing/measure.hpp"
#include "timing/rank_team.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {
namespace {

// Flows and the objects that own their buffers, independent of the caller's list.
struct KeptFlows {
  explicit KeptFlows(const nb::sequence& flows) : objects(flows) {
    if (!nb::try_cast(objects, made)) throw nb::type_error("a sequence of flows is needed");
  }
  nb::tuple objects;
  std::vector<Flow> made;
};

Measurement measure_flows(Session& session, const nb::sequence& flows, const MeasureOptions& options,
                          Team* team) {
  const KeptFlows kept(flows);
  nb::gil_scoped_release unlocked;
  SoloTeam alone;
  Team& ranks = team == nullptr ? alone : *team;
  const bool may_use_python = team != nullptr && dynamic_cast<RankTeam*>(team) == nullptr;
  if (may_use_python) return measure(session, kept.made, options, ranks);
  Measurement measured;
  session.clock().carry([&] { measured = measure(session, kept.made, options, ranks); });
  return measured;
}

struct Sustained {
  KeptFlows flows;
  std::unique_ptr<LoadGenerator> generator;  // destroyed before the flows
};

std::unique_ptr<Sustained> sustain_flows(Session& session, const nb::sequence& flows, double slice_s,
                                         bool interference) {
  auto made = std::make_unique<Sustained>(Sustained{KeptFlows(flows), nullptr});
  nb::gil_scoped_release unlocked;
  made->generator = std::make_unique<LoadGenerator>(session, made->flows.made, slice_s, interference);
  return made;
}

void bind_load_generator(nb::module_& m) {
  nb::class_<Sustained>(m, "LoadGenerator")
      .def("start", [](Sustained& load) { load.generator->start(); })
      .def(
          "finish", [](Sustained& load) { load.generator->finish(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("operations", [](const Sustained& load) { return load.generator->operations(); })
      .def_prop_ro("moved_bytes", [](const Sustained& load) { return load.generator->moved_bytes(); });
}

constexpr DataService kDataService{
    &fill,
    [](Session& session, Device& by, void* data, std::uint64_t words) {
      poison(session, by, data, words, 1);
    },
    [](Session& session, Device& by, void* data, std::uint64_t words, std::uint64_t key) -> std::uint64_t {
      return check(session, by, data, words, key).bad_count;
    }};

// The engines that a copy between two devices may select; assumes page-locked host memory.
CopyEngines copy_engines(const Device& source, const Device& destination) {
  const auto device = [](const Device& device) { return device.is_host() ? -1 : device.ordinal; };
  const Device& issuer = source.is_host() ? destination : source;
  if (!source.is_host() && !destination.is_host() && source.runtime != destination.runtime)
    return {0, {}, Session::different_runtimes(source, destination)};
  const Offer<EngineChoice>& choice = issuer.runtime->capability<EngineChoice>();
  if (!choice) return {0, {}, choice.reason};
  return choice->engines({device(source), device(destination), false});
}

// The indices of the set bits.
std::vector<int> engine_numbers(const CopyEngines& engines) {
  std::vector<int> numbers;
  for (int engine = 0; engine < 32; ++engine)
    if ((engines.mask >> engine & 1) != 0) numbers.push_back(engine);
  return numbers;
}

void bind_libraries(nb::module_& m) {
  nb::class_<CopyEngines>(m, "CopyEngines")
      .def_prop_ro("engines", &engine_numbers)
      .def_ro("reason", &CopyEngines::reason);
  nb::class_<Availability>(m, "Availability")
      .def_ro("available", &Availability::available)
      .def_ro("reason", &Availability::reason);
  nb::class_<MissingFunction>(m, "MissingFunction")
      .def_ro("name", &MissingFunction::name)
      .def_ro("introduced_in", &MissingFunction::introduced_in)
      .def_ro("required", &MissingFunction::required);
  nb::class_<LibraryReport>(m, "LibraryReport")
      .def_ro("library", &LibraryReport::library)
      .def_ro("usable", &LibraryReport::usable)
      .def_ro("path", &LibraryReport::path)
      .def_ro("found_by", &LibraryReport::found_by)
      .def_ro("version", &LibraryReport::version)
      .def_ro("searched", &LibraryReport::searched)
      .def_ro("missing", &LibraryReport::missing)
      .def_ro("reason", &LibraryReport::reason)
      .def_ro("hint", &LibraryReport::hint);
}

void bind_devices(nb::module_& m) {
  nb::class_<Device>(m, "Device")
      .def_prop_ro("name", [](const Device& d) { return d.info.name; })
      .def_prop_ro("runtime", [](const Device& a) { return std::string(a.runtime->name()); })
      .def_prop_ro("runtime_version", [](const Device& a) { return a.runtime->version(); })
      .def_prop_ro("model", [](const Device& d) { return d.info.model; })
      .def_prop_ro("uuid", [](const Device& d) { return d.info.uuid; })
      .def_prop_ro("pci_address", [](const Device& d) { return d.info.pci_address; })
      .def_prop_ro("architecture", [](const Device& d) { return d.info.architecture; })
      .def_prop_ro("numa_domain", [](const Device& d) { return d.info.numa_domain; })
      .def_prop_ro("multiprocessors", [](const Device& d) { return d.info.multiprocessors; })
      .def_prop_ro("memory_bytes", [](const Device& d) { return d.info.memory_bytes; })
      .def_prop_ro("last_level_cache_bytes", [](const Device& d) { return d.info.last_level_cache_bytes; })
      .def_prop_ro("memory_bytes_per_s", [](const Device& d) { return d.info.memory_bytes_per_s; })
      .def_prop_ro("copy_engines", [](const Device& d) { return d.info.copy_engines; })
      .def_prop_ro("pageable_access", [](const Device& d) { return d.info.pageable_access; })
      .def_prop_ro("host_access", [](const Device& d) { return d.info.host_access; });
  nb::class_<Buffer>(m, "Buffer")
      .def_prop_ro("device", [](const Buffer& b) { return b.device().name(); })
      .def_prop_ro("memory",
                   [](const Buffer& b) { return std::string(memory_name(b.allocation().memory())); })
      .def_prop_ro("first_touch", [](const Buffer& b) { return b.first_touch().name(); })
      .def_prop_ro("bytes", &Buffer::bytes)
      .def_prop_ro("page_bytes", [](const Buffer& b) { return b.allocation().page_bytes(); })
      .def_prop_ro("address", [](const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data()); })
      .def("placement", &Buffer::placement)
      // The IPC handle of this memory; throws Unsupported if there is none.
      .def("handle", [](const Buffer& b) {
        return b.device().runtime->capability<ProcessHandles>()->handle_of(b.allocation());
      });
}

}  // namespace

void bind_session(nb::module_& m) {
  bind_libraries(m);
  bind_devices(m);
  bind_load_generator(m);
  nb::class_<Session>(m, "Session")
      .def(
          "__init__",
          [](Session* self, std::vector<std::string> directories, std::string cache, bool gpus,
             std::string simulator, std::string machine) {
            nb::gil_scoped_release unlocked;
            new (self) Session(
                {std::move(directories), std::move(cache), gpus, std::move(simulator), std::move(machine)},
                kDataService);
          },
          nb::kw_only(), "library_directories"_a = std::vector<std::string>{}, "kernel_cache"_a = "",
          "gpus"_a = true, "simulator"_a = "", "machine"_a = "")
      .def_prop_ro(
          "devices",
          [](const Session& session) {
            std::vector<const Device*> devices;
            for (const auto& device : session.devices()) devices.push_back(device.get());
            return devices;
          },
          nb::rv_policy::reference_internal)
      .def_prop_ro("libraries", [](const Session& session) { return session.libraries(); })
      .def_prop_ro("virtual_time", [](const Session& session) { return !session.clock().runs_by_itself(); })
      .def(
          "offers",
          [](const Session& session, const std::string& device, const std::string& memory) {
            return session.offers(session.device(device), memory_from_name(memory));
          },
          "device"_a, "memory"_a)
      .def(
          "offers_kernel",
          [](const Session& session, const std::string& device, const std::string& kernel) {
            const Device& found = session.device(device);
            return found.runtime->offers_kernel(found.ordinal, kernel);
          },
          "device"_a, "kernel"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "offers_call",
          [](const Session& session, const std::string& device, const std::string& call) {
            Runtime& runtime = *session.device(device).runtime;
            if (call == "copy-2d") return runtime.capability<Copies2D>().availability();
            if (call == "graph") return runtime.capability<Graphs>().availability();
            if (call == "batch") return runtime.capability<CopyBatches>().availability();
            const Offer<CopyCalls>& copies = runtime.capability<CopyCalls>();
            for (const auto& [name, known] : {std::pair{"copy-blocking", CopyCall::blocking},
                                              {"copy-peer", CopyCall::peer},
                                              {"copy-peer-blocking", CopyCall::peer_blocking}})
              if (call == name) return copies ? copies.object->offers(known) : copies.availability();
            if (call == "memset-blocking")
              return copies ? copies.object->offers_blocking_set() : copies.availability();
            if (call != "prefetch-to-domain")
              throw Unsupported("call", "unknown", "no call is named '" + call + "'");
            const Offer<ManagedPages>& pages = runtime.capability<ManagedPages>();
            return pages ? pages->names_domains() : pages.availability();
          },
          "device"_a, "call"_a)
      .def(
          "handle_obstacle",
          [](const Session& session, const std::string& device) -> std::string {
            return session.device(device).runtime->capability<ProcessHandles>().reason;
          },
          "device"_a)
      .def(
          "copy_engines",
          [](const Session& session, const std::string& source, const std::string& destination) {
            return copy_engines(session.device(source), session.device(destination));
          },
          "source"_a, "destination"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "prove_peer",
          [](Session& session, const std::string& executor, const std::string& owner,
             const std::string& memory) {
            return session.prove_peer(session.device(executor), session.device(owner),
                                      memory_from_name(memory));
          },
          "executor"_a, "owner"_a, "memory"_a = "device", nb::call_guard<nb::gil_scoped_release>())
      .def(
          "allocate",
          [](Session& session, const std::string& device, const std::string& memory, std::uint64_t bytes,
             const std::string& first_touch, const std::string& user) {
            return session.allocate(session.device(device), memory_from_name(memory), bytes,
                                    session.device(first_touch),
                                    user.empty() ? nullptr : &session.device(user));
          },
          "device"_a, "memory"_a, "bytes"_a, "first_touch"_a, nb::kw_only(), "user"_a = "",
          nb::keep_alive<0, 1>(), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "open_exported",
          [](Session& session, const std::string& device, std::uint64_t bytes, const std::string& opener,
             const std::string& handle) {
            return session.open_exported(session.device(device), bytes, session.device(opener), handle, true);
          },
          "device"_a, "bytes"_a, "opener"_a, "handle"_a, nb::keep_alive<0, 1>(),
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "free_bytes",
          [](const Session& session, const std::string& device) {
            return session.free_bytes(session.device(device));
          },
          "device"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("measure", &measure_flows, "flows"_a, "options"_a, "team"_a.none() = nb::none())
      .def("sustain", &sustain_flows, "flows"_a, "slice_s"_a, nb::kw_only(), "interference"_a = false,
           nb::keep_alive<0, 1>());
  m.def("load_machine", &load_machine, "simulator"_a, "machine"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("restart_machine", &restart_machine, "simulator"_a, "machine"_a, "key"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("join_machine", &join_machine, "simulator"_a, "machine"_a, "rank"_a, "size"_a,
        nb::call_guard<nb::gil_scoped_release>());
  m.def("act_as_other_process", &act_as_other_process, "simulator"_a, "machine"_a, "other"_a);
  m.def("machine_at_fault", &at_fault, "simulator"_a, "machine"_a);
  m.def("leave_machine", &leave_machine, "simulator"_a, "machine"_a,
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace byteways
