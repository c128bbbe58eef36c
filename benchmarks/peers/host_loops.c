// The work of the host's interfaces in plain loops, as well as we can write them: what benchmarks/host_peer.py compares
// byteways with. Written on its own, with nothing of byteways in it. The width of registers is that of the compiler's
// target (-march, -mavx2).
#define _GNU_SOURCE
#if defined(_OPENMP)
#include <omp.h>
#endif
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
typedef __m512i Vector;
typedef __m512d Doubles;
#define LOAD(at) _mm512_load_si512(at)
#define STORE(at, x) _mm512_store_si512(at, x)
#define STREAM(at, x) _mm512_stream_si512((void*)(at), x)
#define XOR(x, y) _mm512_xor_si512(x, y)
#define SUM(x, y) _mm512_add_epi64(x, y)
#define UPPER(x) _mm512_srli_epi64(x, 32)
#define ZERO() _mm512_setzero_si512()
#define ALL(word) _mm512_set1_epi64(word)
#define LOAD_D(at) _mm512_load_pd(at)
#define STORE_D(at, x) _mm512_store_pd(at, x)
#define ALL_D(x) _mm512_set1_pd(x)
#define ADD(x, y) _mm512_add_pd(x, y)
#define MULTIPLY(x, y) _mm512_mul_pd(x, y)
#elif defined(__AVX2__)
typedef __m256i Vector;
typedef __m256d Doubles;
#define LOAD(at) _mm256_load_si256((const Vector*)(at))
#define STORE(at, x) _mm256_store_si256((Vector*)(at), x)
#define STREAM(at, x) _mm256_stream_si256((Vector*)(at), x)
#define XOR(x, y) _mm256_xor_si256(x, y)
#define SUM(x, y) _mm256_add_epi64(x, y)
#define UPPER(x) _mm256_srli_epi64(x, 32)
#define ZERO() _mm256_setzero_si256()
#define ALL(word) _mm256_set1_epi64x(word)
#define LOAD_D(at) _mm256_load_pd(at)
#define STORE_D(at, x) _mm256_store_pd(at, x)
#define ALL_D(x) _mm256_set1_pd(x)
#define ADD(x, y) _mm256_add_pd(x, y)
#define MULTIPLY(x, y) _mm256_mul_pd(x, y)
#elif defined(__x86_64__)
typedef __m128i Vector;
typedef __m128d Doubles;
#define LOAD(at) _mm_load_si128((const Vector*)(at))
#define STORE(at, x) _mm_store_si128((Vector*)(at), x)
#define STREAM(at, x) _mm_stream_si128((Vector*)(at), x)
#define XOR(x, y) _mm_xor_si128(x, y)
#define SUM(x, y) _mm_add_epi64(x, y)
#define UPPER(x) _mm_srli_epi64(x, 32)
#define ZERO() _mm_setzero_si128()
#define ALL(word) _mm_set1_epi64x(word)
#define LOAD_D(at) _mm_load_pd(at)
#define STORE_D(at, x) _mm_store_pd(at, x)
#define ALL_D(x) _mm_set1_pd(x)
#define ADD(x, y) _mm_add_pd(x, y)
#define MULTIPLY(x, y) _mm_mul_pd(x, y)
#else
typedef uint64x2_t Vector;
typedef float64x2_t Doubles;
#define LOAD(at) vld1q_u64((const uint64_t*)(at))
#define STORE(at, x) vst1q_u64((uint64_t*)(at), x)
#define STREAM(at, x) __asm__("stnp %q1, %q1, [%0]" : : "r"(at), "w"(x) : "memory")
#define XOR(x, y) veorq_u64(x, y)
#define SUM(x, y) vaddq_u64(x, y)
#define UPPER(x) vshrq_n_u64(x, 32)
#define ZERO() vdupq_n_u64(0)
#define ALL(word) vdupq_n_u64(word)
#define LOAD_D(at) vld1q_f64(at)
#define STORE_D(at, x) vst1q_f64(at, x)
#define ALL_D(x) vdupq_n_f64(x)
#define ADD(x, y) vaddq_f64(x, y)
#define MULTIPLY(x, y) vmulq_f64(x, y)
#endif

enum { kWidth = sizeof(Vector), kPer = sizeof(Vector) / sizeof(double), kHuge = 2 << 20 };
static volatile uint64_t sink;

// Bytes are multiples of four vectors, addresses of 4 KiB.
typedef void Kernel(char* to, const char* one, const char* two, size_t bytes);

static void copy(char* to, const char* one, const char* two, size_t bytes) {
  (void)two;
  memcpy(to, one, bytes);
}

