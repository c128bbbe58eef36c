// The instruction sets that loops of the host are compiled for, each with the width of its registers. The
// processor, or the setting BYTEWAYS_ISA, decides at run time which version runs.
//
// A loop is a struct with `template <class Isa> BYTEWAYS_INLINE static Result run(...)` over Isa::Words and
// Isa::Doubles, which fill one register. A vector that is wider than a register has no place but the stack:
// GCC stores and reloads it in each iteration, and the loop then measures the stack. For the same reason a
// loop loads into named values. This header includes nothing, so that a test compiles the loops for other
// processors without their headers.
#pragma once

// For code that must be inlined into each version.
#define BYTEWAYS_INLINE inline __attribute__((always_inline))
#if defined(__x86_64__)
#define BYTEWAYS_TARGET(isa) __attribute__((target(isa)))
#endif

namespace byteways {

enum class IsaName { sse2, avx2, avx512, neon, generic };

// The version for this processor, or the one that BYTEWAYS_ISA names. Throws Unsupported if the processor
// lacks it.
IsaName host_isa();

// The type in memory may start at any word, and may alias what other types wrote. `run` is a function of its
// own for each loop: the attributes of the instruction set apply to what is inlined into it.
#define BYTEWAYS_ISA(isa, enumerator, width, attributes)                                                   \
  struct isa {                                                                                             \
    static constexpr IsaName kName = IsaName::enumerator;                                                  \
    typedef unsigned long long Words __attribute__((vector_size(width)));                                  \
    typedef double Doubles __attribute__((vector_size(width)));                                            \
    typedef unsigned long long WordsInMemory __attribute__((vector_size(width), aligned(8), may_alias));   \
    typedef double DoublesInMemory __attribute__((vector_size(width), aligned(8), may_alias));             \
    typedef unsigned int Halves __attribute__((vector_size(width)));                                       \
    typedef unsigned int HalvesInMemory __attribute__((vector_size(width), aligned(4), may_alias));        \
    typedef unsigned int FewHalvesInMemory __attribute__((vector_size(width / 2), aligned(4), may_alias)); \
    template <class Loop, class Result, class... Arguments>                                                \
    attributes static Result run(Arguments... arguments) {                                                 \
      return Loop::template run<isa>(arguments...);                                                        \
    }                                                                                                      \
  };

#if defined(__x86_64__)
BYTEWAYS_ISA(Sse2, sse2, 16, )
BYTEWAYS_ISA(Avx2, avx2, 32, BYTEWAYS_TARGET("avx2"))
BYTEWAYS_ISA(Avx512, avx512, 64, BYTEWAYS_TARGET("avx512f,avx512dq,avx512vl"))
#define BYTEWAYS_ISAS(row) row(Sse2) row(Avx2) row(Avx512)
#elif defined(__aarch64__)
BYTEWAYS_ISA(Neon, neon, 16, )
#define BYTEWAYS_ISAS(row) row(Neon)
#else
BYTEWAYS_ISA(Generic, generic, 16, )
#define BYTEWAYS_ISAS(row) row(Generic)
#endif
#undef BYTEWAYS_ISA

// A register's worth of words, doubles or halves of words in memory, to load from or store to; and as many
// halves as a register has words.
template <class Isa>
BYTEWAYS_INLINE const typename Isa::WordsInMemory& words_at(const unsigned long long* words) {
  return *reinterpret_cast<const typename Isa::WordsInMemory*>(words);
}
template <class Isa>
BYTEWAYS_INLINE typename Isa::WordsInMemory& words_at(unsigned long long* words) {
  return *reinterpret_cast<typename Isa::WordsInMemory*>(words);
}
template <class Isa>
BYTEWAYS_INLINE const typename Isa::DoublesInMemory& doubles_at(const double* doubles) {
  return *reinterpret_cast<const typename Isa::DoublesInMemory*>(doubles);
}
template <class Isa>
BYTEWAYS_INLINE typename Isa::DoublesInMemory& doubles_at(double* doubles) {
  return *reinterpret_cast<typename Isa::DoublesInMemory*>(doubles);
}
template <class Isa>
BYTEWAYS_INLINE typename Isa::HalvesInMemory& halves_at(unsigned int* halves) {
  return *reinterpret_cast<typename Isa::HalvesInMemory*>(halves);
}
template <class Isa>
BYTEWAYS_INLINE const typename Isa::FewHalvesInMemory& few_halves_at(const unsigned int* halves) {
  return *reinterpret_cast<const typename Isa::FewHalvesInMemory*>(halves);
}

// The XOR of the words of a register. By halves: compilers take word after word out of it, where its loop is
// inside another one.
template <class Isa>
BYTEWAYS_INLINE unsigned long long xor_of(const typename Isa::Words& all_words) {
  typename Isa::Words words = all_words;
  constexpr unsigned long long width = sizeof words / sizeof words[0];
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
  if constexpr (width == 8) words ^= __builtin_shufflevector(words, words, 4, 5, 6, 7, 0, 1, 2, 3);
  if constexpr (width == 8) words ^= __builtin_shufflevector(words, words, 2, 3, 0, 1, 6, 7, 4, 5);
  if constexpr (width == 4) words ^= __builtin_shufflevector(words, words, 2, 3, 0, 1);
  return words[0] ^ words[1];
#endif
#endif
  unsigned long long all = 0;
  for (unsigned long long k = 0; k < width; ++k) all ^= words[k];
  return all;
}

// In a loop over the few words that fill no register: compilers would make a second wide loop of it.
BYTEWAYS_INLINE void keep_scalar(unsigned long long& index) { asm("" : "+r"(index)); }

// Hides where a pointer or a number comes from. What a loop derives from it is then computed where the loop
// begins, and not kept, on the stack in the end, throughout a loop around it.
template <class Value>
BYTEWAYS_INLINE Value hidden(Value value) {
  asm volatile("" : "+r"(value));
  return value;
}

// Promises that a pointer is aligned to registers: SSE2 takes operands from memory only then, and needs one
// more instruction for each otherwise.
template <class Isa, class Value>
BYTEWAYS_INLINE Value* aligned(Value* pointer) {
  return static_cast<Value*>(__builtin_assume_aligned(pointer, sizeof(typename Isa::Words)));
}

// Calls the version of a loop for host_isa(): `Versions<Loop, Result(Arguments...)>()(arguments...)`.
template <class Loop, class Signature>
struct Versions;

template <class Loop, class Result, class... Arguments>
struct Versions<Loop, Result(Arguments...)> {
  using Pointer = Result (*)(Arguments...);

  static Pointer of(IsaName name) {
#define BYTEWAYS_VERSION(isa) \
  if (name == isa::kName) return &isa::template run<Loop, Result, Arguments...>;
    BYTEWAYS_ISAS(BYTEWAYS_VERSION)
#undef BYTEWAYS_VERSION
    return nullptr;
  }
  // For a caller that repeats short calls.
  static Pointer chosen() {
    static const Pointer pointer = of(host_isa());
    return pointer;
  }
  Result operator()(Arguments... arguments) const { return chosen()(arguments...); }
};

}  // namespace byteways
