// See measure.hpp.
#include "timing/measure.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "core/cpus.hpp"
#include "timing/checked_data.hpp"
#include "timing/conclusion.hpp"
#include "timing/dependence.hpp"
#include "timing/engine.hpp"
#include "timing/known_flow.hpp"
#include "timing/loop_sampler.hpp"
#include "timing/single_sampler.hpp"
#include "timing/window.hpp"

namespace byteways {
namespace {

constexpr double kVerificationShare = 0.4;  // fraction of the budget for checking every sample
constexpr double kExpectedSamples = 45;     // checks of the stopping rule at 20 and 30, one confirmation
constexpr double kCorrelatedAbove = 4;      // inflation above which the batch is doubled once
// Least time span of the samples of all rounds, so that slow changes show; at most this fraction of the
// budget.
constexpr double kLeastSpreadNs = 3e7, kSpreadShare = 0.25;

class CaseRun {
 public:
  CaseRun(Session& session, const std::vector<Flow>& flows, const MeasureOptions& options, Team& team)
      : session_(session), flows_(flows), options_(options), team_(team) {
    if (flows.empty()) throw Error("measure", "flows", "a case needs at least one flow");
    require_as_many_flows();
    // A background flow takes all resources it can get, and so did the measured flow when alone.
    if (!options.interference) share_executors(flows_);
    runners_ = make_runners(session, flows_);
    if (keeps_knowledge()) known_ = known_case(session, flows_, options_);
    for (std::size_t k = 0; k < runners_.size() && known_ != nullptr; ++k)
      runners_[k].known = known_flow(session, flows_[k], options_);
    for (std::size_t k = 0; k < flows.size() && flows.size() > 1; ++k)
      if (runners_[k].mover->traits().time_is_result() && !(options.interference && k == 0))
        throw Unsupported(flows[k].interface, "pattern",
                          "it moves no bytes, so it is measured alone, or beside others that do");
    data_ = std::make_unique<CheckedData>(session, runners_, options.key, team);
    if (options.gate) {
      Device* owner = &runners_.front().device();
      for (const FlowRunner& runner : runners_)
        if (!runner.device().is_host())
          owner = &runner.device();  // a GPU's flag is visible to the host, but not vice versa
      gate_ = std::make_unique<Gate>(session, *owner);
    }
    if (has_loop()) {
      sampler_ = std::make_unique<LoopSampler>(session, runners_.front(), options_, team_);
    } else if (runners_.size() == 1) {
      sampler_ = std::make_unique<SingleSampler>(session, runners_.front(), gate_.get(), options_, team_);
    } else {
      auto window =
          std::make_unique<WindowSampler>(session, runners_, gate_.get(), options_, team_, known_.get());
      window_ = window.get();
      sampler_ = std::move(window);
    }
  }

  Measurement run() {
    team_.together("preparation", [&] {
      bind_thread();
      data_->prepare();
    });
    team_.together("first operation", [&] { check_first_operation(); });
    team_.together("warm-up", [&] { sampler_->warm_up(); });
    team_.together("verification of the warm-up", [&] { check_warm_up(); });
    team_.together("engine", [&] { take_turns([&] { find_engine(); }); });
    team_.together("choice of verification", [&] { decide_verification(); });
    team_.together("sampling", [&] { sample_all(); });
    team_.together("sampling of twice the batch", [&] {
      if (should_double() && sampler_->double_batch()) sample_all();
    });
    team_.together("residency", [&] { probe_residency(); });
    team_.together("guards", [&] { data_->check_guards(); });
    team_.together("conclusion", [&] { conclude(); });
    return std::move(measurement_);
  }

 private:
  // Whether the samples are loops of fixed length, as another program has them.
  bool has_loop() const {
    return runners_.size() == 1 && runners_.front().mover->traits().loop.iterations != 0;
  }

  // Ranks decide together and on fresh connections. What changes pages must be seen to do so each time.
  bool keeps_knowledge() const {
    const bool alone = std::all_of(flows_.begin(), flows_.end(), [](const Flow& flow) {
      return flow.ranks == nullptr && flow.xccl == nullptr && flow.peers == nullptr && flow.others.empty();
    });
    return team_.size() == 1 && alone && !has_loop() &&
           std::none_of(runners_.begin(), runners_.end(), [](const FlowRunner& runner) {
             return runner.mover->traits().changes_residency || runner.mover->traits().changes_input;
           });
  }

