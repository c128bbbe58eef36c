// See measure.hpp.
#include "timing/measure.hpp"

#include <algorithm>
#include <set>

#include "timing/engine.hpp"
#include "timing/window.hpp"

namespace byteways {
namespace {

constexpr std::uint64_t kLeastSamples = 3;
constexpr std::uint64_t kLeastForInterval = 6;  // the range of 5 holds the median in 93.75 % of cases only
constexpr double kVerificationShare = 0.4;      // of the budget that checking every sample may cost
constexpr double kExpectedSamples = 45;         // looks at 20 and 30, one confirmation
constexpr double kCorrelatedAbove = 0.6;        // one doubling of the batch is tried beyond it

// Which operations of a lane ran since its data was prepared.
struct Span {
  std::uint64_t first = 0;
};

class CaseRun {
 public:
  CaseRun(Session& session, const std::vector<Flow>& flows, const MeasureOptions& options)
      : session_(session), flows_(flows), options_(options) {
    if (flows.empty()) throw Error("measure", "flows", "a case needs at least one flow");
    // What disturbs takes all it can get, and so did the measured flow when it was alone.
    if (!options.interference) share_executors(flows_);
    lanes_ = make_lanes(session, flows_);
    spans_.resize(lanes_.size());
    for (std::size_t k = 0; k < flows.size() && flows.size() > 1; ++k)
      if (lanes_[k].mover->bytes_per_operation() == 0 && !(options.interference && k == 0))
        throw Unsupported(flows[k].interface, "pattern",
                          "it moves no bytes, so it is measured alone, or beside others that do");
    if (options.gate) {
      Agent* owner = &lanes_.front().agent();
      for (const Lane& lane : lanes_)
        if (!lane.agent().is_host())
          owner = &lane.agent();  // a GPU's flag is visible to the host, not vice versa
      gate_ = std::make_unique<Gate>(session, *owner);
    }
    if (lanes_.size() == 1) {
      sampler_ = std::make_unique<SingleSampler>(session, lanes_.front(), gate_.get(), options_);
    } else {
      auto window = std::make_unique<WindowSampler>(session, lanes_, gate_.get(), options_);
      window_ = window.get();
      sampler_ = std::move(window);
    }
  }

  Measurement run() {
    lanes_.front().runtime().bind_thread_near(lanes_.front().agent().device);
    prepare();
    sampler_->warm_up();
    find_engine();
    decide_verification();
    sample_all();
    if (measurement_.samples_ns.size() >= 2 && correlated() && session_.clock().now() < halfway_ &&
        sampler_->double_batch()) {
      measurement_.samples_ns.clear();
      if (window_ != nullptr) window_->forget();
      sample_all();
    }
    probe_residency();
    conclude();
    return std::move(measurement_);
  }

 private:
  // New data everywhere; rotation starts at slot 0, which filling has long driven out of the caches.
  void prepare() {
    ++preparations_;
    untouched_ = true;
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      Lane& lane = lanes_[k];
      lane.mover->prepare((options_.key << 20) + (preparations_ << 8) + k);
      const std::uint64_t rotation = lane.mover->rotation();
      lane.next_operation = (lane.next_operation + rotation - 1) / rotation * rotation;
      spans_[k].first = lane.next_operation;
    }
  }

  // Filling, checking and spoiling leave the lines in other cores' caches: operations that are not timed
  // bring them to where a warm case wants them. On a host these are as many as are timed: after a single one,
  // loops over 8 MiB were still slower by a third. What was written is spoiled in a few words, so that a
  // timed operation left out still shows.
  void warm_caches() {
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      Lane& lane = lanes_[k];
      if (flows_[k].source_cold || flows_[k].destination_cold || lane.mover->bytes_per_operation() == 0)
        continue;
      const std::uint64_t count = lane.agent().is_host() ? sampler_->operations(lane) : 1;
      lane.mover->enqueue(*lane.stream, lane.next_operation, count);
      lane.runtime().synchronize(*lane.stream);
      lane.mover->spoil(lane.next_operation, 1);
    }
  }

