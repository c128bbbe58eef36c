// See bytes.hpp.
#include "simulator/mpi/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtimes/mpi/table.hpp"

namespace byteways::sim::mpi {
namespace {

std::uint64_t offset_in(const Block& block, const void* data) {
  return static_cast<std::uint64_t>(static_cast<const std::byte*>(data) - block.data);
}

bool whole_words(const Block& block, const void* data) { return offset_in(block, data) % kWordBytes == 0; }

// Words [first, last) of a block that is a rule.
std::vector<Word> words_of(const Block& block, Word first, Word last) {
  std::vector<Word> words;
  words.reserve(last - first);
  for (const Run& run : block.content->read(first, last))
    for (Word i = run.begin; i < run.end; ++i) words.push_back(run.rule.at(i));
  return words;
}

template <class Value>
void add_values(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at + sizeof(Value) <= bytes; at += sizeof(Value)) {
    Value sum, other;
    std::memcpy(&sum, to + at, sizeof sum);
    std::memcpy(&other, from + at, sizeof other);
    sum = static_cast<Value>(sum + other);
    std::memcpy(to + at, &sum, sizeof sum);
  }
}

}  // namespace

std::uint64_t element_bytes(int element) {
  switch (element) {
    case kByte:
      return 1;
    case kFloat:
    case kUnsigned32:
      return 4;
    case kUnsigned64:
      return 8;
    default:
      return 0;
  }
}

End Bytes::end(const void* data, std::uint64_t bytes, Place place) const {
  auto* const address = const_cast<void*>(data);
  const Block* block = memory_->find(data);
  if (block == nullptr) return {address, place, false};
  if (bytes > block->bytes - offset_in(*block, data))
    throw Failure(Code::invalid, "a message reaches beyond its block of memory");
  const Place owner = place_of(*block, offset_in(*block, data));
  return {address, owner, owner.kind == Place::Kind::gpu, has_system_pages(block->kind),
          kernels_->part_of_core(*block)};
}

std::vector<std::byte> Bytes::read(const void* from, std::uint64_t bytes) const {
  std::vector<std::byte> read(bytes);
  if (bytes == 0) return read;
  const Block* block = memory_->find(from);
  if (block == nullptr || block->real()) {
    std::memcpy(read.data(), from, bytes);
    return read;
  }
  const std::uint64_t offset = offset_in(*block, from);
  const Word first = offset / kWordBytes, last = (offset + bytes + kWordBytes - 1) / kWordBytes;
  const std::vector<Word> words = words_of(*block, first, last);
  std::memcpy(read.data(), reinterpret_cast<const std::byte*>(words.data()) + offset % kWordBytes, bytes);
  return read;
}

void Bytes::write(void* to, const std::vector<std::byte>& bytes) {
  if (bytes.empty()) return;
  Block* block = memory_->find(to);
  if (block == nullptr || block->real()) {
    if (block != nullptr) block->note.reset();
    std::memcpy(to, bytes.data(), bytes.size());
    return;
  }
  block->note.reset();
  const std::uint64_t offset = offset_in(*block, to);
  const Word first = offset / kWordBytes, last = (offset + bytes.size() + kWordBytes - 1) / kWordBytes;
  std::vector<Word> words(last - first);
  words.front() = block->content->at(first);
  words.back() = block->content->at(last - 1);
  std::memcpy(reinterpret_cast<std::byte*>(words.data()) + offset % kWordBytes, bytes.data(), bytes.size());
  auto held = std::make_shared<const std::vector<Word>>(std::move(words));
  block->content->assign(first, last, {Rule::Kind::words, first, std::move(held), 0, 0, 0});
}

void Bytes::copy(void* to, const void* from, std::uint64_t bytes, Place executor) {
  const Block *there = memory_->find(to), *here = memory_->find(from);
  const bool known = there != nullptr && here != nullptr && bytes > 0;
  if (known && whole_words(*there, to) && whole_words(*here, from))
    kernels_->move(memory_->range(to, bytes), memory_->range(from, bytes), executor);
  else
    write(to, read(from, bytes));
}

void Bytes::add(void* to, const void* from, std::uint64_t bytes, int element) {
  Block *there = memory_->find(to), *here = memory_->find(from);
  const bool rules = there != nullptr && here != nullptr && !there->real() && !here->real();
  if (rules && bytes % kWordBytes == 0 && whole_words(*there, to) && whole_words(*here, from)) {
    there->note.reset();
    const Word first = offset_in(*there, to) / kWordBytes, source = offset_in(*here, from) / kWordBytes;
    return there->content->add(first, first + bytes / kWordBytes, *here->content, source, element);
  }
  std::vector<std::byte> sum = read(to, bytes);
  const std::vector<std::byte> other = read(from, bytes);
  if (element == kFloat)
    add_values<float>(sum.data(), other.data(), bytes);
  else if (element == kByte)
    add_values<unsigned char>(sum.data(), other.data(), bytes);
  else if (element == kUnsigned32)
    add_values<std::uint32_t>(sum.data(), other.data(), bytes);
  else
    add_values<std::uint64_t>(sum.data(), other.data(), bytes);
  write(to, sum);
}

}  // namespace byteways::sim::mpi
