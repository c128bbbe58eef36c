// Toys of content.hpp, memory.hpp and the chase: what is described instead of held, beside what holds it.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "interfaces/pointer_chase/arguments.hpp"
#include "interfaces/pointer_chase/simulated.hpp"
#include "simulator/machine/kernels.hpp"
#include "simulator/memory/memory.hpp"
#include "toys.hpp"

namespace toys {
namespace {

using namespace byteways::sim;
using byteways::CheckResult;
using byteways::pattern_word;

// A block and the words that it must have.
struct Twin {
  Block block;
  std::vector<Word> memory;  // of a real block
  std::vector<Word> words;

  Twin(Word count, bool real) : memory(count), words(count) {
    block.bytes = count * kWordBytes;
    if (real)
      block.data = reinterpret_cast<std::byte*>(memory.data());
    else
      block.content = std::make_unique<Content>(count);
  }
};

struct Piece {
  Word begin, count;
};
Piece piece_of(const Twin& twin, Chance& chance, Word most) {
  const Word count = 1 + chance.below(std::min<Word>(chance.below(2) == 0 ? 4 : most, twin.words.size()));
  return {chance.below(twin.words.size() - count + 1), count};
}

CheckResult check_by_hand(const Twin& twin, const Piece& piece, Word key, Word first, Word stride) {
  CheckResult result{0, ~Word{0}, 0, 0};
  for (Word j = 0; j < piece.count; j += stride) {
    const Word expected = pattern_word(key, first + j), got = twin.words[piece.begin + j];
    if (expected == got) continue;
    if (result.bad_count++ == 0) result = {1, j, expected, got};
  }
  return result;
}

bool same(const CheckResult& a, const CheckResult& b) {
  return a.bad_count == b.bad_count && a.first_bad == b.first_bad && a.expected == b.expected &&
         a.got == b.got;
}

// Few keys and indices, so that patterns meet themselves again, and constants that are a pattern's word.
struct Choice {
  Word key, first, stride, value;
};
Choice choose(Chance& chance) {
  constexpr Word kStrides[] = {1, 1, 1, 2, 3, 8};
  const Word key = 100 + chance.below(2) * 5;
  return {key, chance.below(6), kStrides[chance.below(6)],
          chance.below(2) == 0 ? pattern_word(key, chance.below(8)) : chance.below(3)};
}

void change(Memory& memory, Twin& to, Twin& from, Chance& chance) {
  const Piece piece = piece_of(to, chance, from.words.size());
  const Range range{&to.block, piece.begin, piece.begin + piece.count};
  const Choice with = choose(chance);
  switch (chance.below(5)) {
    case 0:
      memory.fill(range, with.key, with.first, with.stride);
      for (Word j = 0; j < piece.count; j += with.stride)
        to.words[piece.begin + j] = pattern_word(with.key, with.first + j);
      break;
    case 1:
      memory.poison(range, with.value, with.stride);
      for (Word j = 0; j < piece.count; j += with.stride) to.words[piece.begin + j] = with.value;
      break;
    case 2:
      memory.set(to.block, piece.begin, with.value);
      to.words[piece.begin] = with.value;
      break;
    default: {
      const Word source = chance.below(from.words.size() - piece.count + 1);
      memory.copy(range, {&from.block, source, source + piece.count});
      const auto first = from.words.begin() + static_cast<std::ptrdiff_t>(source);
      const std::vector<Word> moved(first, first + static_cast<std::ptrdiff_t>(piece.count));
      std::copy(moved.begin(), moved.end(), to.words.begin() + static_cast<std::ptrdiff_t>(piece.begin));
    }
  }
}

// Random changes of blocks of both kinds; after each, every word and what a check finds.
void against_twins() {
  Memory memory;
  Chance chance(5);
  int wrong_words = 0, wrong_checks = 0, clean_checks = 0;
  constexpr int kChanges = 10000;
  std::vector<Twin> twins;
  twins.reserve(5);
  for (int round = 0; round < kChanges; ++round) {
    if (round % 200 == 0) {
      twins.clear();
      for (int k = 0; k < 5; ++k) twins.emplace_back(40 + chance.below(60), k % 2 == 1);
    }
    Twin& to = twins[chance.below(twins.size())];
    change(memory, to, twins[chance.below(twins.size())], chance);
    for (Word i = 0; i < to.words.size(); ++i) wrong_words += memory.at(to.block, i) != to.words[i];
    for (int k = 0; k < 4; ++k) {
      const Piece piece = piece_of(to, chance, to.words.size());
      const Choice with = choose(chance);
      const CheckResult wanted = check_by_hand(to, piece, with.key, with.first, with.stride);
      const Range range{&to.block, piece.begin, piece.begin + piece.count};
      clean_checks += wanted.bad_count == 0;
      wrong_checks += !same(memory.check(range, with.key, with.first, with.stride), wanted);
    }
  }
  say("changes", kChanges);
  say("wrong-words", wrong_words);
  say("wrong-checks", wrong_checks);
  say("clean-checks", clean_checks);
}

// One rule over the whole block is one run, however many pieces it came in.
void runs() {
  Memory memory;
  Twin far(1000, false), near(1000, false);
  for (Word begin = 0; begin < 1000; begin += 100) memory.fill({&far.block, begin, begin + 100}, 7, begin, 1);
  say("filled", far.block.content->runs());
  memory.poison({&near.block, 0, 1000}, 9, 1);
  for (Word begin : {300, 0, 600, 100, 900, 200, 400, 800, 500, 700})
    memory.copy({&near.block, begin, begin + 100}, {&far.block, begin, begin + 100});
  say("copied", near.block.content->runs());
  memory.poison({&near.block, 0, 1000}, 9, 50);
  say("spotted", near.block.content->runs());
  memory.poison({&near.block, 0, 1000}, 8, 50);
  say("spotted-again", near.block.content->runs());
  memory.poison({&near.block, 0, 1000}, 9, 1);
  for (Word begin : {0, 7, 20}) memory.poison({&near.block, begin, 1000}, 9, 50);
  say("spotted-with-its-own", near.block.content->runs());
}

void pattern() {
  Chance chance(3);
  int wrong = 0;
  for (int k = 0; k < 10000; ++k) {
    const Word index = chance.next();
    wrong += pattern_index(pattern_word(0, index)) != index;
  }
  say("wrong", wrong);
}

void chase() {
  Chance chance(9);
  int wrong = 0, tried = 0;
  for (Word lines = 1; lines <= Word{1} << 33; lines *= 2)
    for (int k = 0; k < 200; ++k, ++tried) {
      const Word key = chance.next(), position = chance.below(lines);
      wrong += chase_position(byteways::chase_line(position, lines, key), lines, key) != position;
    }
  say("tried", tried);
  say("wrong", wrong);
}

// Where the pages of a managed block are, against a list of them.
void pages() {
  constexpr std::uint64_t kPage = 4096, kPages = 40;
  Block block;
  block.bytes = kPages * kPage;
  block.pages[0] = {Place::Kind::cpu, 0};
  std::vector<Place> twin(kPages, Place{Place::Kind::cpu, 0});
  Chance chance(21);
  int wrong = 0;
  std::size_t most = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t begin = chance.below(kPages), end = begin + 1 + chance.below(kPages - begin);
    const Place where{chance.below(2) == 0 ? Place::Kind::cpu : Place::Kind::gpu,
                      static_cast<int>(chance.below(2))};
    move_pages_to(block, begin * kPage, end * kPage, where);
    std::fill(twin.begin() + static_cast<std::ptrdiff_t>(begin),
              twin.begin() + static_cast<std::ptrdiff_t>(end), where);
    std::uint64_t there = 0;
    std::size_t runs = 1;
    for (std::uint64_t page = 0; page < kPages; ++page) {
      wrong += !(place_of(block, page * kPage) == twin[page]);
      there += twin[page] == where ? kPage : 0;
      runs += page > 0 && !(twin[page] == twin[page - 1]);
    }
    for (const auto& [place, bytes] : bytes_by_place(block, 0, block.bytes))
      if (place == where) wrong += bytes != there;
    most = std::max(most, block.pages.size() - runs);
  }
  say("wrong", wrong);
  say("runs-too-many", most);
}

// Sums of two blocks of rules, beside sums word by word; the second is read `shift` words further on.
void sums() {
  constexpr Word kCount = 64;
  Chance chance(5);
  int wrong = 0, checked = 0;
  for (int round = 0; round < 500; ++round) {
    Content left(kCount), right(kCount);
    for (Content* content : {&left, &right})
      for (Word piece = 0; piece < 4; ++piece) {
        const Word begin = chance.below(kCount), end = begin + 1 + chance.below(kCount - begin);
        if (chance.below(3) == 0)
          content->spot(begin, end, 3, chance.next());
        else
          content->assign(begin, end, {Rule::Kind::pattern, chance.next(), nullptr, 0, 0, 0});
      }
    for (int element = 0; element < 3; ++element) {
      const Word shift = chance.below(8), begin = chance.below(8), end = kCount - 8;
      std::vector<Word> words;
      for (Word i = 0; i < kCount; ++i)
        words.push_back(i < begin || i >= end
                            ? left.at(i)
                            : add_elements(left.at(i), right.at(i - begin + shift), element));
      left.add(begin, end, right, shift, element);
      for (Word i = 0; i < kCount; ++i, ++checked) wrong += left.at(i) != words[i];
    }
  }
  say("wrong", wrong);
  say("checked", checked);
  const Word floats = add_elements(0x3F80000040000000, 0x4000000040400000, 1);  // (2, 1) + (3, 2)
  say("elements", add_elements(0x01FF, 0x0102, 0), floats == 0x4040000040A00000, add_elements(7, 8, 2));
}

// An allreduce of three ranks that is repeated in place: sums of sums, against the factor that they have
// then.
void repeated_sums() {
  constexpr Word kCount = 4096, kKey = 77, kStep = Word{1} << 40;
  constexpr unsigned kRanks = 3;
  Content sum(kCount);
  sum.assign(0, kCount, {Rule::Kind::pattern, kKey, nullptr, 0, 0, 0});
  for (unsigned rank = 1; rank < kRanks; ++rank) {
    Content other(kCount);
    other.assign(0, kCount, {Rule::Kind::pattern, kKey + rank * kStep, nullptr, 0, 0, 0});
    sum.add(0, kCount, other, 0, 2);
  }
  byteways::PatternSum expected{kKey, kStep, kRanks};
  unsigned long long wrong = 0;
  for (int repetition = 0; repetition < 100; ++repetition) {
    wrong += sum.check_sum(0, kCount, expected, 0, 1).bad_count;
    const Content same = sum;
    for (unsigned rank = 1; rank < kRanks; ++rank) sum.add(0, kCount, same, 0, 2);
    expected.factor *= kRanks;
  }
  say("wrong", wrong);
  say("runs", sum.runs());
  expected.own_key = kKey + kStep;
  expected.own_factor = 5;
  const unsigned long long without = sum.check_sum(0, kCount, expected, 0, 1).bad_count;
  for (int time = 0; time < 5; ++time) {
    Content own(kCount);
    own.assign(0, kCount, {Rule::Kind::pattern, expected.own_key, nullptr, 0, 0, 0});
    sum.add(0, kCount, own, 0, 2);
  }
  say("own", without, sum.check_sum(0, kCount, expected, 0, 1).bad_count);
  sum.assign(9, 10, {Rule::Kind::constant, 1, nullptr, 0, 0, 0});
  const CheckResult found = sum.check_sum(0, kCount, expected, 0, 1);
  say("planted", found.bad_count, found.first_bad, found.got == 1 && found.expected == expected.at(9));
}

}  // namespace

void add_content_toys(Toys& toys) {
  toys["against-twins"] = against_twins;
  toys["runs"] = runs;
  toys["pattern"] = pattern;
  toys["chase-inverse"] = chase;
  toys["pages"] = pages;
  toys["sums"] = sums;
  toys["repeated-sums"] = repeated_sums;
}

}  // namespace toys
