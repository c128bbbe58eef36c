// Checks of native/watch/gpu/overlap.cpp beside sums over all pairs; prints GOOD, or what is wrong. `cost`
// prints ns of one kernel with a copy at every tenth.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "watch/clock.hpp"
#include "watch/gpu/overlap.hpp"
#include "watch/histogram.hpp"

using namespace byteways::watch;

namespace {

struct Span {
  std::uint64_t start, end;
};

// The time of a span that passes in any of the others.
std::uint64_t covered(Span one, const std::vector<Span>& others) {
  std::vector<Span> parts;
  for (const Span& other : others)
    if (other.start < one.end && other.end > one.start)
      parts.push_back({std::max(one.start, other.start), std::min(one.end, other.end)});
  std::sort(parts.begin(), parts.end(), [](Span a, Span b) { return a.start < b.start; });
  std::uint64_t sum = 0, until = 0;
  for (const Span& part : parts) {
    sum += part.end > std::max(until, part.start) ? part.end - std::max(until, part.start) : 0;
    until = std::max(until, part.end);
  }
  return sum;
}

Bin* bin_of(std::uint64_t size) {
  Key key;
  key.size = size;
  return histogram().add(key, 1, {1000}, 0);
}

int expect(const char* what, std::uint64_t found, std::uint64_t wanted) {
  if (found == wanted) return 0;
  std::printf("WRONG %s: %llu, not %llu\n", what, static_cast<unsigned long long>(found),
              static_cast<unsigned long long>(wanted));
  return 1;
}

// Kernels that overlap each other, in any order within `window` records, and copies between them. `count` of
// them.
int any_order(std::size_t count, std::size_t window, std::uint64_t gap) {
  std::mt19937_64 random(count + window);
  std::vector<Span> kernels, copies;
  for (std::uint64_t at = 0; at < count; ++at) {
    const std::uint64_t start = 1000 + gap * at;
    kernels.push_back({start + random() % 50, start + 50 + random() % 100});
    if (at % 3 == 0) copies.push_back({start, start + 1 + random() % 400});
  }
  std::vector<Span> sent = kernels;
  for (std::size_t at = 0; at + window <= count; at += window)
    std::shuffle(sent.begin() + at, sent.begin() + at + window, random);
  Bin* const bin = bin_of(8);
  std::uint64_t wanted = 0;
  for (std::size_t at = 0; at < count; ++at) {
    if (at % 3 == 0) {
      const Span& copy = copies[at / 3];
      add_copy_time(1, copy.start, copy.end, bin);
      // Only near kernels can count: those far away are left out of the slow sum.
      const std::size_t from = at < 16 ? 0 : at - 16, to = std::min(count, at + 16);
      wanted += covered(copy, {kernels.begin() + from, kernels.begin() + to});
    }
    add_kernel_time(1, sent[at].start, sent[at].end);
  }
  finish_overlaps();
  return expect("overlap", static_cast<std::uint64_t>(bin->overlap.load()), wanted);
}

int other_devices() {
  Bin* const bin = bin_of(16);
  add_kernel_time(2, 100, 200);
  add_copy_time(3, 100, 200, bin);
  add_copy_time(2, 150, 250, bin);
  add_copy_time(2, 200, 300, bin);
  add_kernel_time(2, 240, 1000);  // ends, and so comes, after the copies that it overlaps
  add_kernel_time(2, 900, 800);
  add_copy_time(1000, 1, 2, bin);
  finish_overlaps();
  return expect("of its device alone", static_cast<std::uint64_t>(bin->overlap.load()), 50 + 10 + 60) +
         expect("observed", bin->times_seen.load() & 8, 8);
}

int cost() {
  constexpr std::uint64_t kCount = 2'000'000;
  start_clock();
  Bin* const bin = bin_of(8);
  const std::int64_t start = now();
  for (std::uint64_t at = 0; at < kCount; ++at) {
    add_kernel_time(0, 1000 * at + 10, 1000 * at + 600);
    if (at % 10 == 0) add_copy_time(0, 1000 * at + 100, 1000 * at + 3000, bin);
  }
  finish_overlaps();
  std::printf("%.1f\n", static_cast<double>(now() - start) / kCount);
  return 0;
}

}  // namespace

int main(int, char** words) {
  const char* const check = words[1];
  int wrong = 0;
  if (std::strcmp(check, "cost") == 0) return cost();
  if (std::strcmp(check, "in_order") == 0) wrong = any_order(60'000, 1, 200);
  if (std::strcmp(check, "shuffled") == 0) wrong = any_order(60'000, 2000, 200);
  if (std::strcmp(check, "touching") == 0) wrong = any_order(60'000, 2000, 60);
  if (std::strcmp(check, "other_devices") == 0) wrong = other_devices();
  if (wrong == 0) std::puts("GOOD");
  return wrong;
}
