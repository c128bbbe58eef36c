// Bindings of flows, options and measurements, and of statistics for tests and for reading runs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/bindings.hpp"
#include "interfaces/direct/communicator.hpp"
#include "runtimes/ucx/ucx.hpp"
#include "timing/measure.hpp"
#include "timing/timed_calls.hpp"
#include "timing/window.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace byteways {
namespace {

// The number of samples at which the stopping rule stops on this series, given enough time; 0 if it never
// does.
std::uint64_t stop(const std::vector<double>& series, double precision, std::uint64_t rounds,
                   double resolution) {
  StoppingRule rule(precision, std::max<std::uint64_t>(1, rounds), resolution);
  std::vector<double> samples;
  for (double value : series) {
    samples.push_back(value);
    if (rule.enough(samples)) return samples.size();
  }
  return 0;
}

std::vector<Warning> warnings_of(const std::vector<double>& samples, double resolution) {
  std::vector<Warning> warnings;
  for (const SeriesWarning& found : series_warnings(samples, resolution))
    warnings.push_back({found.id, found.observed, found.required, "1"});
  return warnings;
}

// Why a batch with these total times in ns would be discarded; empty if it would not.
std::string contradiction_of(double device_ns, double submit_ns, double host_ns, bool gated, bool gate_opened,
                             double resolution_ns) {
  return contradiction({{device_ns, submit_ns, host_ns}, 1, gated, gate_opened, resolution_ns});
}

// Why each slope counts for nothing, given the times of its shorter and its longer batch.
std::vector<std::string> judge_slopes(const std::vector<std::pair<double, double>>& batches,
                                      const std::vector<double>& warm_up_ns) {
  Slopes slopes;
  for (const double shorter_ns : warm_up_ns) slopes.note(shorter_ns);
  std::vector<std::string> reasons;
  for (const auto& [shorter_ns, longer_ns] : batches) reasons.push_back(slopes.judge(shorter_ns, longer_ns));
  return reasons;
}

// The samples that count, given those with and without a reason to discard them, and whether all count.
std::pair<std::vector<double>, bool> settle(const std::vector<std::pair<double, std::string>>& samples) {
  Series series;
  for (const auto& [time_ns, reason] : samples) series.add({time_ns, {}, reason, {}, {}});
  series.settle();
  return {series.times_ns(), series.keeps_all()};
}

using RecordedFlow = std::tuple<double, std::vector<double>, std::vector<std::uint64_t>>;

// Rates in operations per ns, and overlap, of concurrent flows.
std::pair<std::vector<double>, double> window(const std::vector<RecordedFlow>& flows, bool interference,
                                              int cut_at) {
  std::vector<Trace> traces;
  if (flows.empty() || cut_at >= static_cast<int>(flows.size()))
    throw Error("window", "flows", "there is no such flow");
  for (const auto& [released, marks, operations] : flows)
    if (marks.empty() || marks.size() != operations.size())
      throw Error("window", "marks", "a flow has as many marks as counts of operations, and one at least");
  for (const auto& [released, marks, operations] : flows) traces.push_back({released, marks, operations});
  constexpr std::uint64_t kPerSecond = 1'000'000'000;
  WindowSample sample = evaluate(traces, std::vector<std::uint64_t>(traces.size(), 1), interference, cut_at);
  for (double& rate : sample.rates) rate /= kPerSecond;
  return {sample.rates, sample.overlap};
}

void bind_options(nb::module_& m) {
  nb::class_<MeasureOptions>(m, "MeasureOptions")
      .def(nb::init<>())
      .def_rw("precision", &MeasureOptions::precision)
      .def_rw("rounds", &MeasureOptions::rounds)
      .def_rw("budget_s", &MeasureOptions::budget_s)
      .def_rw("max_samples", &MeasureOptions::max_samples)
      .def_rw("interference", &MeasureOptions::interference)
      .def_rw("gate", &MeasureOptions::gate)
      .def_rw("gate_timeout_s", &MeasureOptions::gate_timeout_s)
      .def_rw("batch", &MeasureOptions::batch)
      .def_rw("cap_depth", &MeasureOptions::cap_depth)
      .def_rw("key", &MeasureOptions::key)
      .def_rw("cores", &MeasureOptions::cores)
      .def_rw("clock_offset_ns", &MeasureOptions::clock_offset_ns);
}

void bind_flow(nb::module_& m) {
  nb::class_<Flow>(m, "Flow").def(
      "__init__",
      [](Flow* self, Buffer* source, Buffer* destination, const std::string& executor, std::string interface,
         std::uint64_t size, bool cold, Buffer* second_source, const std::string& partner, const Ranks* ranks,
         XcclCommunicator* xccl, PeerCommunicator* peers, UcxRank* ucx, std::vector<Flow> others,
         const nb::kwargs& options) {
        if ((source == nullptr && destination == nullptr) ||
            (ranks == nullptr && (source == nullptr || destination == nullptr)))
          throw Error("flow", "buffers", "only flows between ranks may lack a buffer, and of one end only");
        Session& session = (source == nullptr ? destination : source)->session();
        auto flow = std::make_unique<Flow>();
        for (const auto& [name, value] : options) {
          const auto option = nb::cast<std::string>(name);
          if (nb::isinstance<nb::str>(value))
            flow->options[option] = nb::cast<std::string>(value);
          else
            flow->options[option] = nb::cast<std::int64_t>(value);
        }
        flow->source = source;
        flow->destination = destination;
        flow->executor = &session.device(executor);
        flow->interface = std::move(interface);
        flow->size_bytes = size;
        flow->cold = cold;
        flow->second_source = second_source;
        flow->partner = partner.empty() ? nullptr : &session.device(partner);
        flow->ranks = ranks;
        flow->xccl = xccl;
        flow->peers = peers;
        flow->ucx = ucx;
        flow->others = std::move(others);
        new (self) Flow(std::move(*flow));
      },
      nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 8>(), nb::keep_alive<1, 10>(),
      nb::keep_alive<1, 11>(), nb::keep_alive<1, 12>(), nb::keep_alive<1, 13>(), nb::keep_alive<1, 14>(),
      "source"_a.none(), "destination"_a.none(), "executor"_a, "interface"_a, "size_bytes"_a, nb::kw_only(),
      "cold"_a = true, "second_source"_a.none() = nb::none(), "partner"_a = "", "ranks"_a.none() = nb::none(),
      "xccl"_a.none() = nb::none(), "peers"_a.none() = nb::none(), "ucx"_a.none() = nb::none(),
      "others"_a = std::vector<Flow>(), "options"_a);
}

void bind_results(nb::module_& m) {
  nb::class_<Summary>(m, "Summary")
      .def_ro("n", &Summary::n)
      .def_ro("median", &Summary::median)
      .def_ro("min", &Summary::min)
      .def_ro("max", &Summary::max)
      .def_ro("mean", &Summary::mean)
      .def_ro("sd", &Summary::sd)
      .def_prop_ro("ci95", [](const Summary& s) { return std::pair(s.ci95.low, s.ci95.high); })
      .def_ro("variance_inflation", &Summary::variance_inflation);
  nb::class_<Warning>(m, "Warning")
      .def_ro("id", &Warning::id)
      .def_ro("observed", &Warning::observed)
      .def_ro("required", &Warning::required)
      .def_ro("unit", &Warning::unit);
  nb::class_<Verification>(m, "Verification")
      .def(
          "__init__",
          [](Verification* self, std::uint64_t checked_bytes, std::uint64_t bad_count,
             std::uint64_t first_offset_bytes, std::uint64_t expected, std::uint64_t got) {
            new (self) Verification();
            self->ok = bad_count == 0;
            self->checked_bytes = checked_bytes;
            self->bad_count = bad_count;
            self->first_offset_bytes = first_offset_bytes;
            self->expected = expected;
            self->got = got;
          },
          "checked_bytes"_a, "bad_count"_a = 0, "first_offset_bytes"_a = 0, "expected"_a = 0, "got"_a = 0)
      .def_ro("ok", &Verification::ok)
      .def_ro("checked_bytes", &Verification::checked_bytes)
      .def_ro("bad_count", &Verification::bad_count)
      .def_ro("first_offset_bytes", &Verification::first_offset_bytes)
      .def_ro("expected", &Verification::expected)
      .def_ro("got", &Verification::got)
      .def_ro("guard_of", &Verification::guard_of)
      .def_ro("buffer_bytes", &Verification::buffer_bytes);
  nb::class_<SideResidency>(m, "SideResidency")
      .def_ro("side", &SideResidency::side)
      .def_prop_ro("sampled", [](const SideResidency& s) { return s.where.sampled; })
      .def_prop_ro("on_host", [](const SideResidency& s) { return s.where.on_host; })
      .def_prop_ro("on_gpus", [](const SideResidency& s) { return s.where.on_gpus; })
      .def_prop_ro("prefetched_to", [](const SideResidency& s) { return s.where.prefetched_to; });
  nb::class_<FlowResult>(m, "FlowResult")
      .def_ro("bytes_per_s", &FlowResult::bytes_per_s)
      .def_ro("end_to_end_bytes_per_s", &FlowResult::end_to_end_bytes_per_s)
      .def_ro("start_skew_ns", &FlowResult::start_skew_ns)
      .def_ro("verification", &FlowResult::verification)
      .def_ro("parts", &FlowResult::parts)
      .def_ro("before", &FlowResult::before)
      .def_ro("after", &FlowResult::after)
      .def_ro("timed", &FlowResult::timed)
      .def_ro("bytes_per_touch", &FlowResult::bytes_per_touch)
      .def_prop_ro("blocks", [](const FlowResult& f) { return f.shape.blocks; })
      .def_prop_ro("threads", [](const FlowResult& f) { return f.shape.threads; });
  nb::class_<Times>(m, "Times")
      .def_ro("device_ns", &Times::device_ns)
      .def_ro("submit_ns", &Times::submit_ns)
      .def_ro("host_ns", &Times::host_ns);
  nb::class_<Discarded>(m, "Discarded")
      .def_ro("reason", &Discarded::reason)
      .def_ro("time_ns", &Discarded::time_ns);
  nb::class_<Trace>(m, "Trace")
      .def_ro("released", &Trace::released)
      .def_ro("marks", &Trace::marks)
      .def_ro("operations", &Trace::operations);
  nb::class_<RankSkew>(m, "RankSkew")
      .def_ro("begin_ns", &RankSkew::begin_ns)
      .def_ro("end_ns", &RankSkew::end_ns)
      .def_ro("begins_last", &RankSkew::begins_last)
      .def_ro("waiting", &RankSkew::waiting)
      .def_ro("time_ns", &RankSkew::time_ns);
  nb::class_<Fallback>(m, "Fallback")
      .def_ro("from_", &Fallback::from)
      .def_ro("to", &Fallback::to)
      .def_ro("reason", &Fallback::reason);
  nb::class_<EvidenceFields>(m, "EvidenceFields")
      .def_ro("window_messages", &EvidenceFields::window_messages)
      .def_ro("library", &EvidenceFields::library)
      .def_ro("library_version", &EvidenceFields::library_version)
      .def_ro("call", &EvidenceFields::call)
      .def_ro("fallback", &EvidenceFields::fallback)
      .def_ro("transports", &EvidenceFields::transports)
      .def_ro("own_caches", &EvidenceFields::own_caches);
  nb::class_<Measurement>(m, "Measurement")
      .def_ro("times", &Measurement::times)
      .def_ro("discarded", &Measurement::discarded)
      .def_ro("traces", &Measurement::traces)
      .def_ro("host_ns", &Measurement::host_ns)
      .def_ro("samples_ns", &Measurement::samples_ns)
      .def_ro("time_ns", &Measurement::time_ns)
      .def_ro("batch", &Measurement::batch)
      .def_ro("slope", &Measurement::slope)
      .def_ro("gated", &Measurement::gated)
      .def_ro("verified", &Measurement::verified)
      .def_ro("verified_every_sample", &Measurement::verified_every_sample)
      .def_ro("verified_first", &Measurement::verified_first)
      .def_ro("timed_by", &Measurement::timed_by)
      .def_ro("timer_resolution_ns", &Measurement::timer_resolution_ns)
      .def_ro("submit_ns", &Measurement::submit_ns)
      .def_ro("first_ns", &Measurement::first_ns)
      .def_ro("clock_alignment_ns", &Measurement::clock_alignment_ns)
      .def_ro("window_ns", &Measurement::window_ns)
      .def_ro("end_to_end_ns", &Measurement::end_to_end_ns)
      .def_ro("engine", &Measurement::engine)
      .def_ro("engine_evidence", &Measurement::engine_evidence)
      .def_ro("evidence", &Measurement::evidence)
      .def_ro("flows", &Measurement::flows)
      .def_ro("ranks", &Measurement::ranks)
      .def_ro("warnings", &Measurement::warnings)
      .def_ro("distinct_source_bytes", &Measurement::distinct_source_bytes)
      .def_ro("distinct_destination_bytes", &Measurement::distinct_destination_bytes);
}

}  // namespace

