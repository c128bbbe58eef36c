// See memory.hpp.
#include "simulator/memory/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace byteways::sim {
namespace {

constexpr std::uint64_t kGranularity = 2 << 20;  // allocation granularity of the vendors' device memory

// Blocks that are kept, though nothing uses them, so that few calls have to look for such.
constexpr std::size_t kMostBorrowed = 64;

void unmap(const Block& block) {
  if (block.reserved_bytes != 0) munmap(block.data, block.reserved_bytes);
}

std::unique_ptr<Block> new_block(void* data, std::uint64_t bytes, Kind kind, Place owner) {
  auto block = std::make_unique<Block>();
  block->data = static_cast<std::byte*>(data);
  block->bytes = bytes;
  block->kind = kind;
  block->owner = owner;
  block->pages[0] = owner;
  block->prefetched[0] = std::nullopt;
  return block;
}

Word* words_of(const Block& block) { return reinterpret_cast<Word*>(block.data); }

void drop_note(const Range& written) {
  std::optional<Note>& note = written.block->note;
  if (note && written.begin < note->end && written.end > note->begin) note.reset();
}

// Sets [begin, end) to a value in a map from first offset to value; merges neighbours with equal values.
template <class Value>
void assign(std::map<std::uint64_t, Value>& of, std::uint64_t bytes, std::uint64_t begin, std::uint64_t end,
            Value value) {
  if (begin >= end) return;
  const Value after = std::prev(of.upper_bound(end))->second;
  of.erase(of.lower_bound(begin), of.upper_bound(end));
  if (begin == 0 || !(std::prev(of.upper_bound(begin - 1))->second == value)) of[begin] = value;
  if (end < bytes && !(after == value)) of[end] = after;
}

}  // namespace

Memory::~Memory() {
  for (const auto& [data, block] : blocks_) unmap(*block);
}

