// Symbolic content of a block of simulated memory: runs of 64-bit words that follow a rule. The cost of
// filling, copying and checking depends on the number of runs, not on the size, and results are exact to the
// word.
#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "interfaces/blocks/arguments.hpp"
#include "interfaces/stream/arguments.hpp"
#include "simulator/memory/tile.hpp"

namespace byteways::sim {

using Word = unsigned long long;

// Pitched (2D) rows, in words. Row r of the destination is row r of the source.
struct RowsShape {
  Word rows = 0, row_words = 0, pitch_words = 0, source_pitch_words = 0;
  bool operator==(const RowsShape&) const = default;
};

// Start of such rows in a block, and the word that fills the gaps.
struct Rows {
  RowsShape shape;
  Word begin = 0, gap = 0;
  bool operator==(const Rows&) const = default;
  // Returns whether rows of `other`, starting at `at`, have the same gaps.
  bool same_gaps(Word at, const RowsShape& other) const {
    return begin == at && shape.rows == other.rows && shape.row_words == other.row_words &&
           shape.pitch_words == other.pitch_words;
  }
};

// Scattered blocks, in the order of their destinations and relative to the first of these on both sides.
using BlockPlaces = std::vector<BlockPlace>;

inline bool have_gaps(const BlockPlaces& places) {
  Word words = 0;
  for (const BlockPlace& place : places) words += place.words;
  return places.back().destination + places.back().words != words;
}

// Where such blocks begin in a block of memory, and the word that fills the gaps.
struct Blocks {
  std::shared_ptr<const BlockPlaces> places;
  Word begin = 0, gap = 0;
  bool same_places(Word at, const std::shared_ptr<const BlockPlaces>& other) const {
    return begin == at &&
           (places == other ||
            std::equal(places->begin(), places->end(), other->begin(), other->end(), [](auto& a, auto& b) {
              return a.destination == b.destination && a.source == b.source && a.words == b.words;
            }));
  }
  bool operator==(const Blocks& other) const {
    return gap == other.gap && same_places(other.begin, other.places);
  }
};

// A word of elements (BytewaysElement of runtimes/mpi/table.hpp) plus another.
Word add_elements(Word a, Word b, int element);

struct Sum;

// Sums of 64-bit words as reductions leave them, however often they are repeated: word i is `constant` plus,
// for each base, its factor times pattern_word(base, i), modulo 2^64.
struct LinearSum {
  Word constant = 0;
  std::map<Word, Word> factors;  // by base; none is 0

  static LinearSum of(const PatternSum& sum, Word shift);  // its word i is sum.at(i + shift)
  void add(const LinearSum& other);
  void add(Word base, Word factor);
  Word at(Word index) const;
  LinearSum moved(Word from, Word to) const;
  bool operator==(const LinearSum&) const = default;
};

// The rule of a run: word i of the block is one of these.
struct Rule {
  enum class Kind {
    constant,
    pattern,
    words,
    doubles,
    rows,
    blocks,
    linear,
    sum,
    tile
  } kind = Kind::constant;
  // constant: the word; pattern: base, word i is pattern_word(base, i); doubles: base of the first source;
  // rows, blocks: base of the pattern that the source holds from its first row on, or from the source of the
  // first block on
  Word value = 0;
  std::shared_ptr<const std::vector<Word>> words;  // words: word i is (*words)[i - value]
  // Every stride-th word, those i with i % stride == phase, is `spot` instead; stride 0: none.
  Word stride = 0, phase = 0, spot = 0;
  // doubles: word i is stream_expected(operation, value, second, i).
  Word second = 0;
  unsigned operation = kStreamCopy;
  std::shared_ptr<const Rows> rows = {};         // rows: where they are
  std::shared_ptr<const Blocks> blocks = {};     // blocks: where they are
  std::shared_ptr<const LinearSum> linear = {};  // linear: the terms
  std::shared_ptr<const Sum> sum = {};           // sum: of what
  std::shared_ptr<const Tile> tile = {};         // tile: the words of a lattice

  static Rule of(Tile tile);
  static Rule of(Blocks blocks, Word value);

  Word at(Word index) const;
  void write(Word begin, Word end, Word* to) const;  // words [begin, end)
  Rule moved(Word from, Word to) const;              // the rule after moving word `from` to `to`
  bool continues(const Rule& other) const;           // whether adjacent runs follow one rule
};

// Word i is the sum of both rules' words i, element by element: for what no linear sum can express.
struct Sum {
  Rule left, right;
  int element = 0;
};

struct Run {
  Word begin = 0, end = 0;
  Rule rule;
};

class Content {
 public:
  explicit Content(Word words) : size_(words) { runs_[0] = {0, words, {}}; }

  void assign(Word begin, Word end, Rule rule);
  // One word in `stride` from `begin` on becomes `value`.
  void spot(Word begin, Word end, Word stride, Word value);
  // Adds words of `other` from `source` on to the words [begin, end).
  void add(Word begin, Word end, const Content& other, Word source, int element);
  std::vector<Run> read(Word begin, Word end) const;
  // Whether `holds` is true of every run in a range; it gets the part of a run that lies there, and the rule.
  template <class Holds>
  bool all_runs(Word begin, Word end, Holds holds) const {
    if (begin >= end) return true;
    for (auto each = std::prev(runs_.upper_bound(begin)); each != runs_.end() && each->first < end; ++each)
      if (!holds(std::max(begin, each->second.begin), std::min(end, each->second.end), each->second.rule))
        return false;
    return true;
  }
  // Whether word i is pattern_word(base, i) in a whole range.
  bool is_pattern(Word begin, Word end, Word base) const {
    return all_runs(begin, end, [base](Word, Word, const Rule& rule) {
      return rule.kind == Rule::Kind::pattern && rule.value == base && rule.stride == 0;
    });
  }
  Word at(Word index) const;
  // Result of the kernel `check`: compares words [begin, begin + count) with pattern_word(key, first + j),
  // every `stride`-th j.
  CheckResult check(Word begin, Word count, Word key, Word first, Word stride) const;
  // The same for sums: compares words with expected.at(first + j).
  CheckResult check_sum(Word begin, Word count, const PatternSum& expected, Word first, Word stride) const;
  // Compares words [begin, begin + count) with a rule, by their indices in the block.
  CheckResult check(Word begin, Word count, const Rule& expected) const;
  std::size_t runs() const { return runs_.size(); }

 private:
  std::map<Word, Run>::iterator split(Word at);  // splits a run so that one begins at `at`
  void join(Word at);                            // joins the runs on both sides if they follow one rule
  Word size_;
  std::map<Word, Run> runs_;  // by begin; they cover the block
};

// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the bits that are right.
constexpr Word inverse_of_odd(Word odd) {
  Word x = odd;  // right in its lowest three bits
  for (int step = 0; step < 5; ++step) x *= 2 - odd * x;
  return x;
}

// The index i for which pattern_word(key, i) is `word`, for key 0: pattern_word is a bijection.
Word pattern_index(Word word);

}  // namespace byteways::sim
