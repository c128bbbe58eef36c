// The kernels of the halo exchange on the simulated machine. Large fields are symbolic: a tile of the lattice
// with four sides, each of which a message or the boundary has written (simulator/memory/tile.hpp).
#include <algorithm>
#include <optional>

#include "interfaces/halo/loops.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

constexpr Word kNoLattice = 0xBADBADBADBADBADBull;  // what a wrong input leaves

// The tile of a field whose words begin at `begin`; of other content, one whose regions are no lattice.
Tile tile_of(const Block& block, Word begin, const HaloArguments& a) {
  const std::vector<Run> runs = block.content->read(begin, begin + halo_field_words(a));
  const Rule& rule = runs.front().rule;
  Tile tile{begin, halo_pitch(a), a.height + 2 * a.depth, a.depth, {}, {}};
  if (runs.size() == 1 && rule.kind == Rule::Kind::tile && rule.stride == 0 && rule.tile->origin == begin &&
      rule.tile->width == tile.width) {
    if (rule.tile->depth == a.depth) return *rule.tile;
    tile.inner = rule.tile->inner;
    tile.sides.fill(tile.inner);
    return tile;
  }
  tile.inner = {kNoLattice, false};
  tile.sides.fill(tile.inner);
  return tile;
}

// Column and row of a strip's first word in its field.
struct Corner {
  Word x, y;
};
Corner corner_of(const HaloArguments& a, bool beyond) {
  const Word strip = halo_strip(a, beyond);
  return {strip % halo_pitch(a), strip / halo_pitch(a)};
}

Word at_corner(const Corner& corner) {
  return lattice_power(kAcross, corner.x) * lattice_power(kUp, corner.y);
}

Word message_words(const HaloArguments& a) { return halo_rows(a) * halo_row_words(a); }

void stencil(const Range& from, const Range& to, const HaloArguments& a) {
  for (Word field = 0; field < a.fields; ++field) {
    const Word offset = field * halo_field_words(a);
    const Word factor = tile_of(*from.block, from.begin + offset, a).factor();
    Tile made = tile_of(*to.block, to.begin + offset, a);
    made.inner = factor == 0 ? TileRegion{kNoLattice, false} : TileRegion{factor * kGrowth, true};
    to.block->content->assign(made.origin, made.origin + halo_field_words(a), Rule::of(made));
  }
}

// Rows take the sides of x with them: only where these are right they are a lattice, too.
void pack(Memory& memory, const Range& from, const Range& to, const HaloArguments& a) {
  const Corner corner = corner_of(a, false);
  for (Word field = 0; field < a.fields; ++field) {
    const Tile tile = tile_of(*from.block, from.begin + field * halo_field_words(a), a);
    const Word begin = to.begin + field * message_words(a);
    const bool whole = a.side <= kRight || (tile.sides[0] == tile.inner && tile.sides[1] == tile.inner);
    if (whole && !to.block->real()) {
      TileRegion region = tile.inner;
      if (region.lattice) region.factor *= at_corner(corner);
      to.block->content->assign(begin, begin + message_words(a),
                                Rule::of({begin, halo_row_words(a), halo_rows(a), 0, region, {}}));
      continue;
    }
    for (Word i = 0; i < message_words(a); ++i) {
      const Word x = corner.x + i % halo_row_words(a), y = corner.y + i / halo_row_words(a);
      memory.set(*to.block, begin + i, tile.region(x, y).at(x, y));
    }
  }
}

// The words of a message as a region of the field: its factor, where they are a lattice.
TileRegion region_of(const Memory& memory, const Block& block, Word begin, const HaloArguments& a) {
  const Word count = message_words(a), first = memory.at(block, begin);
  const TileRegion wrong{first, false};
  const Corner corner = corner_of(a, true);
  const Word back = lattice_power(kBack, corner.x) * lattice_power(kDown, corner.y);
  if (!block.real()) {
    const std::vector<Run> runs = block.content->read(begin, begin + count);
    const Rule& rule = runs.front().rule;
    if (runs.size() == 1 && rule.kind == Rule::Kind::tile && rule.stride == 0 && rule.tile->depth == 0 &&
        rule.tile->origin == begin && rule.tile->width == halo_row_words(a) && rule.tile->inner.lattice)
      return {rule.tile->inner.factor * back, true};
    if (runs.size() == 1 && rule.kind == Rule::Kind::constant) return wrong;
  }
  const Word words = halo_row_words(a);
  Word row = first;
  for (Word i = 0; i < count; i += words, row *= kUp) {
    Word expected = row;
    for (Word k = 0; k < words; ++k, expected *= kAcross)
      if (const Word got = memory.at(block, begin + i + k); got != expected) return {got, false};
  }
  return {first * back, true};
}

