// See content.hpp.
#include "simulator/memory/content.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "runtimes/mpi/table.hpp"

namespace byteways::sim {
namespace {

constexpr Word kMultiplier = 0x9E3779B97F4A7C15ull;  // of pattern_word()

static_assert(inverse_of_odd(kMultiplier) * kMultiplier == 1);

struct Finding {
  CheckResult result{0, ~Word{0}, 0, 0};
  void bad(Word first, Word count) {
    result.bad_count += count;
    result.first_bad = std::min(result.first_bad, first);
  }
};

// The number of i in [begin, end) with i % stride == phase, and the first of them.
struct Spots {
  Word first, count;
};
Spots spots_of(const Rule& rule, Word begin, Word end) {
  const Word first = begin + (rule.phase + rule.stride - begin % rule.stride) % rule.stride;
  return {first, first < end ? (end - first - 1) / rule.stride + 1 : 0};
}

// Returns a rule as a linear sum; none if it is not one.
std::optional<LinearSum> linear_of(const Rule& rule) {
  if (rule.stride != 0) return {};
  switch (rule.kind) {
    case Rule::Kind::constant:
      return LinearSum{rule.value, {}};
    case Rule::Kind::pattern:
      return LinearSum{0, {{rule.value, 1}}};
    case Rule::Kind::linear:
      return *rule.linear;
    default:
      return {};
  }
}

// Returns the simplest rule with these words.
Rule rule_of(LinearSum sum) {
  if (sum.factors.empty()) return {Rule::Kind::constant, sum.constant, nullptr, 0, 0, 0};
  if (const auto& [base, factor] = *sum.factors.begin();
      sum.factors.size() == 1 && factor == 1 && sum.constant == 0)
    return {Rule::Kind::pattern, base, nullptr, 0, 0, 0};
  Rule rule{Rule::Kind::linear, 0, nullptr, 0, 0, 0};
  rule.linear = std::make_shared<const LinearSum>(std::move(sum));
  return rule;
}

constexpr Word kMostAdded = 1 << 14;  // words that are added one by one: eager messages are no longer

// Returns the rule of the sums of two rules' words in [begin, end). Single words are added up, since a sum of
// sums takes twice the time with every repetition.
Rule sum_of(const Rule& left, const Rule& right, int element, Word begin, Word end) {
  if (end - begin == 1)
    return {Rule::Kind::constant, add_elements(left.at(begin), right.at(begin), element), nullptr, 0, 0, 0};
  if (element == kUnsigned64) {
    const auto a = linear_of(left), b = linear_of(right);
    if (a && b) {
      LinearSum sum = *a;
      sum.add(*b);
      return rule_of(std::move(sum));
    }
  }
  // What came through a buffer of the library is words already; a sum of sums would double with every call.
  const bool held = left.kind == Rule::Kind::words || right.kind == Rule::Kind::words;
  if (held && end - begin <= kMostAdded) {
    std::vector<Word> words;
    for (Word i = begin; i < end; ++i) words.push_back(add_elements(left.at(i), right.at(i), element));
    return {Rule::Kind::words, begin, std::make_shared<const std::vector<Word>>(std::move(words)), 0, 0, 0};
  }
  Rule rule{Rule::Kind::sum, 0, nullptr, 0, 0, 0};
  rule.sum = std::make_shared<const Sum>(Sum{left, right, element});
  return rule;
}

}  // namespace

Word pattern_index(Word word) { return (word ^ (word >> 32)) * inverse_of_odd(kMultiplier); }

Word add_elements(Word a, Word b, int element) {
  const auto add = [a, b]<class Value>(Value) {
    Value x[sizeof(Word) / sizeof(Value)], y[sizeof(Word) / sizeof(Value)];
    std::memcpy(x, &a, sizeof x);
    std::memcpy(y, &b, sizeof y);
    for (std::size_t k = 0; k < std::size(x); ++k) x[k] = static_cast<Value>(x[k] + y[k]);
    Word sum;
    std::memcpy(&sum, x, sizeof sum);
    return sum;
  };
  switch (element) {
    case kFloat:
      return add(float{});
    case kByte:
      return add(static_cast<unsigned char>(0));
    case kUnsigned32:
      return add(std::uint32_t{0});
    default:
      return a + b;
  }
}

LinearSum LinearSum::of(const PatternSum& sum, Word shift) {
  LinearSum found;
  for (unsigned term = 0; term < sum.terms; ++term) found.add(sum.key + term * sum.step + shift, sum.factor);
  found.add(sum.own_key + shift, sum.own_factor);
  return found;
}

void LinearSum::add(Word base, Word factor) {
  if ((factors[base] += factor) == 0) factors.erase(base);
}

void LinearSum::add(const LinearSum& other) {
  constant += other.constant;
  for (const auto& [base, factor] : other.factors) add(base, factor);
}

Word LinearSum::at(Word index) const {
  Word sum = constant;
  for (const auto& [base, factor] : factors) sum += factor * pattern_word(base, index);
  return sum;
}

LinearSum LinearSum::moved(Word from, Word to) const {
  LinearSum found{constant, {}};
  for (const auto& [base, factor] : factors) found.add(base + from - to, factor);
  return found;
}

Rule Rule::of(Tile tile) {
  Rule rule{Kind::tile, 0, nullptr, 0, 0, 0};
  rule.tile = std::make_shared<const Tile>(tile);
  return rule;
}

Rule Rule::of(Blocks blocks, Word value) {
  Rule rule{Kind::blocks, value, nullptr, 0, 0, 0};
  rule.blocks = std::make_shared<const Blocks>(std::move(blocks));
  return rule;
}

Word Rule::at(Word index) const {
  if (stride != 0 && index % stride == phase) return spot;
  switch (kind) {
    case Kind::pattern:
      return pattern_word(value, index);
    case Kind::words:
      return (*words)[index - value];
    case Kind::rows: {
      const RowsShape& shape = rows->shape;
      const Word row = (index - rows->begin) / shape.pitch_words;
      const Word column = (index - rows->begin) % shape.pitch_words;
      return column < shape.row_words ? pattern_word(value, row * shape.source_pitch_words + column)
                                      : rows->gap;
    }
    case Kind::blocks: {
      const BlockPlaces& places = *blocks->places;
      const Word within = index - blocks->begin;
      const BlockPlace& place = places[place_before(places.data(), places.size(), within)];
      const Word column = within - place.destination;
      return column < place.words ? pattern_word(value, place.source + column) : blocks->gap;
    }
    case Kind::linear:
      return linear->at(index);
    case Kind::sum:
      return add_elements(sum->left.at(index), sum->right.at(index), sum->element);
    case Kind::tile:
      return tile->at(index);
    case Kind::doubles:
      return stream_expected(operation, value, second, index);
    default:
      return value;
  }
}

void Rule::write(Word begin, Word end, Word* to) const {
  if (kind == Kind::words && stride == 0) {
    std::copy_n(words->begin() + static_cast<std::ptrdiff_t>(begin - value), end - begin, to);
    return;
  }
  const bool rows = kind == Kind::tile && stride == 0 && tile->depth == 0 && tile->inner.lattice;
  while (begin < end) {
    // One multiplication a word within a row of the lattice.
    const Word length = rows ? std::min(end - begin, tile->width - (begin - tile->origin) % tile->width) : 1;
    Word word = at(begin);
    for (Word i = 0; i < length; ++i, word *= kAcross) *to++ = word;
    begin += length;
  }
}

Rule Rule::moved(Word from, Word to) const {
  Rule rule = *this;
  // pattern_word depends on the sum of base and index alone
  if (kind == Kind::pattern || kind == Kind::doubles) rule.value = value + from - to;
  if (kind == Kind::doubles) rule.second = second + from - to;
  if (kind == Kind::rows)
    rule.rows = std::make_shared<const Rows>(Rows{rows->shape, rows->begin + to - from, rows->gap});
  if (kind == Kind::blocks)
    rule.blocks =
        std::make_shared<const Blocks>(Blocks{blocks->places, blocks->begin + to - from, blocks->gap});
  if (kind == Kind::words) rule.value = value + to - from;
  if (kind == Kind::linear) rule.linear = std::make_shared<const LinearSum>(linear->moved(from, to));
  if (kind == Kind::sum)
    rule.sum =
        std::make_shared<const Sum>(Sum{sum->left.moved(from, to), sum->right.moved(from, to), sum->element});
  if (kind == Kind::tile) {
    Tile there = *tile;
    there.origin += to - from;
    rule.tile = std::make_shared<const Tile>(there);
  }
  if (stride != 0) rule.phase = (phase + to % stride + stride - from % stride) % stride;
  return rule;
}

bool Rule::continues(const Rule& other) const {
  if (kind == Kind::sum && other.kind == kind && sum != other.sum)
    if (sum->element != other.sum->element || !sum->left.continues(other.sum->left) ||
        !sum->right.continues(other.sum->right))
      return false;
  return kind == other.kind && value == other.value && words == other.words && second == other.second &&
         operation == other.operation &&
         (rows == other.rows || (rows && other.rows && *rows == *other.rows)) &&
         (blocks == other.blocks || (blocks && other.blocks && *blocks == *other.blocks)) &&
         (linear == other.linear || (linear && other.linear && *linear == *other.linear)) &&
         (tile == other.tile || (tile && other.tile && *tile == *other.tile)) && stride == other.stride &&
         (stride == 0 || (phase == other.phase && spot == other.spot));
}

std::map<Word, Run>::iterator Content::split(Word at) {
  auto after = runs_.lower_bound(at);
  if (after != runs_.end() && after->first == at) return after;
  Run& before = std::prev(after)->second;
  if (at >= before.end) return after;  // end of the block
  const Run rest{at, before.end, before.rule};
  before.end = at;
  return runs_.emplace_hint(after, at, rest);
}

void Content::join(Word at) {
  const auto after = runs_.find(at);
  if (after == runs_.end() || after == runs_.begin()) return;
  Run& before = std::prev(after)->second;
  if (!before.rule.continues(after->second.rule)) return;
  before.end = after->second.end;
  runs_.erase(after);
}

void Content::assign(Word begin, Word end, Rule rule) {
  if (begin == end) return;
  const auto first = split(begin);
  const auto last = split(end);
  const auto next = runs_.erase(first, last);
  runs_.emplace_hint(next, begin, Run{begin, end, std::move(rule)});
  join(begin);
  join(end);
}

void Content::spot(Word begin, Word end, Word stride, Word value) {
  if (begin >= end) return;
  if (stride <= 1) return assign(begin, end, {Rule::Kind::constant, value, nullptr, 0, 0, 0});
  const Word phase = begin % stride;
  for (const Run& run : read(begin, end)) {
    Rule rule = run.rule;
    if (rule.kind == Rule::Kind::constant && rule.value == value && rule.stride == 0) continue;
    if (rule.stride == 0 || (rule.stride == stride && rule.phase == phase)) {
      rule.stride = stride;
      rule.phase = phase;
      rule.spot = value;
      assign(run.begin, run.end, rule);
    } else {  // two kinds of spots in one run: word by word
      const Spots spots = spots_of({Rule::Kind::constant, 0, nullptr, stride, phase, 0}, run.begin, run.end);
      for (Word k = 0; k < spots.count; ++k) {
        const Word index = spots.first + k * stride;
        assign(index, index + 1, {Rule::Kind::constant, value, nullptr, 0, 0, 0});
      }
    }
  }
}

void Content::add(Word begin, Word end, const Content& other, Word source, int element) {
  const std::vector<Run> mine = read(begin, end), theirs = other.read(source, source + end - begin);
  auto right = theirs.begin();
  for (const Run& run : mine)
    for (Word at = run.begin; at < run.end;) {
      while (right->end - source <= at - begin) ++right;
      const Word until = std::min(run.end, right->end - source + begin);
      const Rule moved = right->rule.moved(source, begin);
      assign(at, until, sum_of(run.rule, moved, element, at, until));
      at = until;
    }
}

std::vector<Run> Content::read(Word begin, Word end) const {
  std::vector<Run> found;
  if (begin >= end) return found;
  for (auto each = std::prev(runs_.upper_bound(begin)); each != runs_.end() && each->first < end; ++each)
    found.push_back(
        {std::max(begin, each->second.begin), std::min(end, each->second.end), each->second.rule});
  return found;
}

Word Content::at(Word index) const { return std::prev(runs_.upper_bound(index))->second.rule.at(index); }

CheckResult Content::check(Word begin, Word count, Word key, Word first, Word stride) const {
  const Word base = key + first - begin;  // word i should be pattern_word(base, i)
  Finding finding;
  if (stride > 1) {
    for (Word j = 0; j < count; j += stride)
      if (at(begin + j) != pattern_word(base, begin + j)) finding.bad(begin + j, 1);
  }
  for (const Run& run : stride > 1 ? std::vector<Run>{} : read(begin, begin + count)) {
    const Rule& rule = run.rule;
    const Word length = run.end - run.begin;
    const Spots spots = rule.stride != 0 ? spots_of(rule, run.begin, run.end) : Spots{run.end, 0};
    const auto is_spot = [&](Word i) { return rule.stride != 0 && i % rule.stride == rule.phase; };
    // Constant words that happen to be right: at most one, as all words of a pattern differ.
    const auto lucky = [&](Word value) { return pattern_index(value) - base; };
    if (rule.kind == Rule::Kind::words || rule.kind == Rule::Kind::rows || rule.kind == Rule::Kind::blocks ||
        rule.kind == Rule::Kind::linear || rule.kind == Rule::Kind::sum || rule.kind == Rule::Kind::tile) {
      for (Word i = run.begin; i < run.end; ++i)
        if (rule.at(i) != pattern_word(base, i)) finding.bad(i, 1);
      continue;
    }
    if (rule.kind != Rule::Kind::pattern || rule.value != base) {  // the words outside spots are wrong
      Word bad = length - spots.count, at = run.begin;
      const Word right = rule.kind == Rule::Kind::constant ? lucky(rule.value) : run.end;
      if (right >= run.begin && right < run.end && !is_spot(right)) --bad;
      while (at < run.end && (is_spot(at) || at == right)) ++at;
      if (bad > 0) finding.bad(at, bad);
    }
    if (spots.count > 0) {
      const Word right = lucky(rule.spot);
      const bool one_right = right >= run.begin && right < run.end && is_spot(right);
      const Word at = spots.first == right ? spots.first + rule.stride : spots.first;
      if (spots.count > one_right) finding.bad(at, spots.count - one_right);
    }
  }
  if (finding.result.bad_count == 0) return {0, ~Word{0}, 0, 0};
  finding.result.expected = pattern_word(base, finding.result.first_bad);
  finding.result.got = at(finding.result.first_bad);
  finding.result.first_bad -= begin;
  return finding.result;
}

CheckResult Content::check_sum(Word begin, Word count, const PatternSum& expected, Word first,
                               Word stride) const {
  const LinearSum wanted = LinearSum::of(expected, first - begin);
  CheckResult found{0, ~Word{0}, 0, 0};
  for (const Run& run : read(begin, begin + count)) {
    if (const auto sum = linear_of(run.rule); sum && *sum == wanted) continue;
    for (Word j = (run.begin - begin + stride - 1) / stride * stride; begin + j < run.end; j += stride) {
      const Word got = run.rule.at(begin + j), sum = expected.at(first + j);
      if (got == sum) continue;
      if (found.bad_count++ == 0) found = {1, j, sum, got};
    }
  }
  return found;
}

CheckResult Content::check(Word begin, Word count, const Rule& expected) const {
  CheckResult found{0, ~Word{0}, 0, 0};
  for (const Run& run : read(begin, begin + count)) {
    if (run.rule.continues(expected)) continue;
    for (Word i = run.begin; i < run.end; ++i) {
      const Word got = run.rule.at(i), wanted = expected.at(i);
      if (got == wanted) continue;
      if (found.bad_count++ == 0) found = {1, i - begin, wanted, got};
    }
  }
  return found;
}

}  // namespace byteways::sim
