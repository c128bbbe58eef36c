// The four loops of STREAM as a plain program, and a random pointer chase: what benchmarks/stream_peer.py
// compares byteways with. Written on its own, with nothing of byteways in it.
//
//   stream BYTES THREADS REPEATS HUGE   one line a kernel: its name and the seconds of every repeat
//   chase BYTES STEPS REPEATS HUGE      one line: nanoseconds per step of every repeat
#include <omp.h>
#include <sched.h>
#include <sys/mman.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void* pages(std::size_t bytes, bool huge) {
  constexpr std::size_t kHuge = 2 << 20;
  void* data = std::aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge);
  if (data == nullptr) std::exit(1);
  madvise(data, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return data;
}

void stay_on_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  sched_setaffinity(0, sizeof cores, &cores);
}

int stream(std::size_t bytes, int threads, int repeats, bool huge) {
  const auto n = static_cast<std::ptrdiff_t>(bytes / sizeof(double));
  double* a = static_cast<double*>(pages(bytes, huge));
  double* b = static_cast<double*>(pages(bytes, huge));
  double* c = static_cast<double*>(pages(bytes, huge));
  const double scalar = 3.0;
  omp_set_num_threads(threads);
#pragma omp parallel
  if (threads > 1) stay_on_core(omp_get_thread_num());
#pragma omp parallel for
  for (std::ptrdiff_t j = 0; j < n; ++j) {
    a[j] = 1.0;
    b[j] = 2.0;
    c[j] = 0.0;
  }
  const std::pair<const char*, std::function<void()>> kernels[] = {
      {"stream-copy",
       [=] {
#pragma omp parallel for
         for (std::ptrdiff_t j = 0; j < n; ++j) c[j] = a[j];
       }},
      {"stream-scale",
       [=] {
#pragma omp parallel for
         for (std::ptrdiff_t j = 0; j < n; ++j) b[j] = scalar * c[j];
       }},
      {"stream-add",
       [=] {
#pragma omp parallel for
         for (std::ptrdiff_t j = 0; j < n; ++j) c[j] = a[j] + b[j];
       }},
      {"stream-triad",
       [=] {
#pragma omp parallel for
         for (std::ptrdiff_t j = 0; j < n; ++j) a[j] = b[j] + scalar * c[j];
       }},
  };
  for (const auto& [name, kernel] : kernels) {
    kernel();
    std::printf("%s", name);
    for (int k = 0; k < repeats; ++k) {
      const double before = now();
      kernel();
      std::printf(" %.9f", now() - before);
    }
    std::printf("\n");
  }
  return 0;
}

struct Line {
  Line* next;
  char rest[64 - sizeof(Line*)];
};

int chase(std::size_t bytes, std::size_t steps, int repeats, bool huge) {
  const std::size_t count = bytes / sizeof(Line);
  auto* lines = static_cast<Line*>(pages(bytes, huge));
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(42);
  for (std::size_t k = count; k > 1; --k) std::swap(order[k - 1], order[random() % k]);
  for (std::size_t k = 0; k < count; ++k) lines[order[k]].next = &lines[order[(k + 1) % count]];
  const Line* at = lines;
  for (std::size_t k = 0; k < count; ++k) at = at->next;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double before = now();
    for (std::size_t k = 0; k < steps; ++k) at = at->next;
    std::printf(" %.4f", (now() - before) / static_cast<double>(steps) * 1e9);
  }
  std::fprintf(stderr, "%p", static_cast<const void*>(at));  // so that no step can be left out
  return 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 6) return 2;
  const auto number = [words](int k) { return std::strtoull(words[k], nullptr, 10); };
  const int repeats = static_cast<int>(number(4));
  const bool huge = number(5) != 0;
  if (std::strcmp(words[1], "stream") == 0)
    return stream(number(2), static_cast<int>(number(3)), repeats, huge);
  return chase(number(2), number(3), repeats, huge);
}