void unpack(Memory& memory, const Range& from, const Range& to, const HaloArguments& a) {
  for (Word field = 0; field < a.fields; ++field) {
    Tile tile = tile_of(*to.block, to.begin + field * halo_field_words(a), a);
    tile.sides[a.side] = region_of(memory, *from.block, from.begin + field * message_words(a), a);
    to.block->content->assign(tile.origin, tile.origin + halo_field_words(a), Rule::of(tile));
  }
}

void boundary(const Range& to, const HaloArguments& a) {
  for (Word field = 0; field < a.fields; ++field) {
    Tile tile = tile_of(*to.block, to.begin + field * halo_field_words(a), a);
    const bool whole = a.side <= kRight || (tile.sides[0] == tile.inner && tile.sides[1] == tile.inner);
    tile.sides[a.side] = whole ? tile.inner : TileRegion{kNoLattice, false};
    to.block->content->assign(tile.origin, tile.origin + halo_field_words(a), Rule::of(tile));
  }
}

// Word by word, where real memory meets symbolic.
void move_words(Memory& memory, const Range& from, const Range& to, const HaloArguments& a, bool packs) {
  const Word strip = halo_strip(a, !packs);
  for (Word i = 0; i < a.fields * message_words(a); ++i) {
    const Word in_fields = halo_index(a, strip, i);
    memory.set(*to.block, to.begin + (packs ? i : in_fields),
               memory.at(*from.block, from.begin + (packs ? in_fields : i)));
  }
}

enum class Step { stencil, pack, unpack, boundary };

void play(Memory& memory, Step step, const Range& from, const Range& to, const HaloArguments& a) {
  const bool real = from.block->real() && to.block->real();
  const Word rows = a.fields * halo_rows(a);
  switch (step) {
    case Step::stencil:
      return real ? halo_stencil_rows(a, 0, a.fields * a.height) : stencil(from, to, a);
    case Step::pack:
      if (real) return halo_move_rows<true>(a, 0, rows);
      return from.block->real() ? move_words(memory, from, to, a, true) : pack(memory, from, to, a);
    case Step::unpack:
      if (real) return halo_move_rows<false>(a, 0, rows);
      return to.block->real() ? move_words(memory, from, to, a, false) : unpack(memory, from, to, a);
    case Step::boundary:
      return real ? halo_boundary_rows(a, 0, rows) : boundary(to, a);
  }
}

template <Step step>
void halo(Kernels& kernels, Operation& operation, const HaloArguments& a, const KernelLaunch& launch) {
  const Word fields = a.fields * halo_field_words(a) * kWordBytes;
  const Word message = a.fields * message_words(a) * kWordBytes;
  const Kernels::Reach from =
      kernels.reach(operation, launch.executor, a.from, step == Step::unpack ? message : fields);
  const Kernels::Reach to =
      kernels.reach(operation, launch.executor, a.to, step == Step::pack ? message : fields);
  kernels.begin_on_cores(operation, launch, 1);
  if (step == Step::stencil) {
    Pass pass{launch.executor,
              {from.place},
              to.place,
              static_cast<double>(a.fields * a.width * a.height * kWordBytes),
              launch.threads()};
    if (!launch.on_gpu()) pass.cached_bytes = 2 * static_cast<double>(fields);
    pass.part = std::min(from.part, to.part);
    kernels.costs().add(operation, pass);
  } else {
    const RowsShape rows{a.fields * halo_rows(a), halo_row_words(a), halo_pitch(a), halo_row_words(a)};
    const double bytes = bytes_of_rows(rows);
    kernels.costs().add(
        operation,
        Transfer{launch.mechanism(), launch.executor, from.place, to.place, bytes, 2, launch.threads(),
                 launch.on_gpu() ? 0 : 2 * static_cast<double>(fields), std::min(from.part, to.part)});
  }
  operation.never_ends = kernels.hangs(from.place, to.place);
  operation.on_end = [&kernels, from = from.range, to = to.range, here = from.place, a, message,
                      executor = launch.executor] {
    if (step == Step::pack)
      kernels.devices().count_moved(here, place_of(*to.block, to.begin * kWordBytes), message);
    kernels.deliver(to, here, executor, [&] { play(kernels.memory(), step, from, to, a); });
  };
}

const RegisterSimulatedKernel<halo<Step::stencil>> kHaloStencil{"halo_stencil"};
const RegisterSimulatedKernel<halo<Step::pack>> kHaloPack{"halo_pack"};
const RegisterSimulatedKernel<halo<Step::unpack>> kHaloUnpack{"halo_unpack"};
const RegisterSimulatedKernel<halo<Step::boundary>> kHaloBoundary{"halo_boundary"};

}  // namespace
}  // namespace byteways::sim
