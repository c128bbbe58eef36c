// What a GPU that broke answers, what waits for what, and which way bytes take.
#include <atomic>
#include <chrono>
#include <thread>

#include "programs.hpp"
#include "simulator/machine/faults.hpp"
#include "simulator/machine/routes.hpp"

namespace toys {
namespace {

using namespace std::chrono_literals;

// A kernel reaches where it may not: from then on every call of its GPU fails alike.
void broken(const std::function<void(Pair&)>& reach) {
  Pair pair;
  Event* event = world().create_event(kGpu0);
  attempt("first", [&] { reach(pair); });
  attempt("later", [&] { pair.copy(); });
  attempt("later", [&] { world().synchronize(pair.stream); });
  attempt("later", [&] { world().finished(event); });
  attempt("later", [&] { world().allocate(kGpu0, Kind::device, kSize); });
  attempt("later", [&] { world().release(pair.near); });
  attempt("later", [&] { world().free_bytes(kGpu0); });
  attempt("later", [&] { world().create_stream(kGpu0); });
  attempt("other", [&] { world().release(pair.far); });
}

void released_in_use() {
  Walk walk;
  Stream* stream = world().create_stream(kGpu0);
  walk.on(stream);
  world().release(walk.base);
  say("released", world().now_ns());
  Pair pair;
  const unsigned int shut = 0;
  gate(pair.stream, shut);
  pair.copy();
  attempt("behind-a-gate", [&] { world().release(pair.near); });
  attempt("still-there", [&] { world().kind_of(pair.near); });
}

void cancelled() {
  std::atomic<bool> started = false, ended = false;
  const std::uint64_t ticket = world().start_timer(0, [&] {
    started = true;
    std::this_thread::sleep_for(30ms);
    ended = true;
  });
  std::thread other([&] {
    while (!started) std::this_thread::yield();
    world().cancel_timer(ticket);
    say("ended-before-cancelled", ended.load());
  });
  world().now_ns();
  other.join();
  std::uint64_t own = 0;
  own = world().start_timer(0, [&] { world().cancel_timer(own); });
  world().now_ns();
  say("cancels-itself", 1);
}

void routes() {
  Engine engine;
  const Model& model = world().model();
  Router router(model, engine);
  const Faults faults(model);
  for (const Fault& fault : faults.all()) router.weaken(fault.a, fault.b, 0);
  std::vector<Place> places;
  for (int gpu = 0; gpu < model.gpu.count; ++gpu) places.push_back({Place::Kind::gpu, gpu});
  for (int domain = 0; domain < model.cpu.domains; ++domain) places.push_back({Place::Kind::cpu, domain});
  for (const Place from : places)
    for (const Place to : places) {
      if (from == to) continue;
      const Route& way = router.between(from, to);
      std::string names = name_of(from);
      for (const Hop& hop : way.hops) names += "-" + hop.to;
      say(name_of(from) + ">" + name_of(to), way.found ? names : "none", way.through_gpu, way.through_cpu);
    }
}

void both_ways() {
  Pair pair;
  Stream* back = world().create_stream(kGpu1);
  unsigned int word = 0;
  Event *begin = world().create_event(kGpu0), *end = world().create_event(kGpu0);
  gate(pair.stream, word);
  gate(back, word);
  world().record(begin, pair.stream);
  pair.copy();
  world().record(end, pair.stream);
  world().copy(pair.near, pair.far, kSize, back, {});
  word = 1;
  world().synchronize(end);
  say("time", world().elapsed_ns(begin, end));
}

}  // namespace

void add_device_toys(Toys& toys) {
  toys["broken-peer"] = [] {
    broken([](Pair& pair) { launch(pair.stream, "copy", copying(pair.far, pair.near, kSize)); });
  };
  toys["broken-plain"] = [] {
    void* plain = world().allocate(kCpu0, Kind::pageable, kSize);
    broken([plain](Pair& pair) { launch(pair.stream, "copy", copying(plain, pair.near, kSize)); });
  };
  toys["broken-outside"] = [] { broken([](Pair& pair) { fill(pair.stream, pair.near, kSize + 8, kKey); }); };
  toys["broken-slot"] = [] {
    broken([](Pair& pair) {
      CopyArguments arguments = copying(pair.near, pair.near, kSize / 2);
      arguments.destination_slots = 3;
      launch(pair.stream, "copy", arguments);
    });
  };
  toys["released-in-use"] = released_in_use;
  toys["cancelled"] = cancelled;
  toys["routes"] = routes;
  toys["both-ways"] = both_ways;
}

}  // namespace toys