  bool verify() {
    bool good = true;
    measurement_.flows.resize(lanes_.size());
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      Lane& lane = lanes_[k];
      const Verification result = lane.mover->verify(spans_[k].first, lane.next_operation - spans_[k].first);
      Verification& total = measurement_.flows[k].verification;
      const std::uint64_t checked = total.checked_bytes + result.checked_bytes;
      if (total.ok) total = result;
      total.checked_bytes = checked;
      good = good && result.ok;
    }
    return good;
  }

  void find_engine() {
    std::set<std::string> engines, evidence;
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      const EngineFinding finding = observe_engine(session_, lanes_[k], flows_[k]);
      engines.insert(finding.engine);
      evidence.insert(finding.evidence);
    }
    const auto join = [](const std::set<std::string>& parts, const char* between) {
      std::string text;
      for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
      return text;
    };
    measurement_.engine = join(engines, " + ");
    measurement_.engine_evidence = join(evidence, "; ");
  }

  // Checks the warm-up, and learns from it what checking costs.
  void decide_verification() {
    const Nanoseconds before = session_.clock().now();
    warm_up_good_ = verify();
    const bool bytes = lanes_.front().mover->bytes_per_operation() != 0;
    if (!bytes && lanes_.size() == 1) {  // the end of each walk proves it, at no cost worth mentioning
      measurement_.verified_every_sample = true;
      return;
    }
    prepare();
    if (!bytes) return;  // made anew for each sample, its lines would be in the caches again
    const auto cost = static_cast<double>(session_.clock().now() - before);
    measurement_.verified_every_sample =
        cost * kExpectedSamples <= kVerificationShare * options_.budget_s * 1e9;
  }

  void sample_all() {
    measurement_.verified = warm_up_good_;
    const Nanoseconds begin = session_.clock().now();
    const auto budget = static_cast<Nanoseconds>(options_.budget_s * 1e9);
    halfway_ = begin + budget / 2;
    StoppingRule rule(options_.precision);
    std::vector<double>& samples = measurement_.samples_ns;
    const bool chase = lanes_.front().mover->bytes_per_operation() == 0;
    const bool every = measurement_.verified_every_sample;
    while (measurement_.verified && samples.size() < options_.max_samples) {
      if (every && !chase) {
        if (!untouched_) prepare();
      } else {
        for (Lane& lane : lanes_) lane.mover->spoil(lane.next_operation, sampler_->operations(lane));
      }
      untouched_ = false;
      warm_caches();
      samples.push_back(sampler_->sample());
      look_for_pages();
      if (every) measurement_.verified = verify();
      if (rule.enough(samples)) break;
      if (samples.size() >= kLeastSamples && session_.clock().now() - begin >= budget) break;
    }
    if (!every) measurement_.verified = verify() && measurement_.verified;
  }

  // What the timed batch left. Verification comes later: it may bring the pages to who checks them.
  void look_for_pages() {
    measurement_.flows.resize(lanes_.size());
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      const Mover& mover = *lanes_[k].mover;
      if (!mover.must_move()) continue;
      std::vector<SideResidency>& timed = measurement_.flows[k].timed;
      for (const SideResidency& found : mover.residency(mover.since_restore())) {
        if (timed.empty()) timed.push_back({found.side, {}});
        timed.front().where.add(found.where);
      }
    }
  }

  // Where managed pages are before an operation and after it, each flow alone, untimed.
  void probe_residency() {
    measurement_.flows.resize(lanes_.size());
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      Lane& lane = lanes_[k];
      const Operations one{lane.next_operation, 1};
      if (lane.mover->residency(one).empty()) continue;
      lane.mover->restore();
      measurement_.flows[k].before = lane.mover->residency(one);
      lane.enqueue(1);
      lane.runtime().synchronize(*lane.stream);
      measurement_.flows[k].after = lane.mover->residency(one);
      lane.mover->restore();
      measurement_.flows[k].bytes_per_touch = lane.mover->bytes_per_touch();
    }
  }

  bool correlated() const { return rank_autocorrelation(measurement_.samples_ns) > kCorrelatedAbove; }

  void conclude() {
    Measurement& m = measurement_;
    m.time_ns = summarize(m.samples_ns);
    m.batch = sampler_->batch();
    m.slope = sampler_->slope();
    m.gated = sampler_->gated();
    m.submit_ns = sampler_->submit_ns();
    std::set<std::string> clocks;
    for (const Lane& lane : lanes_) {
      clocks.insert(lane.by_host_clock() ? std::string("host-clock")
                                         : std::string(lane.runtime().timed_by()));
      m.timer_resolution_ns =
          std::max(m.timer_resolution_ns, lane.runtime().timer_resolution_ns(lane.agent().device));
      m.distinct_source_bytes += lane.mover->distinct_source_bytes();
      m.distinct_destination_bytes += lane.mover->distinct_destination_bytes();
    }
    for (const std::string& clock : clocks) m.timed_by += (m.timed_by.empty() ? "" : " + ") + clock;
    m.flows.resize(lanes_.size());
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      m.flows[k].shape = lanes_[k].mover->shape();
      m.flows[k].parts = lanes_[k].mover->parts();
    }
    if (m.samples_ns.empty()) return;  // corrupt before the first sample
    if (window_ != nullptr)
      conclude_window();
    else if (const std::uint64_t bytes = lanes_.front().mover->bytes_per_operation())
      m.flows[0].bytes_per_s = m.flows[0].end_to_end_bytes_per_s =
          static_cast<double>(bytes) / m.time_ns.median * 1e9;
    add_warnings();
  }

  void conclude_window() {
    Measurement& m = measurement_;
    const auto over_samples = [&](auto value) {
      std::vector<double> values;
      for (const WindowSample& sample : window_->samples()) values.push_back(value(sample));
      return median(std::move(values));
    };
    m.clock_alignment_ns = window_->alignment_ns();
    m.window_ns = over_samples([](const WindowSample& s) { return s.window_ns; });
    m.end_to_end_ns = over_samples([](const WindowSample& s) { return s.end_to_end_ns; });
    double together = 0, alone = 0;
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      FlowResult& flow = m.flows[k];
      flow.start_skew_ns = over_samples([k](const WindowSample& s) { return s.skews[k]; });
      if (lanes_[k].mover->bytes_per_operation() == 0) continue;  // its rates are of operations
      flow.bytes_per_s = over_samples([k](const WindowSample& s) { return s.rates[k]; });
      flow.end_to_end_bytes_per_s = over_samples([k](const WindowSample& s) { return s.whole_rates[k]; });
      together += flow.end_to_end_bytes_per_s;
      alone += over_samples([k](const WindowSample& s) { return s.own_rates[k]; });
    }
    const bool marked = over_samples([](const WindowSample& s) { return s.marked ? 1.0 : 0.0; }) == 1;
    if (options_.interference && !marked) m.warnings.push_back({"few-operations", 1, 2, "operations"});
    if (over_samples([](const WindowSample& s) { return s.overlap; }) < kSerialisedBelow)
      m.warnings.push_back({"serialised", together, alone, "bytes/s"});
  }

  void add_warnings() {
    Measurement& m = measurement_;
    const double half_width = 0.5 * (m.time_ns.ci95.high - m.time_ns.ci95.low) / m.time_ns.median;
    if (half_width > options_.precision) m.warnings.push_back({"noisy", half_width, options_.precision, "1"});
    for (const SeriesWarning& warning : series_warnings(m.samples_ns))
      m.warnings.push_back({warning.id, warning.observed, warning.required, "1"});
    if (m.samples_ns.size() < kLeastForInterval)
      m.warnings.push_back({"few-samples", static_cast<double>(m.samples_ns.size()),
                            static_cast<double>(kLeastForInterval), "samples"});
    const Lane& first = lanes_.front();
    // What is timed is what the host waits for, which a gate would only hold up.
    const bool meant =
        first.one_at_a_time || (first.mover->synchronous() && first.mover->bytes_per_operation() == 0);
    if (options_.gate && !m.gated && !meant) m.warnings.push_back({"ungated", 0, 1, "1"});
  }

  Session& session_;
  std::vector<Flow> flows_;
  MeasureOptions options_;
  std::vector<Lane> lanes_;
  std::vector<Span> spans_;
  std::unique_ptr<Gate> gate_;  // opens before the lanes go, which wait for their streams
  std::unique_ptr<Sampler> sampler_;
  WindowSampler* window_ = nullptr;  // the sampler, when flows are concurrent
  std::uint64_t preparations_ = 0;
  bool untouched_ = false;  // no operation ran on the data since prepare()
  bool warm_up_good_ = true;
  Nanoseconds halfway_ = 0;
  Measurement measurement_;
};

void require_sensible(const MeasureOptions& options) {
  const auto within = [](const char* option, double value, double most) {
    if (!(value >= 0 && value <= most))  // not a number is neither
      throw Error("measure", option, std::to_string(value) + " is not from 0 to " + std::to_string(most));
  };
  constexpr double kMostSeconds = 1e9;  // of which nanoseconds still fit 64 bits
  constexpr double kMostOperations = 1e9;
  within("precision", options.precision, 1);
  within("budget_s", options.budget_s, kMostSeconds);
  within("gate_timeout_s", options.gate_timeout_s, kMostSeconds);
  within("batch", static_cast<double>(options.batch), kMostOperations);
  if (options.max_samples == 0) throw Error("measure", "max_samples", "no sample would be taken");
}

}  // namespace

Measurement measure(Session& session, const std::vector<Flow>& flows, const MeasureOptions& options) {
  require_sensible(options);
  return CaseRun(session, flows, options).run();
}

}  // namespace byteways
