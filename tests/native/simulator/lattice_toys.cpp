// The lattice against a plain computation: one rank's stencil over a whole grid, and the same grid as tiles
// that exchange halos by the loops of hosts and of the simulated machine.
#include <array>
#include <vector>

#include "interfaces/halo/loops.hpp"
#include "simulator/memory/memory.hpp"
#include "toys.hpp"

namespace toys {
namespace {

using byteways::HaloArguments;
using Words = std::vector<unsigned long long>;

constexpr unsigned long long kKey = 12345;

byteways::LatticeArguments lattice(Words& words, unsigned long long width, unsigned long long height,
                                   unsigned long long corner) {
  return {words.data(), words.size(), width, height, kKey, corner, 1, nullptr};
}

void fill_cells(Words& words, unsigned long long width, unsigned long long height,
                unsigned long long corner) {
  const auto arguments = lattice(words, width, height, corner);
  for (unsigned long long i = 0; i < words.size(); ++i) words[i] = byteways::lattice_word(arguments, i);
}

// A tile with its halo, before and after a step.
struct Tile {
  Words now, next;
  HaloArguments arguments;
  HaloArguments with(const unsigned long long* from, unsigned long long* to, unsigned side) const {
    HaloArguments made = arguments;
    made.from = from;
    made.to = to;
    made.side = side;
    return made;
  }
};

unsigned long long words_of(const HaloArguments& a) { return a.fields * halo_rows(a) * halo_row_words(a); }

Tile tile_of(unsigned long long width, unsigned long long height, unsigned long long depth,
             unsigned long long fields) {
  Tile tile{{}, {}, {nullptr, nullptr, width, height, depth, fields, 0}};
  tile.now.resize(fields * halo_field_words(tile.arguments));
  tile.next.resize(tile.now.size());
  return tile;
}

// The plain way, of one rank: cell by cell with its four neighbours, and mirrored cells around the grid.
void step_alone(Tile& tile) {
  const HaloArguments& a = tile.arguments;
  const auto pitch = halo_pitch(a);
  for (unsigned long long f = 0; f < a.fields; ++f)
    for (unsigned long long y = a.depth; y < a.depth + a.height; ++y)
      for (unsigned long long x = a.depth; x < a.depth + a.width; ++x) {
        const auto i = f * halo_field_words(a) + y * pitch + x;
        tile.next[i] =
            tile.now[i] + tile.now[i - 1] + tile.now[i + 1] + tile.now[i - pitch] + tile.now[i + pitch];
      }
  tile.now.swap(tile.next);
  for (unsigned side = 0; side < 4; ++side) {
    const auto made = tile.with(tile.now.data(), tile.now.data(), side);
    byteways::halo_boundary_rows(made, 0, made.fields * halo_rows(made));
  }
}

// Steps of a grid of ranks, each with its tile; answers the words that differ from those of one rank.
std::uint64_t differ_from_one_rank(unsigned columns, unsigned rows, unsigned long long depth, int steps) {
  const unsigned long long width = 7, height = 5, fields = 3;
  Tile whole = tile_of(columns * width, rows * height, depth, fields);
  fill_cells(whole.now, columns * width + 2 * depth, rows * height + 2 * depth, 1);
  std::vector<Tile> tiles;
  for (unsigned rank = 0; rank < columns * rows; ++rank) {
    tiles.push_back(tile_of(width, height, depth, fields));
    const auto corner = byteways::lattice_power(byteways::kAcross, rank % columns * width) *
                        byteways::lattice_power(byteways::kUp, rank / columns * height);
    fill_cells(tiles.back().now, width + 2 * depth, height + 2 * depth, corner);
  }
  for (int step = 0; step < steps; ++step) {
    step_alone(whole);
    for (Tile& tile : tiles) {
      const auto made = tile.with(tile.now.data(), tile.next.data(), 0);
      byteways::halo_stencil_rows(made, 0, made.fields * made.height);
      tile.now.swap(tile.next);
    }
    for (unsigned side = 0; side < 4; ++side)
      for (unsigned rank = 0; rank < tiles.size(); ++rank) {
        const unsigned x = rank % columns, y = rank / columns;
        const bool edge = side == 0   ? x == 0
                          : side == 1 ? x + 1 == columns
                          : side == 2 ? y == 0
                                      : y + 1 == rows;
        const auto own = tiles[rank].with(tiles[rank].now.data(), tiles[rank].now.data(), side);
        if (edge) {
          byteways::halo_boundary_rows(own, 0, own.fields * halo_rows(own));
          continue;
        }
        const unsigned other = side == 0   ? rank - 1
                               : side == 1 ? rank + 1
                               : side == 2 ? rank - columns
                                           : rank + columns;
        Words message(words_of(own));
        const auto sent = tiles[other].with(tiles[other].now.data(), message.data(), side ^ 1);
        byteways::halo_move_rows<true>(sent, 0, sent.fields * halo_rows(sent));
        const auto received = tiles[rank].with(message.data(), tiles[rank].now.data(), side);
        byteways::halo_move_rows<false>(received, 0, received.fields * halo_rows(received));
      }
  }
  std::uint64_t wrong = 0;
  for (unsigned rank = 0; rank < tiles.size(); ++rank)
    for (unsigned long long f = 0; f < fields; ++f)
      for (unsigned long long y = 0; y < height + 2 * depth; ++y)
        for (unsigned long long x = 0; x < width + 2 * depth; ++x) {
          const auto mine = f * halo_field_words(tiles[rank].arguments) + y * (width + 2 * depth) + x;
          const auto there = f * halo_field_words(whole.arguments) +
                             (y + rank / columns * height) * halo_pitch(whole.arguments) + x +
                             rank % columns * width;
          wrong += tiles[rank].now[mine] != whole.now[there];
        }
  return wrong;
}

// After any number of steps every word of one rank is the closed form's.
std::uint64_t differ_from_closed_form(int steps) {
  Tile whole = tile_of(9, 6, 2, 2);
  fill_cells(whole.now, 13, 10, 1);
  for (int step = 0; step < steps; ++step) step_alone(whole);
  const auto expected =
      lattice(whole.now, 13, 10, byteways::lattice_power(byteways::kGrowth, static_cast<unsigned>(steps)));
  std::uint64_t wrong = 0;
  for (unsigned long long i = 0; i < whole.now.size(); ++i)
    wrong += whole.now[i] != byteways::lattice_word(expected, i);
  return wrong;
}

// A tile's words, moved and multiplied, are those of its own copy in real memory.
std::uint64_t symbolic_differs() {
  using namespace byteways::sim;
  byteways::sim::Tile tile{3, 11, 8, 2, {7, true}, {}};
  for (unsigned side = 0; side < 4; ++side) tile.sides[side] = {side + 20, side % 2 == 0};
  Content content(400);
  content.assign(3, 3 + 88, Rule::of(tile));
  std::uint64_t wrong = 0;
  const Rule moved = Rule::of(tile).moved(3, 200);
  content.assign(200, 288, moved);
  for (Word i = 0; i < 88; ++i) wrong += content.at(3 + i) != content.at(200 + i);
  for (Word i = 0; i < 88; ++i) wrong += tile.times(5).at(3 + i) != 5 * content.at(3 + i);
  content.assign(200, 240, Rule::of(tile).moved(3, 200));  // joins what it was part of
  return wrong + (content.read(200, 288).size() != 1);
}

}  // namespace

void add_lattice_toys(Toys& toys) {
  toys["tiles"] = [] {
    for (const auto& [columns, rows, depth] :
         {std::array{1u, 1u, 1u}, {2u, 1u, 1u}, {1u, 2u, 2u}, {2u, 2u, 2u}, {3u, 2u, 5u}, {4u, 4u, 3u}})
      say("wrong", columns, rows, depth, differ_from_one_rank(columns, rows, depth, 4));
  };
  toys["closed-form"] = [] {
    for (const int steps : {0, 1, 2, 64, 500}) say("wrong", steps, differ_from_closed_form(steps));
  };
  toys["symbolic-tile"] = [] { say("wrong", symbolic_differs()); };
}

}  // namespace toys
