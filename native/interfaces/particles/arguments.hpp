// Argument blocks of the kernels of a particle exchange.
#pragma once
#include "interfaces/lattice/arguments.hpp"

namespace byteways {

// Words of a particle, one row of the lattice. Quicksilver's MC_Base_Particle has 12 doubles, two 64-bit and
// six 32-bit integers: 136 bytes. 128 are whole cache lines.
constexpr unsigned int kParticleWords = 16;

// "particles_track": every word of the store is multiplied by kGrowth, whoever lives there; places that
// particles have left hold zeros, and keep them.
struct TrackArguments {
  unsigned long long* words;
  unsigned long long count;
};

// A message: so many words, from this word of the store on and from that one of the messages on.
struct Segment {
  unsigned long long in_store, in_messages, words;
};

// "particles_pack" moves the words of the segments from the store to the messages and leaves zeros;
// "particles_unpack" copies them back into the store.
struct SegmentsArguments {
  unsigned long long* store;
  unsigned long long* messages;
  const Segment* segments;
  unsigned long long count;
  unsigned int fence;  // device, pack: 1 to end by a fence, since messages may be in peers' memory
  // Host: 0 copies a segment at once, others one particle after another. The particles of the store follow
  // each other that many apart, again from the beginning after the last one; without a divisor that it has in
  // common with their number.
  unsigned long long step;
};

}  // namespace byteways
