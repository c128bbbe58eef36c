// The kernels of the particle exchange on the simulated machine.
#include <algorithm>
#include <memory>
#include <vector>

#include "interfaces/particles/arguments.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

Rule grown(const Run& run) {
  Rule rule = run.rule;
  if (rule.kind == Rule::Kind::tile && rule.stride == 0) return Rule::of(rule.tile->times(kGrowth));
  if (rule.kind == Rule::Kind::constant && rule.stride == 0) {
    rule.value *= kGrowth;
    return rule;
  }
  auto words = std::make_shared<std::vector<Word>>(run.end - run.begin);
  rule.write(run.begin, run.end, words->data());
  for (Word& word : *words) word *= kGrowth;
  return {Rule::Kind::words, run.begin, std::move(words), 0, 0, 0};
}

void particles_track(Kernels& kernels, Operation& operation, const TrackArguments& a,
                     const KernelLaunch& launch) {
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, a.words, a.count * kWordBytes);
  const auto bytes = static_cast<double>(a.count * kWordBytes);
  kernels.begin_on_cores(operation, launch, 1);
  Pass pass{launch.executor, {reached.place}, reached.place, bytes, launch.threads()};
  if (!launch.on_gpu()) pass.cached_bytes = bytes;
  pass.part = reached.part;
  kernels.costs().add(operation, pass);
  operation.on_end = [range = reached.range, a] {
    if (range.block->real()) {
      for (Word i = 0; i < a.count; ++i) a.words[i] *= kGrowth;
      return;
    }
    for (const Run& run : range.block->content->read(range.begin, range.end))
      range.block->content->assign(run.begin, run.end, grown(run));
  };
}

template <bool packs>
void particles_move(Kernels& kernels, Operation& operation, const SegmentsArguments& a,
                    const KernelLaunch& launch) {
  kernels.must_be_real(a.segments);
  const std::vector<Segment> segments(a.segments, a.segments + a.count);
  Word words = 0;
  struct Ends {
    Range store, message;
  };
  std::vector<Ends> ends;
  Kernels::Reach stored, sent;
  for (const Segment& segment : segments) {
    stored =
        kernels.reach(operation, launch.executor, a.store + segment.in_store, segment.words * kWordBytes);
    sent = kernels.reach(operation, launch.executor, a.messages + segment.in_messages,
                         segment.words * kWordBytes);
    ends.push_back({stored.range, sent.range});
    words += segment.words;
  }
  kernels.begin_on_cores(operation, launch, 1);
  const Place from = packs ? stored.place : sent.place, to = packs ? sent.place : stored.place;
  kernels.costs().add(operation, Transfer{launch.mechanism(), launch.executor, from, to,
                                          static_cast<double>(words * kWordBytes), 2, launch.threads(), 0,
                                          std::min(stored.part, sent.part)});
  if (a.step > 0) {  // a call for each particle
    const auto particles = static_cast<double>(words / kParticleWords);
    operation.fixed += picoseconds(particles * kernels.model().cpu.call_ns);
  }
  // Words are moved in the order of the store, since none can see the order within a message.
  if (a.step > 1) {
    const auto store = static_cast<double>(stored.range.block->bytes);  // no core has tracked it
    operation.flow.cap =
        std::min(operation.flow.cap, kernels.costs().scattered_rate(launch.executor, stored.place, store));
  }
  operation.never_ends = kernels.hangs(from, to);
  operation.on_end = [&kernels, ends, executor = launch.executor] {
    for (const Ends& each : ends) {
      kernels.move(packs ? each.message : each.store, packs ? each.store : each.message, executor);
      if (packs) kernels.memory().poison(each.store, 0, 1);
    }
  };
}

const RegisterSimulatedKernel<particles_track> kParticlesTrack{"particles_track"};
const RegisterSimulatedKernel<particles_move<true>> kParticlesPack{"particles_pack"};
const RegisterSimulatedKernel<particles_move<false>> kParticlesUnpack{"particles_unpack"};

}  // namespace
}  // namespace byteways::sim