  void require_as_many_flows() {
    const std::uint64_t mine = flows_.size();
    const std::uint64_t least = team_.agree_min("number of flows", mine);
    const std::uint64_t most = team_.agree_max("number of flows", mine);
    if (least != most)
      throw Error("measure", "flows",
                  "rank " + std::to_string(team_.rank()) + " has " + std::to_string(mine) +
                      " flows, and the ranks have between " + std::to_string(least) + " and " +
                      std::to_string(most));
  }

  // Where operations change their own input, as sums in place do, one is checked alone: after 64 repetitions
  // a sum of two ranks is 0 modulo 2^64, whatever was added up.
  void check_first_operation() {
    bool checks = false;
    for (FlowRunner& runner : runners_) {
      if (!runner.mover->traits().changes_input) continue;
      const Nanoseconds before = session_.clock().now();
      runner.mover->enqueue(*runner.stream, runner.next_operation++, 1);
      runner.runtime().synchronize(*runner.stream);
      runner.first_ns = static_cast<double>(session_.clock().now() - before);
      checks = true;
    }
    if (!checks) return;
    data_->use();
    data_->check_all();
  }

  // How many operations of each flow warm_caches() runs. A chase finds its lines where it left them; between
  // ranks, operations whose time is the result are messages and patterns, which do not.
  void count_warming() {
    warming_.assign(runners_.size(), 0);
    if (has_loop()) return;  // it has iterations of its own that warm up
    for (std::size_t k = 0; k < runners_.size(); ++k) {
      const bool moves_nothing = runners_[k].mover->traits().time_is_result();
      if (flows_[k].cold || (moves_nothing && flows_[k].ranks == nullptr)) continue;
      warming_[k] =
          team_.agree_max("operations that warm the caches", warming_of(runners_[k], moves_nothing));
    }
  }

  // On a host as many as are timed; nothing has to settle on a simulated one.
  std::uint64_t warming_of(const FlowRunner& runner, bool moves_nothing) const {
    if (!runner.works_on_host()) return moves_nothing ? 0 : 1;
    return moves_nothing && !session_.clock().runs_by_itself() ? 1 : sampler_->operations(runner);
  }

  // Filling, checking and spoiling leave cache lines in other cores: untimed operations bring them to where a
  // warm case expects them. After a single one, loops over 8 MiB on a host were still a third slower. A few
  // written words are then spoiled, so that a missing timed operation still shows.
  void warm_caches() {
    for (std::size_t k = 0; k < runners_.size(); ++k) {
      if (warming_[k] == 0) continue;
      FlowRunner& runner = runners_[k];
      runner.mover->enqueue(*runner.stream, runner.next_operation, warming_[k]);
      runner.runtime().synchronize(*runner.stream);
      runner.mover->spoil(runner.next_operation, 1);
    }
  }

  // One rank at a time: another rank's observation would wait for what this one holds.
  void take_turns(const std::function<void()>& action) {
    for (int turn = 0; turn < team_.size(); ++turn) {
      if (turn == team_.rank()) action();
      team_.barrier("end of a turn");
    }
  }

  void find_engine() {
    std::set<std::string> engines, evidence;
    for (std::size_t k = 0; k < runners_.size(); ++k) {
      const EngineFinding finding = observe_engine(session_, runners_[k], flows_[k]);
      engines.insert(finding.engine);
      evidence.insert(finding.evidence);
      data_changed_ |= finding.changed_data;
    }
    const auto join = [](const std::set<std::string>& parts, const char* between) {
      std::string text;
      for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
      return text;
    };
    measurement_.engine = join(engines, " + ");
    measurement_.engine_evidence = join(evidence, "; ");
    measurement_.evidence = runners_.front().mover->traits().evidence;
  }

  // Also learns the cost of verification. In later rounds the check after the last sample covers the warm-up.
  void check_warm_up() {
    measurement_.verified_first = !keeps_verification_cost() || verifies_every_sample();
    if (!measurement_.verified_first) return;
    const Nanoseconds before = session_.clock().now();
    data_->check_all();
    verification_ns_ = static_cast<double>(session_.clock().now() - before);
  }