static void copy_streaming(char* to, const char* one, const char* two, size_t bytes) {
  (void)two;
  for (size_t i = 0; i < bytes; i += 4 * kWidth) {
    const Vector a = LOAD(one + i), b = LOAD(one + i + kWidth);
    const Vector c = LOAD(one + i + 2 * kWidth), d = LOAD(one + i + 3 * kWidth);
    STREAM(to + i, a);
    STREAM(to + i + kWidth, b);
    STREAM(to + i + 2 * kWidth, c);
    STREAM(to + i + 3 * kWidth, d);
  }
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

static void read_all(char* to, const char* one, const char* two, size_t bytes) {
  (void)to, (void)two;
  Vector a = ZERO(), b = ZERO(), c = ZERO(), d = ZERO();
  for (size_t i = 0; i < bytes; i += 4 * kWidth) {
    a = XOR(a, LOAD(one + i));
    b = XOR(b, LOAD(one + i + kWidth));
    c = XOR(c, LOAD(one + i + 2 * kWidth));
    d = XOR(d, LOAD(one + i + 3 * kWidth));
  }
  const Vector all = XOR(XOR(a, b), XOR(c, d));
  uint64_t words[sizeof all / sizeof(uint64_t)], word = 0;
  __builtin_memcpy(words, &all, sizeof all);
  for (size_t k = 0; k < sizeof words / sizeof *words; ++k) word ^= words[k];
  sink = word;
}

#define MULTIPLIER 0x9E3779B97F4A7C15ull

// A word for each place that differs from all others: a product and a fold. From register to register the
// product grows by the same sum.
static void write_all(char* to, const char* one, const char* two, size_t bytes) {
  (void)one, (void)two;
  uint64_t products[kPer];
  for (uint64_t k = 0; k < kPer; ++k) products[k] = (k + 77) * MULTIPLIER;
  const Vector step = ALL((long long)(kPer * MULTIPLIER)), steps = ALL((long long)(4 * kPer * MULTIPLIER));
  Vector a;
  __builtin_memcpy(&a, products, sizeof a);
  Vector b = SUM(a, step), c = SUM(b, step), d = SUM(c, step);
  for (size_t i = 0; i < bytes; i += 4 * kWidth) {
    STORE(to + i, XOR(a, UPPER(a)));
    STORE(to + i + kWidth, XOR(b, UPPER(b)));
    STORE(to + i + 2 * kWidth, XOR(c, UPPER(c)));
    STORE(to + i + 3 * kWidth, XOR(d, UPPER(d)));
    a = SUM(a, steps);
    b = SUM(b, steps);
    c = SUM(c, steps);
    d = SUM(d, steps);
  }
}

// One value everywhere: what the computation of words costs.
static void write_one_value(char* to, const char* one, const char* two, size_t bytes) {
  (void)one, (void)two;
  const Vector x = ALL(0x123456789ABCDEF);
  for (size_t i = 0; i < bytes; i += 4 * kWidth) {
    STORE(to + i, x);
    STORE(to + i + kWidth, x);
    STORE(to + i + 2 * kWidth, x);
    STORE(to + i + 3 * kWidth, x);
  }
}

static void set_all(char* to, const char* one, const char* two, size_t bytes) {
  (void)one, (void)two;
  memset(to, 7, bytes);
}

#define STREAM_LOOP(name, expression)                                                          \
  static void name(char* to, const char* one, const char* two, size_t bytes) {                 \
    const double *first = (const double*)one, *second = (const double*)two;                    \
    double* result = (double*)to;                                                              \
    const Doubles scalar = ALL_D(3.0);                                                         \
    (void)second, (void)scalar;                                                                \
    const size_t count = bytes / sizeof(double);                                               \
    for (size_t i = 0; i < count; i += 4 * kPer)                                               \
      for (size_t k = i; k < i + 4 * kPer; k += kPer) STORE_D(result + k, expression);         \
  }
STREAM_LOOP(stream_copy, LOAD_D(first + k))
STREAM_LOOP(stream_scale, MULTIPLY(scalar, LOAD_D(first + k)))
STREAM_LOOP(stream_add, ADD(LOAD_D(first + k), LOAD_D(second + k)))
STREAM_LOOP(stream_triad, ADD(LOAD_D(first + k), MULTIPLY(scalar, LOAD_D(second + k))))

// As STREAM has it (J. D. McCalpin), for the compiler to vectorise.
static void stream_c_triad(char* to, const char* one, const char* two, size_t bytes) {
  const double *restrict b = (const double*)one, *restrict c = (const double*)two, scalar = 3.0;
  double* restrict a = (double*)to;
  const size_t count = bytes / sizeof *a;
  for (size_t j = 0; j < count; j++) a[j] = b[j] + scalar * c[j];
}

// A pseudo-random word for each access: two multiplications, no table.
static inline uint64_t hashed(uint64_t k) {
  k *= MULTIPLIER;
  k ^= k >> 32;
  return k * 0xD6E8FEB86659FD93ull >> 20;
}

static void random_load(char* to, const char* one, const char* two, size_t bytes) {
  (void)to, (void)two;
  const uint64_t *words = (const uint64_t*)one, count = bytes / sizeof *words;
  static uint64_t seed;
  uint64_t sum = 0;
  seed += count;
  for (uint64_t k = 0; k < count; ++k) sum += words[hashed(seed + k) & (count - 1)];
  sink = sum;
}

// Every word differs, and tells where it belongs.
static inline uint64_t word_of(uint64_t place) {
  const uint64_t product = (place + 77) * MULTIPLIER;
  return product ^ product >> 32;
}

// The word that follows at the same place.
static inline uint64_t next_word(uint64_t word) {
  const uint64_t product = (word ^ word >> 32) + MULTIPLIER;
  return product ^ product >> 32;
}

static void random_store(char* to, const char* one, const char* two, size_t bytes) {
  (void)one, (void)two;
  uint64_t *words = (uint64_t*)to, count = bytes / sizeof *words;
  static uint64_t seed;
  seed += count;
  for (uint64_t k = 0; k < count; ++k) {
    const uint64_t place = hashed(seed + k) & (count - 1);
    words[place] = word_of(place);
  }
}

static void random_update(char* to, const char* one, const char* two, size_t bytes) {
  (void)one, (void)two;
  uint64_t *words = (uint64_t*)to, count = bytes / sizeof *words;
  static uint64_t seed;
  seed += count;
  for (uint64_t k = 0; k < count; ++k) {
    uint64_t* word = &words[hashed(seed + k) & (count - 1)];
    *word = next_word(*word);
  }
}

static const struct {
  const char* name;
  Kernel* kernel;
} kKernels[] = {
    {"memcpy", copy},
    {"memcpy-stream", copy_streaming},
    {"memcpy-mt", copy},
    {"load", read_all},
    {"store", write_all},
    {"one-value", write_one_value},
    {"memset", set_all},
    {"stream-copy", stream_copy},
    {"stream-scale", stream_scale},
    {"stream-add", stream_add},
    {"stream-triad", stream_triad},
    {"stream-c-triad", stream_c_triad},
    {"random-load", random_load},
    {"random-store", random_store},
    {"random-update", random_update},
};

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static char* pages(size_t bytes) {
  char* data = aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge);
  if (data == NULL) abort();
  madvise(data, bytes, MADV_HUGEPAGE);
  memset(data, 1, bytes);
  return data;
}

