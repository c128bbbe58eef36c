// Toys of fair_share.hpp and engine.hpp: flows, pools, processors and latches without any machine.
#include <algorithm>
#include <memory>
#include <vector>

#include "simulator/engine/engine.hpp"
#include "toys.hpp"

namespace toys {
namespace {

using namespace byteways::sim;

constexpr double kGiga = 1e9;
constexpr double kGib = 1 << 30;
constexpr double kManyThreads = 1e9;

Operation* put(Engine& engine, Engine::Queue* queue, Picoseconds fixed, double bytes = 0,
               std::vector<Demand> demands = {}) {
  auto operation = std::make_unique<Operation>();
  operation->fixed = fixed;
  operation->bytes = bytes;
  operation->flow.demands = std::move(demands);
  operation->mark = std::make_shared<Mark>();
  Operation* const made = operation.get();
  engine.enqueue(*queue, std::move(operation));
  return made;
}

void tell_ends(Engine& engine, const std::vector<std::shared_ptr<Mark>>& marks) {
  engine.run(kNever, nullptr);
  std::cout << "ends";
  for (const auto& mark : marks) std::cout << ' ' << mark->time;
  std::cout << '\n';
}

void tell_rates(const std::vector<double>& capacities, std::vector<Flow> flows) {
  std::vector<Flow*> pointers;
  for (Flow& flow : flows) pointers.push_back(&flow);
  share(capacities, pointers);
  std::cout << "rates";
  for (const Flow& flow : flows) std::cout << ' ' << flow.rate / kGiga;
  std::cout << '\n';
}

// Takes nothing of the resource, and goes slower the more of it others use.
Flow waiting(int resource, double cap, double waits) {
  Flow flow;
  flow.cap = cap;
  flow.waits_at = resource;
  flow.waits = waits;
  return flow;
}

Flow over(std::vector<int> resources, double weight = 1, double cap = 0) {
  Flow flow;
  for (int resource : resources) flow.demands.push_back({resource, weight});
  flow.cap = cap;
  return flow;
}

// Counts what max-min fairness forbids, in random cases: a resource that gives more than it has, and a flow
// with neither its cap nor a full resource on which nobody has more.
void check_fairness() {
  Chance chance(11);
  int beyond = 0, unfair = 0;
  constexpr int kCases = 2000;
  for (int round = 0; round < kCases; ++round) {
    std::vector<double> capacities;
    for (std::uint64_t k = 1 + chance.below(6); k-- > 0;)
      capacities.push_back(kGiga * static_cast<double>(1 + chance.below(100)));
    std::vector<Flow> flows(1 + chance.below(8));
    for (Flow& flow : flows) {
      if (chance.below(3) == 0) flow.cap = kGiga * static_cast<double>(1 + chance.below(50));
      for (std::size_t resource = 0; resource < capacities.size(); ++resource)
        if (resource == round % capacities.size() || chance.below(2) == 0)
          flow.demands.push_back(
              {static_cast<int>(resource), 1 + 0.25 * static_cast<double>(chance.below(8))});
    }
    std::vector<Flow*> pointers;
    for (Flow& flow : flows) pointers.push_back(&flow);
    share(capacities, pointers);
    std::vector<double> used(capacities.size()), most(capacities.size());
    for (const Flow& flow : flows)
      for (const Demand& demand : flow.demands) {
        const auto at = static_cast<std::size_t>(demand.resource);
        used[at] += flow.rate * demand.weight;
        most[at] = std::max(most[at], flow.rate);
      }
    for (std::size_t at = 0; at < used.size(); ++at) beyond += used[at] > capacities[at] * (1 + 1e-6);
    for (const Flow& flow : flows) {
      bool held = flow.cap > 0 && flow.rate >= flow.cap * (1 - 1e-6);
      for (const Demand& demand : flow.demands) {
        const auto at = static_cast<std::size_t>(demand.resource);
        held |= used[at] >= capacities[at] * (1 - 1e-6) && flow.rate >= most[at] * (1 - 1e-6);
      }
      unfair += !held;
    }
  }
  say("cases", kCases);
  say("beyond", beyond);
  say("unfair", unfair);
}

void two_flows() {
  Engine engine;
  const int link = engine.add_resource(50 * kGiga);
  std::vector<std::shared_ptr<Mark>> marks;
  for (int k = 0; k < 2; ++k) marks.push_back(put(engine, engine.add_queue(), 0, kGib, {{link, 1}})->mark);
  tell_ends(engine, marks);
}

// The second begins when the first has had the link for itself for 10 ms.
void late_flow() {
  Engine engine;
  const int link = engine.add_resource(50 * kGiga);
  const auto first = put(engine, engine.add_queue(), 0, 1e9, {{link, 1}})->mark;
  const auto second = put(engine, engine.add_queue(), 10'000'000'000, 1e9, {{link, 1}})->mark;
  tell_ends(engine, {first, second});
}

void pool() {
  Engine engine;
  const int tokens = engine.add_pool(2);
  std::vector<std::shared_ptr<Mark>> marks;
  for (int k = 0; k < 5; ++k) {
    Operation* operation = put(engine, engine.add_queue(), 1000);
    operation->pools = {tokens};
    marks.push_back(operation->mark);
  }
  tell_ends(engine, marks);
}

// One kernel runs, one wants all multiprocessors, one comes after both, and one runs on none of them.
void processors() {
  Engine engine;
  const int device = engine.add_processors(kManyThreads);
  Operation* running = put(engine, engine.add_queue(), 1000);
  Operation* greedy = put(engine, engine.add_queue(), 5000);
  greedy->all_processors = true;
  greedy->ready = 100;
  Operation* late = put(engine, engine.add_queue(), 1000);
  late->ready = 2000;
  Operation* apart = put(engine, engine.add_queue(), 1000);
  apart->ready = 2000;
  running->processors = greedy->processors = late->processors = device;
  tell_ends(engine, {running->mark, greedy->mark, late->mark, apart->mark});
}

// Room for 100 threads: two kernels of 50 share it. Of 60 the second begins in a room of 40, more than half
// of what it wants. One of 200, which fills what there is, waits for all of them.
void room() {
  Engine engine;
  const int device = engine.add_processors(100);
  std::vector<std::shared_ptr<Mark>> marks;
  for (const double threads : {50.0, 50.0, 60.0, 60.0, 200.0}) {
    Operation* operation = put(engine, engine.add_queue(), 1000);
    operation->processors = device;
    operation->threads = threads;
    marks.push_back(operation->mark);
  }
  tell_ends(engine, marks);
}

// What comes first is one fixed time and flow after another, and shares the link with a flow beside it.
void stages() {
  Engine engine;
  const int link = engine.add_resource(50 * kGiga);
  Operation* staged = put(engine, engine.add_queue(), 1000, 1e6, {{link, 1}});
  for (const double cap : {10 * kGiga, 0.0}) {
    Flow flow;
    flow.demands = {{link, 1}};
    flow.cap = cap;
    staged->before.push_back({2000, 1e6, flow});
  }
  const auto beside = put(engine, engine.add_queue(), 0, 5e6, {{link, 1}})->mark;
  tell_ends(engine, {staged->mark, beside});
}

// The host sees the word at 7 ns and takes it back: what the engine replays later finds the latch open.
void latch() {
  Engine engine;
  unsigned int word = 0;
  auto held = std::make_unique<Operation>();
  held->latch = {&word, 1, -1};
  held->mark = std::make_shared<Mark>();
  const auto mark = held->mark;
  engine.enqueue(*engine.add_queue(), std::move(held));
  word = 1;
  engine.run(kNever, nullptr);
  say("unseen", mark->time);
  engine.poll(7000);
  word = 0;
  engine.run(kNever, nullptr);
  say("seen", mark->time);
}

// Durations are added up for 50 days without an overflow.
void long_time() {
  Engine engine;
  Engine::Queue* queue = engine.add_queue();
  std::shared_ptr<Mark> last;
  for (int day = 0; day < 50; ++day) last = put(engine, queue, picoseconds(86400e9))->mark;
  tell_ends(engine, {last});
}

}  // namespace

void add_engine_toys(Toys& toys) {
  toys["narrowest-link"] = [] { tell_rates({50 * kGiga, 36 * kGiga}, {over({0, 1})}); };
  toys["three-links"] = [] {
    tell_rates({50 * kGiga, 10 * kGiga, 100 * kGiga}, {over({0, 2}), over({0, 1}), over({0})});
  };
  toys["weights"] = [] { tell_rates({90 * kGiga}, {over({0}), over({0}, 2)}); };
  toys["caps"] = [] { tell_rates({90 * kGiga}, {over({0}, 1, 10 * kGiga), over({0})}); };
  toys["both-directions"] = [] {
    tell_rates({50 * kGiga, 50 * kGiga, 80 * kGiga}, {over({0, 2}), over({1, 2})});
  };
  toys["waits"] = [] {
    const double part = 40 * kGiga, own = 10 * kGiga;
    tell_rates({80 * kGiga, kGiga}, {over({0}, 1, part), waiting(0, own, 8), waiting(1, own, 8)});
  };
  toys["switch"] = [] {  // ports 0 and 1 in, 2 and 3 out
    const auto crossing = [](int enters, int leaves) {
      Flow flow = over({enters, leaves});
      flow.enters = enters;
      flow.leaves = leaves;
      flow.blocking = 0.5;
      return flow;
    };
    const std::vector<double> ports(4, 50 * kGiga);
    tell_rates(ports, {crossing(0, 2), crossing(1, 3)});
    tell_rates(ports, {crossing(0, 2), crossing(0, 3)});
    tell_rates(ports, {crossing(0, 2), crossing(0, 2), crossing(1, 2)});
    tell_rates(ports, {crossing(0, 2), crossing(0, 3), crossing(1, 2), crossing(1, 3)});
  };
  toys["nothing-left"] = [] { tell_rates({0, 50 * kGiga}, {over({0, 1}), over({1})}); };
  toys["fairness"] = check_fairness;
  toys["two-flows"] = two_flows;
  toys["late-flow"] = late_flow;
  toys["pool"] = pool;
  toys["processors"] = processors;
  toys["room"] = room;
  toys["stages"] = stages;
  toys["latch"] = latch;
  toys["long-time"] = long_time;
}

}  // namespace toys