  void decide_verification() {
    if (alone_and_moves_nothing()) {  // the end of each chase proves it at negligible cost
      measurement_.verified_every_sample = true;
      return;
    }
    data_->use();  // by the warm-up
    if (keeps_verification_cost()) {
      measurement_.verified_every_sample = verifies_every_sample();
      if (data_changed_) data_->prepare();
      return;
    }
    const bool of_time = runners_.front().mover->traits().time_is_result();
    const double cost_ns = verification_ns_ + data_->preparation_ns();
    if (known_ != nullptr && !of_time && !data_changed_ && session_.clock().runs_by_itself() &&
        !has_time_to_verify(cost_ns)) {
      keep_verification_cost();  // the samples follow the warm-up in its data, as in later rounds
      return;
    }
    data_->prepare();
    // Data that is rewritten for each sample is cached again, but a chase under load must find cold memory.
    if (of_time) return;
    measurement_.verified_every_sample = team_.agree_all(
        "verification of every sample", has_time_to_verify(verification_ns_ + data_->preparation_ns()));
    if (known_ != nullptr) keep_verification_cost();
  }

  void keep_verification_cost() {
    known_->verification_ns = verification_ns_;
    known_->preparation_ns = data_->preparation_ns();
  }

  // Whether an earlier round learned the cost of verification, and its decision from that.
  bool keeps_verification_cost() const { return known_ != nullptr && known_->verification_ns > 0; }
  bool verifies_every_sample() const {
    return has_time_to_verify(known_->verification_ns + known_->preparation_ns);
  }

  // Whether checking all words and filling the buffers, which take `ns`, fit between any two samples.
  bool has_time_to_verify(double ns) const {
    return ns * kExpectedSamples <= kVerificationShare * options_.budget_s * 1e9;
  }

  bool alone_and_moves_nothing() const {
    return runners_.size() == 1 && runners_.front().mover->traits().time_is_result();
  }

  void make_data_ready() {
    if (measurement_.verified_every_sample && !alone_and_moves_nothing()) {
      data_->renew();
    } else {
      for (FlowRunner& runner : runners_)
        runner.mover->spoil(runner.next_operation, sampler_->operations(runner));
    }
    data_->use();
  }

  // Takes one more sample, looks up its pages and this rank's data.
  void take_sample() {
    make_data_ready();
    warm_caches();
    std::vector<std::uint64_t> firsts;
    for (const FlowRunner& runner : runners_) firsts.push_back(runner.next_operation);
    const bool gated = sampler_->gated();
    Sample sample = sampler_->sample();
    look_for_pages();
    if (measurement_.verified_every_sample)
      data_->look_at_all();
    else
      data_->look_at_some(firsts);
    if (gated && !sampler_->gated())  // gated and ungated samples do not form one series
      series_.clear();
    else
      series_.add(std::move(sample));
  }

  void sample_all() {
    series_.clear();
    sampler_->skew().clear();
    const Nanoseconds begin = session_.clock().now();
    const CpuWait waiting(static_cast<double>(begin));
    const double budget_ns = options_.budget_s * 1e9;
    halfway_ = begin + static_cast<Nanoseconds>(0.5 * budget_ns);
    resolution_ns_ = team_.agree_max("step of the timer in a sample", sampler_->resolution_ns());
    count_warming();
    StoppingRule rule(options_.precision, options_.rounds, resolution_ns_);
    // Nothing changes slowly on a simulated machine, and its ranks' messages take real time.
    const bool can_change = team_.size() == 1 || session_.clock().runs_by_itself();
    const double least_ns = can_change ? least_spread_ns(options_) : 0;
    while (data_->ok() && series_.taken() < options_.max_samples) {
      take_sample();
      const auto spent_ns = static_cast<double>(session_.clock().now() - begin);
      // Words as expected as well: of short messages, each agreement takes longer than the sample.
      const std::vector<double> agreed = team_.agree_max(
          "time that is spent", {budget_ns > 0 ? spent_ns / budget_ns : 1, spent_ns >= least_ns ? 0.0 : 1.0,
                                 data_->found_wrong() ? 1.0 : 0.0});
      const double spent = agreed[0];
      const bool spread = agreed[1] == 0;
      data_->conclude(agreed[2] != 0);
      if (rule.enough(series_.times_ns(), spent) && spread && series_.discarded_share() <= kMostDiscarded)
        break;
      if (series_.taken() >= least_samples(options_.rounds) && spent >= 1) break;
    }
    if (team_.size() > 1) note_ranks(waiting);
    if (!measurement_.verified_every_sample) data_->check_all();
  }

  void note_ranks(const CpuWait& waiting) {
    std::optional<double> share;  // a simulated rank waits for no CPU of the simulated machine
    if (session_.clock().runs_by_itself()) share = waiting.share(static_cast<double>(session_.clock().now()));
    measurement_.ranks = skew_of_ranks(sampler_->skew(), share, team_);
  }

