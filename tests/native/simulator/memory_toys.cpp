// Toys of world.hpp: what programs move, where it is, what they cannot have, and faults.
#include <vector>

#include "programs.hpp"

namespace toys {
namespace {

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
  world().prefetch(data, kSize, kCpu0, pair.stream);
  world().synchronize(pair.stream);
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

// Eight prefetches at once, then one beside a copy over the same link.
void migrations() {
  constexpr int kMany = 8;
  std::vector<Stream*> streams;
  std::vector<void*> blocks;
  for (int k = 0; k < kMany; ++k) {
    streams.push_back(world().create_stream(kGpu0));
    blocks.push_back(world().allocate(kCpu0, Kind::managed, kSize));
  }
  const auto all = [&] {
    for (int k = 1; k < kMany; ++k) world().prefetch(blocks[k], kSize, kGpu0, streams[k]);
    world().prefetch(blocks[0], kSize, kGpu0, streams[0]);
    for (Stream* stream : streams) world().synchronize(stream);
  };
  const std::int64_t began = world().now_ns();
  all();
  say("together", world().now_ns() - began);
  void* pinned = world().allocate(kCpu0, Kind::pinned, 4 * kSize);
  void* device = world().allocate(kGpu0, Kind::device, 4 * kSize);
  const auto copy = [&] { world().copy(device, pinned, 4 * kSize, streams[0], {}); };
  say("alone", timed(streams[0], copy));
  world().prefetch(blocks[1], kSize, kCpu0, streams[1]);
  world().synchronize(streams[1]);
  world().prefetch(blocks[1], kSize, kGpu0, streams[1]);
  say("beside", timed(streams[0], copy));
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
  void* managed = world().allocate(kCpu0, Kind::managed, kSize);
  const auto read = [&] { launch(kernels, "copy", copying(device, managed, kSize)); };
  say("managed", timed(kernels, read));
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

void chase_memory() {
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
  say("walk", timed(pair.stream, [&] { walk.on(pair.stream); }));
}

void refused() {
  Pair pair;
  attempt("kernel", [&] { launch(pair.stream, "dance", GateArguments{}); });
  attempt("block", [&] { launch(pair.stream, "fill", GateArguments{}); });
  attempt("outside", [&] { world().copy(pair.far, pair.near, kSize + 8, pair.stream, {}); });
  attempt("odd", [&] { world().copy(static_cast<std::byte*>(pair.far) + 4, pair.near, 8, pair.stream, {}); });
  attempt("result", [&] {
    auto* inside = static_cast<CheckResult*>(pair.near);
    launch(pair.stream, "check", PatternArguments{static_cast<Word*>(pair.near), 8, kKey, 0, 1, inside});
  });
  attempt("release", [&] { world().release(&pair); });
  attempt("enable", [&] { world().enable_peer(0, 1); });
  attempt("enable-again", [&] { world().enable_peer(0, 1); });
  attempt("enable-itself", [&] { world().enable_peer(1, 1); });
}

}  // namespace

void add_memory_toys(Toys& toys) {
  toys["moves"] = moves;
  toys["managed"] = managed;
  toys["migrations"] = migrations;
  toys["shared-memory"] = shared_memory;
  toys["cores"] = cores;
  toys["chase"] = chase_memory;
  toys["hang"] = hang;
  toys["lost"] = lost;
  toys["memory"] = memory;
  toys["links"] = links;
  toys["refused"] = refused;
}

}  // namespace toys