// Arrays of one size: a destination and two sources.
static char* arrays[3];

void open_arrays(size_t bytes) {
  for (int k = 0; k < 3; ++k) arrays[k] = pages(bytes);
}

void close_arrays(void) {
  for (int k = 0; k < 3; ++k) free(arrays[k]);
}

#if defined(_OPENMP)
static void stay_on(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}
#endif

int has_threads(void) {
#if defined(_OPENMP)
  return 1;
#else
  return 0;
#endif
}

// Returns the nanoseconds of a batch of operations, one after another, each over all bytes; negative without such a kernel,
// or several threads without OpenMP.
double batch_ns(const char* name, size_t bytes, size_t operations, int threads) {
  Kernel* kernel = NULL;
  for (size_t k = 0; k < sizeof kKernels / sizeof *kKernels; ++k)
    if (strcmp(kKernels[k].name, name) == 0) kernel = kKernels[k].kernel;
  if (kernel == NULL) return -1;
  char *to = arrays[0], *one = arrays[1], *two = arrays[2];
  if (threads == 1) {
    const double before = now_ns();
    for (size_t k = 0; k < operations; ++k) {
      kernel(to, one, two, bytes);
      __asm__ volatile("" : : : "memory");
    }
    return now_ns() - before;
  }
#if defined(_OPENMP)
  cpu_set_t allowed;  // the caller is the first of the team, and may go anywhere again
  sched_getaffinity(0, sizeof allowed, &allowed);
  double before = 0, after = 0;
#pragma omp parallel num_threads(threads)
  {
    const size_t share = bytes / (size_t)threads, begin = share * (size_t)omp_get_thread_num();
    stay_on(omp_get_thread_num());
#pragma omp barrier
#pragma omp master
    before = now_ns();
    for (size_t k = 0; k < operations; ++k) {
      kernel(to + begin, one + begin, two + begin, share);
#pragma omp barrier
    }
#pragma omp master
    after = now_ns();
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
  return after - before;
#else
  return -1;
#endif
}

typedef struct Line {
  struct Line* next;
  char rest[64 - sizeof(struct Line*)];
} Line;

static const Line* at;

// A random cycle over the lines of the first array (Fisher and Yates).
void open_chase(size_t bytes) {
  const size_t count = bytes / sizeof(Line);
  Line* lines = (Line*)(void*)arrays[0];
  uint32_t* order = malloc(count * sizeof *order);
  if (order == NULL) abort();
  for (size_t k = 0; k < count; ++k) order[k] = (uint32_t)k;
  uint64_t random = 42;
  for (size_t k = count; k > 1; --k) {
    random = random * 6364136223846793005ull + 1442695040888963407ull;
    const size_t other = (size_t)((random >> 33) % k);
    const uint32_t kept = order[k - 1];
    order[k - 1] = order[other];
    order[other] = kept;
  }
  for (size_t k = 0; k < count; ++k) lines[order[k]].next = &lines[order[(k + 1) % count]];
  free(order);
  at = lines;
}

// Returns the nanoseconds of a walk that goes on where the last one ended.
double walk_ns(size_t steps) {
  const Line* line = at;
  const double before = now_ns();
  for (size_t k = 0; k < steps; ++k) line = line->next;
  __asm__ volatile("" : "+r"(line));
  const double after = now_ns();
  at = line;
  return after - before;
}
