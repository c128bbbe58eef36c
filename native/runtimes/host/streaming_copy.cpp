// See streaming_copy.hpp. The loop is selected at run time (isa.hpp).
#include "runtimes/host/streaming_copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "runtimes/host/isa.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace byteways {
namespace {

constexpr std::size_t kLineBytes = 64;
// Intel's processors copy more where a large copy alternates between several pages, because they prefetch
// each page separately: 12.7 instead of 9.9 GB/s on one Sapphire Rapids core (4 KiB and 2 MiB pages, 512
// MiB); glibc's memcpy reaches 12.0. AMD's copy less: 8.2 instead of 12.5 GB/s on one EPYC core of family 26,
// 27 instead of 38 where source and destination fit into the last-level cache.
constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPagesInTurn = 4;
constexpr std::size_t kPieceBytes = 2 * kLineBytes;

// Copies whole cache lines to a line-aligned address; the source may be unaligned.
using LineLoop = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

#if defined(__x86_64__)
void stream_lines_sse2(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
    const auto* line = reinterpret_cast<const __m128i*>(from + at);
    auto* out = reinterpret_cast<__m128i*>(to + at);
    const __m128i a = _mm_loadu_si128(line), b = _mm_loadu_si128(line + 1);
    const __m128i c = _mm_loadu_si128(line + 2), d = _mm_loadu_si128(line + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
}

BYTEWAYS_TARGET("avx2") void stream_lines_avx2(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes) {
    const auto* line = reinterpret_cast<const __m256i*>(from + at);
    auto* out = reinterpret_cast<__m256i*>(to + at);
    const __m256i a = _mm256_loadu_si256(line), b = _mm256_loadu_si256(line + 1);
    _mm256_stream_si256(out, a);
    _mm256_stream_si256(out + 1, b);
  }
}

BYTEWAYS_TARGET("avx512f") void stream_lines_avx512(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + at), _mm512_loadu_si512(from + at));
}

LineLoop choose_loop() {
  if (host_isa() == IsaName::avx512) return stream_lines_avx512;
  if (host_isa() == IsaName::avx2) return stream_lines_avx2;
  return stream_lines_sse2;
}

#elif defined(__aarch64__)
void stream_lines_stnp(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kLineBytes)
    asm volatile(
        "ldp q0, q1, [%1]\n\t"
        "ldp q2, q3, [%1, #32]\n\t"
        "stnp q0, q1, [%0]\n\t"
        "stnp q2, q3, [%0, #32]"
        :
        : "r"(to + at), "r"(from + at)
        : "v0", "v1", "v2", "v3", "memory");
}

LineLoop choose_loop() { return stream_lines_stnp; }
#else
LineLoop choose_loop() { return nullptr; }
#endif

LineLoop line_loop() {
  static const LineLoop chosen = choose_loop();
  return chosen;
}

bool prefers_pages_in_turn() {
#if defined(__x86_64__)
  return __builtin_cpu_is("intel") != 0;
#else
  return false;
#endif
}

void stream_pages(std::byte* to, const std::byte* from, LineLoop lines) {
  for (std::size_t piece = 0; piece < kPageBytes; piece += kPieceBytes)
    for (std::size_t at = piece; at < kPagesInTurn * kPageBytes; at += kPageBytes)
      lines(to + at, from + at, kPieceBytes);
}

}  // namespace

// Known before the setting of the instruction set is read: kernels are registered before main().
bool can_stream() {
#if defined(__x86_64__) || defined(__aarch64__)
  return true;
#else
  return false;
#endif
}

void stream_copy(void* destination, const void* source, std::size_t bytes) {
  constexpr std::size_t turn = kPagesInTurn * kPageBytes;
  const LineLoop lines = line_loop();
  auto* to = static_cast<std::byte*>(destination);
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(to) % kLineBytes;
  const std::size_t head = std::min(bytes, misaligned == 0 ? 0 : kLineBytes - misaligned);
  std::memcpy(to, from, head);
  std::size_t done = head;
  static const bool in_turn = prefers_pages_in_turn();
  for (; in_turn && bytes - done >= turn; done += turn) stream_pages(to + done, from + done, lines);
  const std::size_t rest = (bytes - done) / kLineBytes * kLineBytes;
  lines(to + done, from + done, rest);
  done += rest;
  std::memcpy(to + done, from + done, bytes - done);
}

void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace byteways