  // Looks up the pages after the timed batch. Verification comes later, as it may migrate the pages.
  void look_for_pages() {
    measurement_.flows.resize(runners_.size());
    for (std::size_t k = 0; k < runners_.size(); ++k) {
      Mover& mover = *runners_[k].mover;
      Residency* pages = mover.residency();
      if (!mover.traits().must_move || pages == nullptr) continue;
      std::vector<SideResidency>& timed = measurement_.flows[k].timed;
      for (const SideResidency& found : pages->of(pages->since_restore())) {
        if (timed.empty()) timed.push_back({found.side, {}});
        timed.front().where.add(found.where);
      }
    }
  }

  // Looks up managed pages before and after an operation, each flow alone, untimed.
  void probe_residency() {
    measurement_.flows.resize(runners_.size());
    for (std::size_t k = 0; k < runners_.size(); ++k) {
      FlowRunner& runner = runners_[k];
      const Operations one{runner.next_operation, 1};
      Residency* pages = runner.mover->residency();
      const auto where = [&] { return pages == nullptr ? std::vector<SideResidency>() : pages->of(one); };
      if (!team_.agree_any("pages that may move", !where().empty())) continue;
      runner.mover->restore();
      measurement_.flows[k].before = where();
      runner.enqueue(1);
      runner.runtime().synchronize(*runner.stream);
      measurement_.flows[k].after = where();
      runner.mover->restore();
      if (pages != nullptr) measurement_.flows[k].bytes_per_touch = pages->bytes_per_touch();
    }
  }

  bool should_double() {
    const bool correlated =
        series_.times_ns().size() >= 2 && variance_inflation(series_.times_ns()) > kCorrelatedAbove;
    return correlated && team_.agree_all("time for twice the batch", session_.clock().now() < halfway_);
  }

  void bind_thread() const {
    const FlowRunner& first = runners_.front();
    if (options_.cores.empty() || !bind_this_thread(options_.cores))
      first.runtime().bind_thread_near(first.device().ordinal);
  }

  void conclude() {
    byteways::conclude(measurement_, {series_, runners_, *sampler_, window_, *data_, options_, team_,
                                      resolution_ns_, has_loop()});
  }

  Session& session_;
  std::vector<Flow> flows_;
  MeasureOptions options_;
  Team& team_;
  std::vector<FlowRunner> runners_;
  std::unique_ptr<CheckedData> data_;
  std::unique_ptr<Gate> gate_;  // opened before the flows are destroyed, which wait for their streams
  std::unique_ptr<Sampler> sampler_;
  WindowSampler* window_ = nullptr;     // the sampler if flows are concurrent
  std::vector<std::uint64_t> warming_;  // by flow
  double verification_ns_ = 0;          // for every word, once
  bool data_changed_ = false;           // by the observation of the engine
  std::shared_ptr<KnownFlow> known_;    // of all flows together; null: nothing is kept for later rounds
  Series series_;
  Nanoseconds halfway_ = 0;
  double resolution_ns_ = 0;  // of the time of one sample
  Measurement measurement_;
};

}  // namespace

void require_sensible(const MeasureOptions& options) {
  const auto within = [](const char* option, double value, double most) {
    if (!(value >= 0 && value <= most))  // also rejects NaN
      throw Error("measure", option, std::to_string(value) + " is not from 0 to " + std::to_string(most));
  };
  constexpr double kMostSeconds = 1e9;  // in nanoseconds still fits 64 bits
  constexpr double kMostOperations = 1e9;
  within("precision", options.precision, 1);
  within("budget_s", options.budget_s, kMostSeconds);
  within("gate_timeout_s", options.gate_timeout_s, kMostSeconds);
  within("batch", static_cast<double>(options.batch), kMostOperations);
  if (options.rounds == 0) throw Error("measure", "rounds", "no round would be measured");
  if (options.max_samples == 0) throw Error("measure", "max_samples", "no sample would be taken");
}

double least_spread_ns(const MeasureOptions& options) {
  return std::min(kLeastSpreadNs / static_cast<double>(options.rounds),
                  kSpreadShare * options.budget_s * 1e9);
}

Measurement measure(Session& session, const std::vector<Flow>& flows, const MeasureOptions& options,
                    Team& team) {
  std::optional<CaseRun> run;
  team.together("set-up", [&] {
    require_sensible(options);
    run.emplace(session, flows, options, team);
  });
  return run->run();
}

}  // namespace byteways
