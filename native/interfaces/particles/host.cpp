// The host's kernels of the particle exchange.
#include <cstring>

#include "interfaces/particles/arguments.hpp"
#include "runtimes/host/host_kernels.hpp"

namespace byteways {
namespace {

void particles_track(const TrackArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, kParticleWords, member);
  for (unsigned long long i = share.begin; i < share.end; ++i) arguments.words[i] *= kGrowth;
}

template <bool packs>
void move_words(unsigned long long* stored, unsigned long long* sent, unsigned long long words) {
  const std::size_t bytes = words * sizeof(unsigned long long);
  std::memcpy(packs ? sent : stored, packs ? stored : sent, bytes);
  if (packs) std::memset(stored, 0, bytes);
}

template <bool packs>
void particles_move(const SegmentsArguments& arguments, const TeamMember& member) {
  const Share share = share_of(arguments.count, 1, member);
  for (unsigned long long k = share.begin; k < share.end; ++k) {
    const Segment& segment = arguments.segments[k];
    unsigned long long *stored = arguments.store + segment.in_store,
                       *sent = arguments.messages + segment.in_messages;
    if (arguments.step == 0) {
      move_words<packs>(stored, sent, segment.words);
      continue;
    }
    const unsigned long long particles = segment.words / kParticleWords;
    for (unsigned long long i = 0, at = 0; i < particles; ++i, at = (at + arguments.step) % particles)
      move_words<packs>(stored + at * kParticleWords, sent + i * kParticleWords, kParticleWords);
  }
}

const RegisterHostKernel<particles_track> kParticlesTrack("particles_track");
const RegisterHostKernel<particles_move<true>> kParticlesPack("particles_pack");
const RegisterHostKernel<particles_move<false>> kParticlesUnpack("particles_unpack");

}  // namespace
}  // namespace byteways
