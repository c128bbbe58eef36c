// Toys of world.hpp: programs as the measuring core writes them, on the machine of the sheet that was given.
#include <atomic>
#include <string>
#include <vector>

#include "kernels/arguments.hpp"
#include "simulator/world.hpp"
#include "toys.hpp"

namespace toys {
namespace {

using namespace byteways::sim;
using namespace byteways;
using Word = unsigned long long;

constexpr Place kGpu0{Place::Kind::gpu, 0}, kGpu1{Place::Kind::gpu, 1}, kCpu0{Place::Kind::cpu, 0};
constexpr std::uint64_t kMib = 1 << 20, kSize = 64 * kMib, kSmall = 64 << 10;
constexpr Word kKey = 1000, kWrong = 77;

World& world() { return World::get(); }

// Says how the action fails, as main() says it of the whole toy.
template <class Action>
void attempt(const std::string& key, const Action& action) {
  try {
    action();
    say(key, -1);
  } catch (const Failure& failure) {
    say(key, static_cast<int>(failure.code()), failure.what());
  }
}

template <class Arguments>
void launch(Stream* stream, const char* kernel, const Arguments& arguments, Shape shape = {256, 256, 0}) {
  world().launch(kernel, shape, &arguments, sizeof arguments, stream);
}

void gate(Stream* stream, const unsigned int& word) { launch(stream, "gate", GateArguments{&word, 1}, {}); }

CopyArguments copying(void* to, const void* from, std::uint64_t bytes, Word operations = 1) {
  return {from, to, bytes, 1, bytes, 1, bytes, 0, operations, 0, 0};
}

void fill(Stream* stream, void* data, std::uint64_t bytes, Word key) {
  launch(stream, "fill", PatternArguments{static_cast<Word*>(data), bytes / 8, key, 0, 1, nullptr});
}

void check(const std::string& name, Stream* stream, void* data, std::uint64_t bytes, Word key) {
  CheckResult found{0, ~Word{0}, 0, 0};
  launch(stream, "check", PatternArguments{static_cast<Word*>(data), bytes / 8, key, 0, 1, &found});
  world().synchronize(stream);
  say(name, found.bad_count, found.first_bad, found.expected ^ found.got);
}

double timed(Stream* stream, const std::function<void()>& action) {
  Event *begin = world().create_event(kGpu0), *end = world().create_event(kGpu0);
  world().record(begin, stream);
  action();
  world().record(end, stream);
  world().synchronize(end);
  return world().elapsed_ns(begin, end);
}

// A chase takes its steps' time and shares nothing: 1000 steps of the nearest memory's latency.
struct Walk {
  void* base = world().allocate(kGpu0, Kind::device, kSize);
  Word end = 0;
  void on(Stream* stream, Word steps = 1000) {
    launch(stream, "chase", ChaseArguments{base, kSize / 128, 128, kKey, 0, steps, &end}, {});
  }
};

struct Pair {
  void* near = world().allocate(kGpu0, Kind::device, kSize);
  void* far = world().allocate(kGpu1, Kind::device, kSize);
  Stream* stream = world().create_stream(kGpu0);
  void copy() { world().copy(far, near, kSize, stream, {}); }
};

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

// What arrives of a copy by an engine and by a kernel, and what the host reads of a small block.
void moves() {
  Pair pair;
  world().enable_peer(0, 1);
  for (const bool by_engine : {true, false}) {
    fill(pair.stream, pair.near, kSize, kKey);
    fill(pair.stream, pair.far, kSize, kKey + kWrong);
    if (by_engine)
      pair.copy();
    else
      launch(pair.stream, "copy", copying(pair.far, pair.near, kSize));
    check(by_engine ? "engine" : "kernel", pair.stream, pair.far, kSize, kKey);
  }
  auto* small = static_cast<Word*>(world().allocate(kCpu0, Kind::pinned, kSmall));
  for (Word i = 0; i < kSmall / 8; ++i) small[i] = pattern_word(kKey, i);
  world().copy(pair.near, small, kSmall, pair.stream, {});
  check("from-host", pair.stream, pair.near, kSmall, kKey);
  world().copy(small, static_cast<Word*>(pair.near) + 1, kSmall - 8, pair.stream, {});
  world().synchronize(pair.stream);
  Word wrong = 0;
  for (Word i = 0; i + 1 < kSmall / 8; ++i) wrong += small[i] != pattern_word(kKey, i + 1);
  say("to-host", wrong, small[kSmall / 8 - 1] == pattern_word(kKey, kSmall / 8 - 1));
  say("sent", world().health(0).sent_bytes, world().health(1).received_bytes, world().health(1).sent_bytes);
}

void hang() {
  Pair pair;
  pair.copy();
  world().synchronize(pair.stream);
}

void lost() {
  Pair pair;
  for (int k = 0; k < 10; ++k) attempt("copy", [&] { pair.copy(); });
  attempt("synchronize", [&] { world().synchronize(pair.stream); });
  attempt("allocate", [&] { world().allocate(kGpu0, Kind::device, 8); });
  attempt("other", [&] { world().allocate(kGpu1, Kind::device, 8); });
}

void memory() {
  attempt("above", [&] { world().allocate(kGpu0, Kind::device, 2 * kMib); });
  attempt("below", [&] { world().release(world().allocate(kGpu0, Kind::device, kMib)); });
  attempt("again", [&] { world().release(world().allocate(kGpu0, Kind::device, kMib)); });
  attempt("all", [&] { world().allocate(kGpu1, Kind::device, 9ull << 30); });
  say("free", world().free_bytes(kGpu1));
  world().allocate(kGpu1, Kind::device, kMib);
  say("less", world().free_bytes(kGpu1));
}

void links() {
  say("peer", world().can_access_peer(0, 1), world().can_access_peer(1, 0), world().can_access_peer(0, 0));
  say("throttled", world().health(0).throttled, world().health(1).throttled);
  Pair pair;
  Walk walk;
  say("copy", timed(pair.stream, [&] { pair.copy(); }));
  say("fill", timed(pair.stream, [&] { fill(pair.stream, pair.near, kSize, kKey); }));
}

void refused() {
  Pair pair;
  void* device = world().allocate(kGpu1, Kind::device, kSize);
  void* plain = world().allocate(kCpu0, Kind::pageable, kSize);
  attempt("kernel", [&] { launch(pair.stream, "dance", GateArguments{}); });
  attempt("block", [&] { launch(pair.stream, "fill", GateArguments{}); });
  attempt("peer", [&] { launch(pair.stream, "copy", copying(device, pair.near, kSize)); });
  attempt("plain", [&] { launch(pair.stream, "copy", copying(plain, pair.near, kSize)); });
  attempt("outside", [&] { world().copy(pair.far, pair.near, kSize + 8, pair.stream, {}); });
  attempt("odd", [&] { world().copy(pair.far, pair.near, 4, pair.stream, {}); });
  attempt("result", [&] {
    auto* inside = static_cast<CheckResult*>(pair.near);
    launch(pair.stream, "check", PatternArguments{static_cast<Word*>(pair.near), 8, kKey, 0, 1, inside});
  });
  attempt("release", [&] { world().release(&pair); });
  attempt("enable", [&] { world().enable_peer(0, 1); });
  attempt("enable-again", [&] { world().enable_peer(0, 1); });
  attempt("enable-itself", [&] { world().enable_peer(1, 1); });
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

void managed() {
  Pair pair;
  void* data = world().allocate(kCpu0, Kind::managed, kSize);
  const auto where = [&](const char* key) {
    const Place owner = world().owner_of(data);
    say(key, owner.kind == Place::Kind::gpu ? "gpu" : "cpu", owner.index);
  };
  const auto read = [&](const char* key) {
    const auto copy = [&] { launch(pair.stream, "copy", copying(pair.near, data, kSize)); };
    say(key, timed(pair.stream, copy));
  };
  where("at-first");
  say("copied", timed(pair.stream, [&] { world().copy(pair.near, data, kSize, pair.stream, {}); }));
  where("after-copy");
  read("first");
  where("after-kernel");
  read("second");
  say("prefetch", timed(pair.stream, [&] { world().prefetch(data, kSize, kCpu0, pair.stream); }));
  where("after-prefetch");
  say("pages", world().placement(data, kSize)[0]);
  // Half of the pages are at home: only the others cost.
  world().prefetch(data, kSize / 2, kGpu0, pair.stream);
  read("half");
}

// On an APU: cores and kernels touch what is the other's, and it is one memory.
void shared_memory() {
  void* device = world().allocate(kGpu0, Kind::device, kSize);
  void* plain = world().allocate(kCpu0, Kind::pageable, kSize);
  Stream *cores = world().create_stream(kCpu0), *kernels = world().create_stream(kGpu0);
  fill(cores, device, kSize, kKey);
  world().synchronize(cores);
  const auto copy = [&] { launch(kernels, "copy", copying(plain, device, kSize)); };
  say("kernel", timed(kernels, copy));
  check("arrived", cores, plain, kSize, kKey);
  say("free", world().free_bytes(kGpu0), world().free_bytes(kCpu0));
}

// The host's kernel, cold and warm, with one thread and with four.
void cores() {
  Stream* stream = world().create_stream(kCpu0);
  void* large[] = {world().allocate(kCpu0, Kind::pageable, kSize),
                   world().allocate(kCpu0, Kind::pageable, kSize)};
  void* small[] = {world().allocate(kCpu0, Kind::pageable, kSmall),
                   world().allocate(kCpu0, Kind::pageable, kSmall)};
  const auto tell = [&](const char* key, void** ends, std::uint64_t bytes, unsigned threads,
                        Word operations) {
    const auto copy = [&] {
      launch(stream, "memcpy", copying(ends[1], ends[0], bytes, operations), {threads, 1, 0});
    };
    say(key, timed(stream, copy));
  };
  tell("one", large, kSize, 1, 1);
  tell("four", large, kSize, 4, 1);
  tell("thirty", large, kSize, 30, 1);
  tell("warm", small, kSmall, 1, 100);
}

void chase() {
  Walk walk;
  Stream* stream = world().create_stream(kGpu0);
  ChaseArguments arguments{walk.base, kSize / 256, 128, kKey, 0, 1000, &walk.end};  // in the first half
  launch(stream, "chase_build", arguments);
  fill(stream, static_cast<Word*>(walk.base) + kSize / 16, kSize / 2, kKey);
  arguments.start = chase_line(5, arguments.lines, kKey);
  say("time", timed(stream, [&] { launch(stream, "chase", arguments, {}); }));
  say("end", walk.end == chase_line(1005, arguments.lines, kKey));
  fill(stream, walk.base, kSize / 2, kKey);
  launch(stream, "chase", arguments, {});
  world().synchronize(stream);
  say("torn", walk.end == chase_line(1005, arguments.lines, kKey));
}

}  // namespace

void add_world_toys(Toys& toys) {
  toys["load"] = [] { say("name", world().model().name); };
  toys["gated"] = gated;
  toys["captured"] = captured;
  toys["deadlock"] = deadlock;
  toys["timers"] = timers;
  toys["full-queue"] = full_queue;
  toys["side-by-side"] = side_by_side;
  toys["occupied"] = occupied;
  toys["moves"] = moves;
  toys["hang"] = hang;
  toys["lost"] = lost;
  toys["memory"] = memory;
  toys["links"] = links;
  toys["refused"] = refused;
  toys["times"] = times;
  toys["managed"] = managed;
  toys["shared-memory"] = shared_memory;
  toys["cores"] = cores;
  toys["chase"] = chase;
}

}  // namespace toys
