// Pitched rows in simulated memory: a copy of a million rows is represented by one rule, if the previous
// content is.
#include <algorithm>
#include <tuple>

#include "simulator/memory/memory.hpp"

namespace byteways::sim {
namespace {

// Whether words [begin, end) lie in one row and in no gap.
bool within_a_row(const RowsShape& shape, Word origin, Word begin, Word end) {
  const Word first = begin - origin, last = end - 1 - origin;
  return first / shape.pitch_words == last / shape.pitch_words && last % shape.pitch_words < shape.row_words;
}

// The content of all gaps in a range, if it is one word; returns false if it is not, or not easily found.
bool one_gap(const Content& content, const Range& to, const RowsShape& shape, Word& gap) {
  if (shape.row_words == shape.pitch_words) return true;
  bool known = false;
  for (const Run& run : content.read(to.begin, to.end)) {
    if (within_a_row(shape, to.begin, run.begin, run.end)) continue;
    Word held = 0;
    if (run.rule.kind == Rule::Kind::constant)
      held = run.rule.value;
    else if (run.rule.kind == Rule::Kind::rows && run.rule.rows->same_gaps(to.begin, shape))
      held = run.rule.rows->gap;
    else
      return false;
    if ((run.rule.stride != 0 && run.rule.spot != held) || (known && held != gap)) return false;
    gap = held;
    known = true;
  }
  return true;
}

}  // namespace

void Memory::copy_rows(const Range& to, const Range& from, const RowsShape& shape) {
  if (!to.block->real() && !from.block->real()) {
    const std::vector<Run> source = from.block->content->read(from.begin, from.end);
    Word gap = 0;
    if (source.size() == 1 && source[0].rule.kind == Rule::Kind::pattern && source[0].rule.stride == 0 &&
        one_gap(*to.block->content, to, shape, gap)) {
      Rule rule;
      rule.kind = Rule::Kind::rows;
      rule.value = source[0].rule.value + from.begin;  // pattern_word depends on the sum of base and index
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
      CheckResult found = check_rule({of.block, from, to}, rule);
      if (found.bad_count == 0) continue;
      found.first_bad += from - of.begin;
      found.bad_count += total.bad_count;
      if (total.bad_count == 0)
        total = found;
      else
        total.bad_count = found.bad_count;
    }
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
