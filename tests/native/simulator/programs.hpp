// What toys of the World write again and again.
#pragma once
#include <functional>
#include <string>

#include "interfaces/kernel_copy/arguments.hpp"
#include "interfaces/pointer_chase/arguments.hpp"
#include "interfaces/service/arguments.hpp"
#include "simulator/machine/world.hpp"
#include "toys.hpp"

namespace toys {

using namespace byteways::sim;
using namespace byteways;
using Word = unsigned long long;

inline constexpr Place kGpu0{Place::Kind::gpu, 0}, kGpu1{Place::Kind::gpu, 1}, kCpu0{Place::Kind::cpu, 0};
inline constexpr std::uint64_t kMib = 1 << 20, kSize = 64 * kMib, kSmall = 64 << 10;
inline constexpr Word kKey = 1000, kWrong = 77;

inline World& world() { return World::get(); }

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

inline void gate(Stream* stream, const unsigned int& word) {
  launch(stream, "gate", GateArguments{&word, 1}, {});
}

inline CopyArguments copying(void* to, const void* from, std::uint64_t bytes, Word operations = 1) {
  return {.source = from,
          .destination = to,
          .bytes = bytes,
          .source_slots = 1,
          .source_stride = bytes,
          .destination_slots = 1,
          .destination_stride = bytes,
          .operations = operations};
}

inline void fill(Stream* stream, void* data, std::uint64_t bytes, Word key) {
  launch(stream, "fill", PatternArguments{static_cast<Word*>(data), bytes / 8, key, 0, 1, nullptr});
}

inline void check(const std::string& name, Stream* stream, void* data, std::uint64_t bytes, Word key) {
  CheckResult found{0, ~Word{0}, 0, 0};
  launch(stream, "check", PatternArguments{static_cast<Word*>(data), bytes / 8, key, 0, 1, &found});
  world().synchronize(stream);
  say(name, found.bad_count, found.first_bad, found.expected ^ found.got);
}

inline double timed(Stream* stream, const std::function<void()>& action) {
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

}  // namespace toys