Block& Memory::allocate(Place owner, Kind kind, std::uint64_t bytes, bool real) {
  const std::uint64_t reserved = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  void* data = mmap(nullptr, reserved, real ? PROT_READ | PROT_WRITE : PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    throw Failure(Code::out_of_memory,
                  "this machine has no addresses left for " + std::to_string(bytes) + " bytes");
  auto block = new_block(data, bytes, kind, owner);
  block->reserved_bytes = reserved;
  block->number = ++made_;
  if (!real) block->content = std::make_unique<Content>((bytes + kWordBytes - 1) / kWordBytes);
  Block& made = *block;
  blocks_[block->data] = std::move(block);
  return made;
}

Block& Memory::adopt(void* data, std::uint64_t bytes, Place owner) {
  auto block = new_block(data, bytes, Kind::pageable, owner);
  block->number = ++made_;
  Block& made = *block;
  blocks_[block->data] = std::move(block);
  return made;
}

Block& Memory::borrow(const void* data, std::uint64_t bytes, Place owner) {
  borrowed_.push_back(new_block(const_cast<void*>(data), bytes, Kind::pageable, owner));
  return *borrowed_.back();
}

void Memory::drop_borrowed() {
  if (borrowed_.size() > kMostBorrowed) borrowed_.clear();
}

void Memory::release(const void* data) {
  const auto found = blocks_.find(static_cast<const std::byte*>(data));
  if (found == blocks_.end()) throw Failure(Code::invalid, "no block of memory begins there");
  unmap(*found->second);
  blocks_.erase(found);
}

std::vector<void*> Memory::blocks_of(Place owner) const {
  std::vector<void*> found;
  for (const auto& [address, block] : blocks_)
    if (block->owner == owner) found.push_back(block->data);
  return found;
}

Block* Memory::find(const void* data) const {
  const auto* address = static_cast<const std::byte*>(data);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  Block& block = *std::prev(after)->second;
  return address < block.data + block.bytes ? &block : nullptr;
}

Range Memory::range(const void* data, std::uint64_t bytes) const {
  Block* block = find(data);
  const auto* address = static_cast<const std::byte*>(data);
  if (block == nullptr || bytes > block->bytes - static_cast<std::uint64_t>(address - block->data))
    throw Failure(Code::illegal_address, "an operation reached outside of any block of memory");
  const auto offset = static_cast<std::uint64_t>(address - block->data);
  if (offset % kWordBytes != 0)
    throw Failure(Code::not_supported, "the simulator moves memory that begins at whole words of 8 bytes");
  return {block, offset / kWordBytes, (offset + bytes) / kWordBytes,
          static_cast<unsigned>(bytes % kWordBytes)};
}

Word Memory::at(const Block& block, Word index) const {
  return block.real() ? words_of(block)[index] : block.content->at(index);
}

void Memory::set(Block& block, Word index, Word value) {
  if (block.real())
    words_of(block)[index] = value;
  else
    block.content->assign(index, index + 1, {Rule::Kind::constant, value, nullptr, 0, 0, 0});
}

void Memory::copy(const Range& to, const Range& from) {
  const Word count = from.end - from.begin;
  drop_note(to);
  if (to.rest_bytes != 0) {
    const Word mask = (Word{1} << (8 * to.rest_bytes)) - 1;
    set(*to.block, to.end, (at(*to.block, to.end) & ~mask) | (at(*from.block, from.end) & mask));
  }
  if (to.block->real() && from.block->real()) {
    std::memmove(words_of(*to.block) + to.begin, words_of(*from.block) + from.begin, count * kWordBytes);
  } else if (to.block->real()) {
    for (const Run& run : from.block->content->read(from.begin, from.end))
      run.rule.write(run.begin, run.end, words_of(*to.block) + to.begin + run.begin - from.begin);
  } else if (from.block->real()) {
    const Word* words = words_of(*from.block) + from.begin;
    auto held = std::make_shared<const std::vector<Word>>(words, words + count);
    to.block->content->assign(to.begin, to.end, {Rule::Kind::words, to.begin, std::move(held), 0, 0, 0});
  } else {
    for (const Run& run : from.block->content->read(from.begin, from.end)) {
      const Word begin = run.begin - from.begin + to.begin;
      to.block->content->assign(begin, begin + run.end - run.begin, run.rule.moved(run.begin, begin));
    }
  }
}

void Memory::fill(const Range& to, Word key, Word first_index, Word stride) {
  drop_note(to);
  const Word base = key + first_index - to.begin;
  if (!to.block->real() && stride <= 1) {
    to.block->content->assign(to.begin, to.end, {Rule::Kind::pattern, base, nullptr, 0, 0, 0});
    return;
  }
  for (Word i = to.begin; i < to.end; i += std::max<Word>(1, stride))
    set(*to.block, i, pattern_word(base, i));
}

void Memory::poison(const Range& to, Word value, Word stride) {
  drop_note(to);
  if (!to.block->real()) return to.block->content->spot(to.begin, to.end, stride, value);
  for (Word i = to.begin; i < to.end; i += std::max<Word>(1, stride)) set(*to.block, i, value);
}

CheckResult Memory::check(const Range& of, Word key, Word first_index, Word stride) {
  const Word count = of.end - of.begin;
  if (!of.block->real()) return of.block->content->check(of.begin, count, key, first_index, stride);
  Content words(count);
  const Word* real = words_of(*of.block) + of.begin;
  auto held = std::make_shared<const std::vector<Word>>(real, real + count);
  words.assign(0, count, {Rule::Kind::words, 0, std::move(held), 0, 0, 0});
  return words.check(0, count, key, first_index, stride);
}

CheckResult Memory::check_sum(const Range& of, const PatternSum& expected, Word first_index, Word stride) {
  if (!of.block->real())
    return of.block->content->check_sum(of.begin, of.end - of.begin, expected, first_index, stride);
  CheckResult found{0, ~Word{0}, 0, 0};
  for (Word j = 0; of.begin + j < of.end; j += stride) {
    const Word got = words_of(*of.block)[of.begin + j], wanted = expected.at(first_index + j);
    if (got == wanted) continue;
    if (found.bad_count++ == 0) found = {1, j, wanted, got};
  }
  return found;
}

CheckResult Memory::check_bits(const Range& of, Word key, Word first_index, Word stride, Word mask,
                               Word rest) {
  CheckResult found{0, ~Word{0}, 0, 0};
  for (Word j = 0; of.begin + j < of.end; j += stride) {
    const Word got = at(*of.block, of.begin + j);
    const Word wanted = (pattern_word(key, first_index + j) & mask) | rest;
    if (got == wanted) continue;
    if (found.bad_count++ == 0) found = {1, j, wanted, got};
  }
  return found;
}

void Memory::fill_doubles(const Range& to, Word key, Word first_index) {
  drop_note(to);
  const Word base = key + first_index - to.begin;
  if (!to.block->real())
    return to.block->content->assign(to.begin, to.end, {Rule::Kind::doubles, base, nullptr, 0, 0, 0, 0});
  for (Word i = to.begin; i < to.end; ++i) set(*to.block, i, stream_word(pattern_word(base, i)));
}

void Memory::stream(unsigned operation, const Range& to, const Range& first, const Range& second) {
  drop_note(to);
  const Word count = to.end - to.begin;
  // The rule of an array that is unchanged since it was filled; otherwise nothing is known of it as a whole.
  const auto rule_of = [&to](const Range& range) -> std::optional<Rule> {
    if (range.block == nullptr) return Rule{};
    if (range.block->real()) return std::nullopt;
    const std::vector<Run> runs = range.block->content->read(range.begin, range.end);
    const Rule& rule = runs.front().rule;
    const bool plain = rule.kind == Rule::Kind::doubles && rule.operation == kStreamCopy && rule.stride == 0;
    if (runs.size() != 1 || !plain) return std::nullopt;
    return rule.moved(range.begin, to.begin);
  };
  const std::optional<Rule> a = rule_of(first), b = rule_of(second);
  if (a && b && !to.block->real())
    return to.block->content->assign(to.begin, to.end,
                                     {Rule::Kind::doubles, a->value, nullptr, 0, 0, 0, b->value, operation});
  auto made = std::make_shared<std::vector<Word>>(count);
  for (Word i = 0; i < count; ++i)
    (*made)[i] = stream_result(operation, at(*first.block, first.begin + i),
                               second.block == nullptr ? 0 : at(*second.block, second.begin + i));
  if (to.block->real())
    std::copy(made->begin(), made->end(), words_of(*to.block) + to.begin);
  else
    to.block->content->assign(to.begin, to.end, {Rule::Kind::words, to.begin, std::move(made), 0, 0, 0});
}

CheckResult Memory::check_doubles(const Range& of, unsigned operation, Word key, Word second_key,
                                  Word first_index) {
  const Word shift = first_index - of.begin;
  const bool two = operation == kStreamAdd || operation == kStreamTriad;
  const Rule expected{Rule::Kind::doubles,          key + shift, nullptr, 0, 0, 0,
                      two ? second_key + shift : 0, operation};
  if (!of.block->real()) return of.block->content->check(of.begin, of.end - of.begin, expected);
  CheckResult found{0, ~Word{0}, 0, 0};
  for (Word i = of.begin; i < of.end; ++i) {
    const Word got = words_of(*of.block)[i], wanted = expected.at(i);
    if (got == wanted) continue;
    if (found.bad_count++ == 0) found = {1, i - of.begin, wanted, got};
  }
  return found;
}

Place place_of(const Block& block, std::uint64_t offset) {
  return std::prev(block.pages.upper_bound(offset))->second;
}

std::vector<std::pair<Place, std::uint64_t>> bytes_by_place(const Block& block, std::uint64_t begin,
                                                            std::uint64_t end) {
  std::vector<std::pair<Place, std::uint64_t>> found;
  for (auto each = std::prev(block.pages.upper_bound(begin));
       each != block.pages.end() && each->first < end;) {
    const auto next = std::next(each);
    const std::uint64_t until = next == block.pages.end() ? end : std::min(end, next->first);
    const auto known = std::find_if(found.begin(), found.end(),
                                    [&](const auto& part) { return part.first == each->second; });
    const std::uint64_t bytes = until - std::max(begin, each->first);
    if (known == found.end())
      found.emplace_back(each->second, bytes);
    else
      known->second += bytes;
    each = next;
  }
  return found;
}

void move_pages_to(Block& block, std::uint64_t begin, std::uint64_t end, Place where) {
  assign(block.pages, block.bytes, begin, end, where);
}

void note_prefetch(Block& block, std::uint64_t begin, std::uint64_t end, Place where) {
  assign<std::optional<Place>>(block.prefetched, block.bytes, begin, end, where);
}

std::optional<Place> last_prefetch(const Block& block, std::uint64_t begin, std::uint64_t end) {
  const auto first = std::prev(block.prefetched.upper_bound(begin));
  for (auto each = first; each != block.prefetched.end() && each->first < end; ++each)
    if (each->second != first->second) return std::nullopt;
  return first->second;
}

}  // namespace byteways::sim
