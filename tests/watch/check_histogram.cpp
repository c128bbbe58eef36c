// Checks of native/watch's histogram, by name; prints GOOD, or what is wrong. `cost` prints ns of one add.
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/names.hpp"

using namespace byteways::watch;

namespace {

int wrong = 0;

void expect(const char* what, std::uint64_t found, std::uint64_t wanted) {
  if (found == wanted) return;
  std::printf("WRONG %s: %llu, not %llu\n", what, static_cast<unsigned long long>(found),
              static_cast<unsigned long long>(wanted));
  ++wrong;
}

Key message(std::uint64_t size, int to = 0) {
  Key key;
  key.what = What::kMessage;
  key.method = number_of("MPI_Send");
  key.destination_rank = to;
  key.size = size;
  return key;
}

struct Sums {
  std::uint64_t bins = 0, count = 0, bytes = 0;
  std::int64_t time = 0;
};

Sums sums() {
  Sums found;
  histogram().each([&](const Bin& bin) {
    ++found.bins;
    found.count += bin.count;
    found.bytes += bin.all_bytes(bin.count);
    found.time += bin.time;
  });
  return found;
}

// Threads that make the same bins at once lose none and make none twice.
void threads() {
  std::vector<std::thread> all;
  for (int number = 0; number < 8; ++number)
    all.emplace_back([] {
      for (int at = 0; at < 100'000; ++at) histogram().add(message(at % 500 + 1), 1, {3}, at * 1000);
    });
  for (auto& one : all) one.join();
  const Sums found = sums();
  expect("bins", found.bins, 500);
  expect("count", found.count, 800'000);
  expect("bytes", found.bytes, 8 * 200 * (500 * 501 / 2));
  expect("time", static_cast<std::uint64_t>(found.time), 2'400'000);
}

// Far more kinds of operations than bins: all are counted, and memory does not grow.
void wide() {
  std::uint64_t bytes = 0;
  for (std::uint64_t at = 0; at < 200'000; ++at) {
    histogram().add(message(at + 1, static_cast<int>(at % 64)), 1, {}, 0);
    bytes += at + 1;
  }
  const Sums found = sums();
  expect("few bins", found.bins <= kMostBins, 1);
  expect("count", found.count, 200'000);
  expect("bytes", found.bytes, bytes);
  expect("lost", histogram().lost(), 0);
}

// A program of hours has as many intervals as one of a second, and no byte is lost from them.
void time_line() {
  constexpr std::int64_t kHour = 3600'000'000'000;
  for (int at = 0; at < 10'000; ++at) histogram().add(message(7), 1, {}, at * (3 * kHour / 10'000));
  std::uint64_t bytes = 0;
  std::size_t last = 0;
  for (std::size_t at = 0; at < kMostIntervals; ++at) {
    const std::uint64_t found = histogram().interval_bytes(static_cast<std::size_t>(What::kMessage), at);
    bytes += found;
    if (found != 0) last = at;
  }
  expect("bytes", bytes, 70'000);
  expect("long enough", histogram().interval_ns() * static_cast<std::int64_t>(kMostIntervals) >= 3 * kHour,
         1);
  expect("half filled", last >= kMostIntervals / 2, 1);
}

// What the child of a fork begins with.
void anew() {
  for (int at = 0; at < 5000; ++at) histogram().add(message(at), 1, {1, 1, 1}, 0);
  histogram().begin_anew();
  expect("bins", sums().bins, 0);
  histogram().add(message(8), 1, {}, 0);
  expect("bins", sums().bins, 1);
  expect("bytes", sums().bytes, 8);
}

// Readings never go back, and follow the kernel's clock.
void counter() {
  start_clock();
  const std::int64_t start = inner::kernel_time();
  while (inner::kernel_time() - start < 2'000'000) {
  }
  refine_clock();
  const std::int64_t before = inner::kernel_time();
  const std::int64_t first = now();
  const std::int64_t after = inner::kernel_time();
  constexpr std::int64_t kTolerance =
      100'000;  // 1 ms is compared to 10^-4: a tenth of what it could be wrong by
  expect("between", before - kTolerance <= first && first <= after + kTolerance, 1);
  refine_clock();
  std::int64_t last = now();
  for (int at = 0; at < 1'000'000; ++at) {
    const std::int64_t next = now();
    if (next < last) expect("monotonic", 0, 1);
    last = next;
  }
  const std::int64_t from = inner::kernel_time();
  const std::int64_t found = now();
  const std::int64_t to = inner::kernel_time();
  expect("after a refinement", from - kTolerance <= found && found <= to + kTolerance, 1);
  expect("never negative", static_cast<std::uint64_t>(time_between(5, 3)), 0);
}

void cost() {
  constexpr int kAdds = 20'000'000;
  for (const int kinds : {1, 64, 3000}) {
    std::vector<Key> keys;
    for (int kind = 0; kind < kinds; ++kind) keys.push_back(message(8 + kind, kind % 7));
    const std::int64_t start = now();
    for (int at = 0; at < kAdds; ++at) histogram().add(keys[at % kinds], 1, {kUnknownTime, 5}, start);
    std::printf("%d kinds: %.1f ns an add\n", kinds, static_cast<double>(now() - start) / kAdds);
  }
}

}  // namespace

int main(int count, char** words) {
  const char* const check = count > 1 ? words[1] : "";
  if (std::strcmp(check, "threads") == 0) threads();
  if (std::strcmp(check, "wide") == 0) wide();
  if (std::strcmp(check, "time_line") == 0) time_line();
  if (std::strcmp(check, "anew") == 0) anew();
  if (std::strcmp(check, "counter") == 0) counter();
  if (std::strcmp(check, "cost") == 0) return cost(), 0;
  if (wrong == 0) std::puts("GOOD");
  return wrong != 0;
}
