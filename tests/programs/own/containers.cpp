// Threads that allocate, grow, copy and free: what an allocator of a program's own must survive. Prints
// checksums.
#include <malloc.h>
#include <stdlib.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct alignas(256) Wide {
  unsigned char bytes[4096];
};

static std::uint64_t work(unsigned seed) {
  std::uint64_t sum = seed;
  const auto next = [&seed] { return seed = seed * 1664525u + 1013904223u; };
  std::map<unsigned, std::string> named;
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<unsigned char> large(200000 + next() % 800000, static_cast<unsigned char>(turn));
    std::vector<unsigned char> copy = large;
    copy.resize(copy.size() * 2);
    sum = sum * 31 + copy[large.size() / 2] + copy.size();
    named[next() % 97].append(next() % 3000, 'x');
    auto* grown = static_cast<unsigned char*>(calloc(1, 300000));
    grown = static_cast<unsigned char*>(realloc(grown, 900000));
    sum += grown[299999];
    if (malloc_usable_size(grown) < 900000) sum = 0;
    free(grown);
    void* aligned = nullptr;
    if (posix_memalign(&aligned, 65536, 400000) == 0) {
      sum += reinterpret_cast<std::uintptr_t>(aligned) % 65536;
      free(aligned);
    }
    auto wide = std::make_unique<Wide[]>(100);
    std::memset(wide.get(), turn, sizeof(Wide) * 100);
    sum = sum * 31 + wide[99].bytes[4095];
  }
  for (const auto& [number, text] : named) sum = sum * 31 + number + text.size();
  return sum;
}

int main() {
  std::vector<std::thread> threads;
  std::vector<std::uint64_t> sums(4);
  for (unsigned at = 0; at < sums.size(); ++at) {
    threads.emplace_back([&sums, at] { sums[at] = work(at + 1); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto sum : sums) std::printf("%016llx\n", static_cast<unsigned long long>(sum));
}