void bind_timing(nb::module_& m) {
  bind_options(m);
  bind_flow(m);
  bind_results(m);
  m.def(
      "measure_calls",
      [](const MeasureOptions& options, std::function<double(std::uint64_t)> time_ns,
         std::function<void(std::uint64_t)> spoil, std::function<Verification()> check,
         std::function<bool()> gated, std::uint64_t size_bytes, std::uint64_t most_operations) {
        return measure_calls({std::move(time_ns), std::move(spoil), std::move(check), std::move(gated),
                              size_bytes, most_operations},
                             options);
      },
      "options"_a, nb::kw_only(), "time_ns"_a, "spoil"_a, "check"_a, "gated"_a, "size_bytes"_a,
      "most_operations"_a);
  m.def("summarize", &summarize, "samples"_a, "resolution"_a = 0.0);
  m.def("series_warnings", &warnings_of, "samples"_a, "resolution"_a = 0.0);
  m.def("window", &window, "flows"_a, nb::kw_only(), "interference"_a = false, "cut_at"_a = -1);
  m.def("contradiction", &contradiction_of, nb::kw_only(), "device_ns"_a, "submit_ns"_a, "host_ns"_a,
        "gated"_a = true, "gate_opened"_a = false, "resolution_ns"_a = 500.0);
  m.def(
      "moved_by_call",
      [](double device_ns, double submit_ns, double call_ns) {
        return moved_by_call({device_ns, submit_ns, 0}, call_ns);
      },
      "device_ns"_a, "submit_ns"_a, "call_ns"_a);
  m.def("settle", &settle, "samples"_a);
  m.def("judge_slopes", &judge_slopes, "batches"_a, "warm_up_ns"_a = std::vector<double>());
  m.def("stop", &stop, "series"_a, "precision"_a, "rounds"_a = 1, "resolution"_a = 0.0);
}

}  // namespace byteways
