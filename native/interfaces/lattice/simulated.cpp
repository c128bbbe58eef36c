// Words of the lattice on the simulated machine.
#include <algorithm>
#include <vector>

#include "interfaces/lattice/loops.hpp"
#include "simulator/machine/kernels.hpp"

namespace byteways::sim {
namespace {

// Runs of other content than a tile are looked at word by word up to this length, longer ones at both ends:
// then all of their words count as wrong if either is.
constexpr Word kLookedAt = 1 << 16;

void note(CheckResult& found, Word index, Word count, Word expected, Word got) {
  found.bad_count += count;
  if (index < found.first_bad) found = {found.bad_count, index, expected, got};
}

// The words of a region in a tile that are not `wanted`.
void look_at_region(CheckResult& found, const Tile& tile, const TileRegion& region, Word factor, Word first_x,
                    Word first_y, Word count, Word base) {
  if (count == 0 || region == TileRegion{factor, true}) return;
  const Word expected = factor * lattice_power(kAcross, first_x) * lattice_power(kUp, first_y);
  note(found, base + first_y * tile.width + first_x, count, expected, region.at(first_x, first_y));
}

CheckResult check_symbolic(const Range& of, const LatticeArguments& a) {
  CheckResult found{0, ~Word{0}, 0, 0};
  for (const Run& run : of.block->content->read(of.begin, of.end)) {
    const Word at = run.begin - of.begin, field = at / (a.width * a.height);
    const Word first = field * a.width * a.height, factor = a.corner * lattice_seed(a.key, field);
    const Tile* tile =
        run.rule.kind == Rule::Kind::tile && run.rule.stride == 0 ? run.rule.tile.get() : nullptr;
    if (tile && tile->width == a.width && tile->origin == of.begin + first) {
      if (tile->factor() == factor) continue;
      const Word d = tile->depth, w = tile->width, h = d == 0 ? a.height : tile->height;
      look_at_region(found, *tile, tile->inner, factor, d, d, (w - 2 * d) * (h - 2 * d), first);
      look_at_region(found, *tile, tile->sides[0], factor, 0, d, d * (h - 2 * d), first);
      look_at_region(found, *tile, tile->sides[1], factor, w - d, d, d * (h - 2 * d), first);
      look_at_region(found, *tile, tile->sides[2], factor, 0, 0, d * w, first);
      look_at_region(found, *tile, tile->sides[3], factor, 0, h - d, d * w, first);
      continue;
    }
    const Word length = run.end - run.begin;
    if (length <= kLookedAt) {
      std::vector<Word> words(length);
      run.rule.write(run.begin, run.end, words.data());
      lattice_for_words(a, at, at + length, [&](Word i, Word wanted) {
        if (const Word got = words[i - at]; got != wanted) note(found, i, 1, wanted, got);
      });
      continue;
    }
    for (const Word i : {at, at + length - 1})
      if (const Word got = run.rule.at(of.begin + i), wanted = lattice_word(a, i); got != wanted) {
        note(found, i, length, wanted, got);
        break;
      }
  }
  return found;
}

void add_cost(Kernels& kernels, Operation& operation, const LatticeArguments& a, const KernelLaunch& launch,
              const Kernels::Reach& reached, bool checks) {
  kernels.costs().add(operation,
                      {launch.mechanism(), launch.executor, checks ? reached.place : launch.executor,
                       checks ? launch.executor : reached.place, static_cast<double>(a.count * kWordBytes), 1,
                       launch.threads(), 0, reached.part});
}

void lattice_fill(Kernels& kernels, Operation& operation, const LatticeArguments& a,
                  const KernelLaunch& launch) {
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, a.words, a.count * kWordBytes);
  add_cost(kernels, operation, a, launch, reached, false);
  operation.on_end = [range = reached.range, a] {
    if (range.block->real()) {
      for (Word i = 0; i < a.count; ++i) a.words[i] = lattice_word(a, i);
      return;
    }
    const Word each = a.width * a.height;
    for (Word field = 0; field * each < a.count; ++field) {
      Tile tile{
          range.begin + field * each, a.width, a.height, 0, {a.corner * lattice_seed(a.key, field)}, {}};
      range.block->content->assign(tile.origin, tile.origin + each, Rule::of(tile));
    }
  };
}

void lattice_check(Kernels& kernels, Operation& operation, const LatticeArguments& a,
                   const KernelLaunch& launch) {
  kernels.must_be_real(a.result);
  const Kernels::Reach reached = kernels.reach(operation, launch.executor, a.words, a.count * kWordBytes);
  add_cost(kernels, operation, a, launch, reached, true);
  const bool lost = kernels.lies(launch.executor, reached.place);
  operation.on_end = [range = reached.range, a, lost] {
    CheckResult found{0, ~Word{0}, 0, 0};
    if (lost)
      found = {a.count, 0, lattice_word(a, 0), 0};
    else if (!range.block->real())
      found = check_symbolic(range, a);
    else
      for (Word i = 0; i < a.count; i += a.stride)
        if (const Word wanted = lattice_word(a, i); a.words[i] != wanted)
          note(found, i, 1, wanted, a.words[i]);
    *a.result = found;
  };
}

const RegisterSimulatedKernel<lattice_fill> kLatticeFill{"lattice_fill"};
const RegisterSimulatedKernel<lattice_check> kLatticeCheck{"lattice_check"};

}  // namespace
}  // namespace byteways::sim
