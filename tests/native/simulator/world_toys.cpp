// Toys of world.hpp: programs as the measuring core writes them, on the machine of the sheet that was given.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "programs.hpp"

namespace toys {
namespace {

// Ten copies behind a gate, and ten that the device starts as they come.
void gated() {
  Pair pair;
  unsigned int word = 0;
  const auto ten = [&] {
    for (int k = 0; k < 10; ++k) pair.copy();
  };
  say("ungated", timed(pair.stream, ten));
  say("gated", [&] {
    gate(pair.stream, word);
    Event *begin = world().create_event(kGpu0), *end = world().create_event(kGpu0);
    world().record(begin, pair.stream);
    ten();
    world().record(end, pair.stream);
    std::atomic_ref(word).store(1);
    world().synchronize(end);
    return world().elapsed_ns(begin, end);
  }());
  say("one", timed(pair.stream, [&] { pair.copy(); }));
}

void captured() {
  Walk walk;
  Stream *first = world().create_stream(kGpu0), *second = world().create_stream(kGpu0);
  Event *begin = world().create_event(kGpu0), *event = world().create_event(kGpu0),
        *end = world().create_event(kGpu0);
  world().wait(second, event);  // never recorded: no wait
  say("never-recorded", world().finished(event));
  attempt("unfinished", [&] { world().elapsed_ns(begin, event); });
  world().record(begin, first);
  walk.on(first);
  world().record(event, first);
  world().wait(second, event);
  walk.on(first, 100'000);
  world().record(event, first);
  world().record(end, second);
  world().synchronize(second);
  say("waited", world().elapsed_ns(begin, end));
  say("finished", world().finished(event));
  world().synchronize(event);
  say("longer", world().elapsed_ns(begin, event));
}

void deadlock() {
  const unsigned int word = 0;
  Stream* stream = world().create_stream(kGpu0);
  gate(stream, word);
  const auto ticket = world().start_timer(1000, [] {});
  world().cancel_timer(ticket);
  world().synchronize(stream);
}

// The timer that opens a gate goes off on one thread, and takes a while, when another begins to wait for the
// gate.
void timer_elsewhere() {
  unsigned int word = 0;
  Stream* stream = world().create_stream(kGpu0);
  gate(stream, word);
  std::atomic<bool> acting{false};
  world().start_timer(1000, [&] {
    acting = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::atomic_ref(word).store(1);
  });
  std::thread other([&] {
    while (!acting) world().now_ns();
  });
  while (!acting) std::this_thread::yield();
  attempt("waited", [&] { world().synchronize(stream); });
  other.join();
}

// A timer opens a gate for a host that waits, for one that polls, and for one that goes on enqueueing.
void timers() {
  for (const char* how : {"waits", "polls", "enqueues"}) {
    unsigned int word = 0;
    Stream* stream = world().create_stream(kGpu0);
    Event *event = world().create_event(kGpu0), *other = world().create_event(kGpu0);
    gate(stream, word);
    world().record(event, stream);
    const std::int64_t begin = world().now_ns();
    world().start_timer(1'000'000, [&word] { std::atomic_ref(word).store(1); });
    const std::string mode = how;
    for (int k = 0; mode == "polls" && k < 10'000 && !world().finished(event);) ++k;
    for (int k = 0; mode == "enqueues" && k < 10'000 && std::atomic_ref(word).load() == 0; ++k)
      world().record(other, world().default_stream(1));
    world().synchronize(event);
    say(mode, world().now_ns() - begin);
  }
}

// Times at which the host has enqueued each of eight walks of 300 µs.
void full_queue() {
  Walk walk;
  Stream* stream = world().create_stream(kGpu0);
  const std::int64_t begin = world().now_ns();
  for (int k = 0; k < 8; ++k) {
    walk.on(stream);
    say("enqueued", world().now_ns() - begin);
  }
  world().destroy(stream);
  say("destroyed", world().now_ns() - begin);
}

// Three walks on three streams, begun at once.
void side_by_side() {
  Walk walk;
  unsigned int word = 0;
  std::vector<Stream*> streams;
  std::vector<Event*> ends;
  for (int k = 0; k < 3; ++k) streams.push_back(world().create_stream(kGpu0));
  Event* begin = world().create_event(kGpu0);
  gate(streams[0], word);
  world().record(begin, streams[0]);
  for (Stream* stream : streams) {
    world().wait(stream, begin);
    walk.on(stream);
    world().record(ends.emplace_back(world().create_event(kGpu0)), stream);
  }
  std::atomic_ref(word).store(1);
  for (Event* end : ends) {
    world().synchronize(end);
    say("end", world().elapsed_ns(begin, end));
  }
}

// All multiprocessors are taken: an engine's copy ends, a kernel and a local copy do not, a gate does.
void occupied() {
  Pair pair;
  Walk walk;
  unsigned int word = 0, running = 0, open = 1;
  Stream* holder = world().create_stream(kGpu0);
  launch(holder, "occupy", OccupyArguments{&word, 1, &running}, {64, 1024, 0});
  say("before", running);
  for (int k = 0; k < 1000 && std::atomic_ref(running).load() == 0; ++k) world().now_ns();
  say("running", running);
  std::vector<Event*> ends;
  const auto after = [&](const std::function<void(Stream*)>& action) {
    Stream* stream = world().create_stream(kGpu0);
    action(stream);
    world().record(ends.emplace_back(world().create_event(kGpu0)), stream);
  };
  after([&](Stream* stream) { world().copy(pair.far, pair.near, kSize, stream, {}); });
  after([&](Stream* stream) { walk.on(stream); });
  after([&](Stream* stream) { world().copy(pair.near, walk.base, kSize, stream, {}); });
  after([&](Stream* stream) { gate(stream, open); });
  world().start_timer(1'000'000'000, [&word] { std::atomic_ref(word).store(1); });
  world().synchronize(ends[0]);
  say("engine", world().finished(ends[0]), world().finished(ends[1]), world().finished(ends[2]),
      world().finished(ends[3]));
  for (Event* end : ends) world().synchronize(end);
  say("released", word);
}

// Two copies of one GPU over two links, by one engine that was asked for and by two.
void chosen_engines() {
  Pair pair;
  void* host = world().allocate(kCpu0, Kind::pinned, kSize);
  Stream* other = world().create_stream(kGpu0);
  CopyPolicy first, second;
  first.engine = 0;
  first.blit_peer_up_to_bytes = kSize;  // what was asked for goes before any rule
  second.engine = 1;
  const auto both = [&](const CopyPolicy& policy) {
    world().copy(pair.far, pair.near, kSize, pair.stream, first);
    world().copy(host, pair.near, kSize, other, policy);
    world().synchronize(other);
  };
  say("one", timed(pair.stream, [&] { both(first); }));
  say("two", timed(pair.stream, [&] { both(second); }));
}

// Batches of a hundred copies behind a gate; to be run under a profiler, as `toys many SHEET`: an operation
// is to take about a microsecond of real time.
void many() {
  constexpr int kBatches = 200, kBatch = 100;
  Pair pair;
  unsigned int word = 0;
  for (unsigned int batch = 1; batch <= kBatches; ++batch) {
    launch(pair.stream, "gate", GateArguments{&word, batch}, {});
    for (int k = 0; k < kBatch; ++k) pair.copy();
    std::atomic_ref(word).store(batch);
    world().synchronize(pair.stream);
  }
  say("moved", world().health(1).received_bytes / kSize);
}

// A graph of two copies, destroyed after it ran, then while it runs.
void graphs() {
  for (const char* when : {"ended", "running"}) {
    Pair pair;
    world().begin_recording(pair.stream);
    pair.copy();
    pair.copy();
    Graph *recorded = world().end_recording(pair.stream), *graph = world().copy_of(recorded);
    say(std::string(when) + "-takes", timed(pair.stream, [&] { world().launch(graph, pair.stream); }));
    world().launch(graph, pair.stream);
    if (std::string(when) == "ended") world().synchronize(pair.stream);
    attempt(std::string(when) + "-recorded", [&] { world().destroy(recorded); });
    attempt(when, [&] { world().destroy(graph); });
    attempt(std::string(when) + "-next", [&] { world().synchronize(pair.stream); });
  }
}

// Ten copies and ten pageable copies with whatever noise the sheet has.
void times() {
  Pair pair;
  void* plain = world().allocate(kCpu0, Kind::pageable, kSize);
  for (int k = 0; k < 10; ++k) say("copy", timed(pair.stream, [&] { pair.copy(); }));
  for (int k = 0; k < 10; ++k) {
    const std::int64_t begin = world().now_ns();
    world().copy(pair.near, plain, kSize, pair.stream, {});
    say("pageable", world().now_ns() - begin);
  }
}

}  // namespace

void add_world_toys(Toys& toys) {
  toys["load"] = [] { say("name", world().model().name); };
  toys["gated"] = gated;
  toys["captured"] = captured;
  toys["deadlock"] = deadlock;
  toys["timers"] = timers;
  toys["timer-elsewhere"] = timer_elsewhere;
  toys["full-queue"] = full_queue;
  toys["side-by-side"] = side_by_side;
  toys["occupied"] = occupied;
  toys["chosen-engines"] = chosen_engines;
  toys["many"] = many;
  toys["times"] = times;
  toys["graphs"] = graphs;
}

}  // namespace toys
