// The data that prove a transfer: a pattern that depends on key and index, poison, and the check of every
// word.
#include "interfaces/device/finding.cuh"
#include "interfaces/service/arguments.hpp"

namespace byteways {

constexpr unsigned int kInFlight = 4;

struct PatternValue {
  Word key, first_index;
  __device__ Word operator()(Word i) const { return pattern_word(key, first_index + i); }
};
struct SumValue {
  PatternSum sum;
  Word first_index;
  __device__ Word operator()(Word i) const { return sum.at(first_index + i); }
};
struct ConstantValue {
  Word value;
  __device__ Word operator()(Word) const { return value; }
};

__device__ inline Bytes16 pack(Word low, Word high) {
  return {static_cast<unsigned int>(low), static_cast<unsigned int>(low >> 32),
          static_cast<unsigned int>(high), static_cast<unsigned int>(high >> 32)};
}
__device__ inline Word low_word(const Bytes16& pair) { return pair.x | Word{pair.y} << 32; }
__device__ inline Word high_word(const Bytes16& pair) { return pair.z | Word{pair.w} << 32; }

// Number of words before the first 16-byte boundary: 0 or 1.
__device__ inline Word head_of(const PatternArguments& arguments) {
  const Word head = (reinterpret_cast<Word>(arguments.words) >> 3) & 1;
  return head < arguments.count ? head : arguments.count;
}

template <class Value>
__device__ void write_words(const PatternArguments& arguments, const Value& value) {
  const Word thread = grid_thread(), threads = grid_threads();
  if (arguments.stride != 1) {
    for (Word i = thread * arguments.stride; i < arguments.count; i += threads * arguments.stride)
      arguments.words[i] = value(i);
  } else {
    const Word head = head_of(arguments), pairs = (arguments.count - head) / 2;
    auto* to = reinterpret_cast<Bytes16*>(arguments.words + head);
#pragma unroll 4
    for (Word pair = thread; pair < pairs; pair += threads) {
      const Word i = head + 2 * pair;
      store_streaming(to + pair, pack(value(i), value(i + 1)));
    }
    const Word last = arguments.count - 1;
    if (thread == 0 && head) arguments.words[0] = value(0);
    if (thread == 0 && head + 2 * pairs < arguments.count) arguments.words[last] = value(last);
  }
  fence_system();
}

BYTEWAYS_KERNEL(512) fill(PatternArguments arguments) {
  write_words(arguments, PatternValue{arguments.key, arguments.first_index});
}

BYTEWAYS_KERNEL(512) poison(PatternArguments arguments) {
  write_words(arguments, ConstantValue{arguments.key});
}

__device__ inline Word expected_at(const PatternArguments& arguments, Word i) {
  const SumValue value{sum_of(arguments), arguments.first_index};
  return (value(i) & arguments.mask) | arguments.rest;
}

BYTEWAYS_KERNEL(512) check(PatternArguments arguments) {
  const Word thread = grid_thread(), threads = grid_threads();
  const SumValue value{sum_of(arguments), arguments.first_index};
  Finding finding;
  if (arguments.stride != 1) {
    for (Word i = thread * arguments.stride; i < arguments.count; i += threads * arguments.stride)
      finding.compare(i, arguments.words[i], expected_at(arguments, i));
  } else {
    const Word head = head_of(arguments), pairs = (arguments.count - head) / 2;
    const auto* from = reinterpret_cast<const Bytes16*>(arguments.words + head);
    for (Word first = thread; first < pairs; first += kInFlight * threads) {
      Bytes16 held[kInFlight];
#pragma unroll
      for (unsigned int k = 0; k < kInFlight; ++k)
        if (first + k * threads < pairs) held[k] = load_streaming(from + first + k * threads);
#pragma unroll
      for (unsigned int k = 0; k < kInFlight; ++k) {
        const Word i = head + 2 * (first + k * threads);
        if (first + k * threads >= pairs) break;
        finding.compare(i, low_word(held[k]), value(i));
        finding.compare(i + 1, high_word(held[k]), value(i + 1));
      }
    }
    const Word last = arguments.count - 1;
    if (thread == 0 && head) finding.compare(0, arguments.words[0], value(0));
    if (thread == 0 && head + 2 * pairs < arguments.count)
      finding.compare(last, arguments.words[last], value(last));
  }
  report(arguments, finding);
}

}  // namespace byteways
