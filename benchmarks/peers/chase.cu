// A chase of its own making, to hold byteways' against on a GPU: `nvcc -O3 -arch=native chase.cu -o chase &&
// ./chase 512`. One thread of gpu0 follows a random cycle (Sattolo's algorithm) through every 128-byte line
// of so many MiB of own memory, of gpu1's where there is one, and of pinned host memory, by plain loads; it
// prints the nanoseconds of a step.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace {

constexpr std::size_t kLineWords = 16;
constexpr int kSteps = 200000, kRounds = 9;

void check(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "error: %s\n", cudaGetErrorString(code));
  std::exit(1);
}

__global__ void walk(std::uint64_t* memory, std::uint64_t start, int steps, std::uint64_t* end) {
  std::uint64_t at = start;
  for (int step = 0; step < steps; ++step) at = memory[at];
  *end = at;
}

// Word at the start of a line: index of the first word of the next line.
std::vector<std::uint64_t> cycle(std::size_t lines) {
  std::vector<std::uint32_t> order(lines);
  std::iota(order.begin(), order.end(), 0u);
  std::mt19937_64 random(42);
  for (std::size_t i = lines - 1; i > 0; --i)
    std::swap(order[i], order[std::uniform_int_distribution<std::size_t>(0, i - 1)(random)]);
  std::vector<std::uint64_t> words(lines * kLineWords);
  for (std::size_t i = 0; i < lines; ++i) words[i * kLineWords] = std::uint64_t{order[i]} * kLineWords;
  return words;
}

// Median of rounds, each going on where the one before ended.
double step_ns(std::uint64_t* memory) {
  std::uint64_t *end = nullptr, start = 0;
  check(cudaMallocHost(&end, sizeof *end));
  cudaEvent_t begun, ended;
  check(cudaEventCreate(&begun));
  check(cudaEventCreate(&ended));
  std::vector<double> rounds;
  for (int round = 0; round < kRounds; ++round) {
    check(cudaEventRecord(begun));
    walk<<<1, 1>>>(memory, start, kSteps, end);
    check(cudaEventRecord(ended));
    check(cudaEventSynchronize(ended));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begun, ended));
    rounds.push_back(1e6 * milliseconds / kSteps);
    start = *end;
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

}  // namespace

int main(int count, char** arguments) {
  const std::size_t bytes = (count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 512) << 20;
  const std::vector<std::uint64_t> words = cycle(bytes / sizeof(std::uint64_t) / kLineWords);
  int gpus = 0;
  check(cudaGetDeviceCount(&gpus));
  std::uint64_t* memory = nullptr;
  for (int owner = 0; owner < std::min(gpus, 2); ++owner) {
    check(cudaSetDevice(owner));
    check(cudaMalloc(&memory, bytes));
    check(cudaMemcpy(memory, words.data(), bytes, cudaMemcpyHostToDevice));
    check(cudaSetDevice(0));
    if (owner > 0) check(cudaDeviceEnablePeerAccess(owner, 0));
    std::printf("gpu%d:device %.1f ns\n", owner, step_ns(memory));
  }
  check(cudaMallocHost(&memory, bytes));
  std::copy(words.begin(), words.end(), memory);
  std::printf("cpu0:pinned %.1f ns\n", step_ns(memory));
}
