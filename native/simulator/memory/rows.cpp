// Pitched rows and scattered blocks in simulated memory: a copy of a million rows is represented by one rule,
// if the previous content is.
#include <algorithm>
#include <optional>
#include <tuple>

#include "simulator/memory/memory.hpp"

namespace byteways::sim {
namespace {

// The rule of pieces that are copied, rows or blocks, into words that hold something else: which words are
// gaps, and whether content of its own kind has the same gaps.
struct RowsCopied {
  const RowsShape& shape;
  Word origin;
  bool has_gaps() const { return shape.row_words != shape.pitch_words; }
  bool in_a_piece(Word begin, Word end) const {
    const Word first = begin - origin, last = end - 1 - origin;
    return first / shape.pitch_words == last / shape.pitch_words &&
           last % shape.pitch_words < shape.row_words;
  }
  const Word* gap_of(const Rule& rule) const {
    const bool same = rule.kind == Rule::Kind::rows && rule.rows->same_gaps(origin, shape);
    return same ? &rule.rows->gap : nullptr;
  }
};

struct BlocksCopied {
  const BlockMove& move;
  const BlockPlace& place_at(Word within) const {
    return (*move.places)[place_before(move.places->data(), move.places->size(), within)];
  }
  bool has_gaps() const { return have_gaps(*move.places); }
  bool in_a_piece(Word begin, Word end) const {
    const BlockPlace& place = place_at(begin - move.to);
    return end - move.to <= place.destination + place.words;
  }
  const Word* gap_of(const Rule& rule) const {
    const bool same = rule.kind == Rule::Kind::blocks && rule.blocks->same_places(move.to, move.places);
    return same ? &rule.blocks->gap : nullptr;
  }
};

// The content of all gaps in a range, if it is one word; returns false if it is not, or not easily found.
template <class Copied>
bool one_gap(const Content& content, const Range& to, const Copied& copied, Word& gap) {
  if (!copied.has_gaps()) return true;
  bool known = false;
  return content.all_runs(to.begin, to.end, [&](Word begin, Word end, const Rule& rule) {
    if (copied.in_a_piece(begin, end)) return true;
    const Word* held = rule.kind == Rule::Kind::constant ? &rule.value : copied.gap_of(rule);
    if (held == nullptr) return false;
    if ((rule.stride != 0 && rule.spot != *held) || (known && *held != gap)) return false;
    gap = *held;
    known = true;
    return true;
  });
}

// The base of the pattern that a range holds, relative to its first word; none if it holds anything else.
std::optional<Word> one_pattern(const Range& from) {
  const std::vector<Run> source = from.block->content->read(from.begin, from.end);
  if (source.size() != 1 || source[0].rule.kind != Rule::Kind::pattern || source[0].rule.stride != 0)
    return std::nullopt;
  return source[0].rule.value + from.begin;  // pattern_word depends on the sum of base and index
}

// Adds what was found in words that begin `offset` behind those of `total`, and behind all that it counts.
void add(CheckResult& total, CheckResult found, Word offset) {
  if (found.bad_count == 0) return;
  found.first_bad += offset;
  found.bad_count += total.bad_count;
  if (total.bad_count == 0)
    total = found;
  else
    total.bad_count = found.bad_count;
}

}  // namespace

void Memory::copy_rows(const Range& to, const Range& from, const RowsShape& shape) {
  if (!to.block->real() && !from.block->real()) {
    const std::optional<Word> base = one_pattern(from);
    Word gap = 0;
    if (base && one_gap(*to.block->content, to, RowsCopied{shape, to.begin}, gap)) {
      Rule rule;
      rule.kind = Rule::Kind::rows;
      rule.value = *base;
      rule.rows = std::make_shared<const Rows>(Rows{shape, to.begin, gap});
      to.block->content->assign(to.begin, to.end, std::move(rule));
      return;
    }
  }
  for (Word row = 0; row < shape.rows; ++row) {
    const Word there = to.begin + row * shape.pitch_words, here = from.begin + row * shape.source_pitch_words;
    copy({to.block, there, there + shape.row_words}, {from.block, here, here + shape.row_words});
  }
}

CheckResult Memory::check_rows(const Range& of, Word slot_words, const RowsShape& shape, Word key, Word gap) {
  CheckResult total{0, ~Word{0}, 0, 0};
  for (Word begin = of.begin; begin < of.end; begin += slot_words) {
    const Word end = std::min(of.end, begin + slot_words);
    const Word rows_end = std::min(end, begin + shape.rows * shape.pitch_words);
    Rule rows, behind;
    rows.kind = Rule::Kind::rows;
    rows.value = key + begin - of.begin;
    const bool packed = shape.row_words == shape.pitch_words;  // copy_rows() found no gap
    rows.rows = std::make_shared<const Rows>(Rows{shape, begin, packed ? 0 : gap});
    behind.value = gap;
    for (const auto& [from, to, rule] :
         {std::tuple{begin, rows_end, rows}, std::tuple{rows_end, end, behind}}) {
      add(total, check_rule({of.block, from, to}, rule), from - of.begin);
    }
  }
  return total;
}

void Memory::copy_blocks(const Range& to, const Range& from, const BlockMove& move) {
  const bool symbolic = !to.block->real() && !from.block->real();
  const std::optional<Word> base = symbolic ? one_pattern(from) : std::nullopt;
  if (base) {
    Word gap = 0;
    if (one_gap(*to.block->content, to, BlocksCopied{move}, gap)) {
      to.block->content->assign(to.begin, to.end,
                                Rule::of(Blocks{move.places, move.to, gap}, *base + move.from - from.begin));
      return;
    }
  }
  for (const BlockPlace& place : *move.places) {
    const Word there = move.to + place.destination, here = move.from + place.source;
    // Most blocks hold already what they held after the last operation.
    if (base && to.block->content->is_pattern(there, there + place.words, *base + here - from.begin - there))
      continue;
    copy({to.block, there, there + place.words}, {from.block, here, here + place.words});
  }
}

CheckResult Memory::check_blocks(const Range& of, Word first, Word slot_words, const BlockPlaces& places,
                                 Word key, Word gap) {
  CheckResult total{0, ~Word{0}, 0, 0};
  Rule between;
  between.value = gap;
  const BlockPlace head = places.front(), last = places.back();
  auto relative = std::make_shared<BlockPlaces>(places);
  for (BlockPlace& place : *relative) {
    place.destination -= head.destination;
    place.source -= head.source;
  }
  const Word gap_of_rule = have_gaps(*relative) ? gap : 0;  // copy_blocks() found none
  const Word begin = of.begin - first;                      // of the first slot
  for (Word slot = begin; slot < of.end; slot += slot_words) {
    const Word end = std::min(of.end, slot + slot_words);
    Word at = std::max(slot, of.begin);
    const auto check_gap = [&](Word until) {
      until = std::clamp(until, at, end);
      add(total, check_rule({of.block, at, until}, between), at - of.begin);
      at = until;
    };
    if (!of.block->real()) {
      const Rule whole =
          Rule::of(Blocks{relative, slot + head.destination, gap_of_rule}, key + slot - begin + head.source);
      check_gap(slot + head.destination);
      const Word until = std::clamp(slot + last.destination + last.words, at, end);
      const auto as_expected = [&](Word, Word, const Rule& rule) { return rule.continues(whole); };
      if (of.block->content->all_runs(at, until, as_expected)) at = until;
    }
    const Word within = at - slot;
    for (Word k = place_before(places.data(), places.size(), within); k < places.size() && at < end; ++k) {
      const Word there = slot + places[k].destination;
      const Word until = std::min(end, there + places[k].words);
      check_gap(there);
      if (until <= at) continue;
      const Word index = slot - begin + places[k].source + at - there;
      add(total, check({of.block, at, until}, key, index, 1), at - of.begin);
      at = until;
    }
    check_gap(end);
  }
  return total;
}

CheckResult Memory::check_rule(const Range& of, const Rule& expected) const {
  if (!of.block->real()) return of.block->content->check(of.begin, of.end - of.begin, expected);
  CheckResult found{0, ~Word{0}, 0, 0};
  for (Word i = of.begin; i < of.end; ++i) {
    const Word got = at(*of.block, i), wanted = expected.at(i);
    if (got == wanted) continue;
    if (found.bad_count++ == 0) found = {1, i - of.begin, wanted, got};
  }
  return found;
}

}  // namespace byteways::sim
