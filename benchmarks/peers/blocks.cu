// Moves scattered blocks by the copy library and by plain calls, in turns, for blocks_peer.py, which compiles
// it. Arguments: the library, then the candidates of the library as NAME=PLAN (an empty PLAN: default calls).
// Each line of standard input is a cell, "DIRECTION LAYOUT BLOCK_BYTES BLOCKS ROUNDS"; each line of standard
// output is one measurement as JSON. Every candidate of a cell runs once a round, in a random order.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr size_t kPoolBytes = size_t{512} << 20;
using CopyBlocks = int (*)(void* const*, const void* const*, const size_t*, size_t, void*, void*);
using Copy = int (*)(void*, const void*, size_t, void*, void*);
using PlanOpen = int (*)(const char*, void**);
using AllowPeers = int (*)(void*, const int*, size_t);

void must(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "error: %s returned %d\n", what, code);
  std::exit(1);
}
#define MUST(call) must(static_cast<int>(call), #call)

// As inference engines write it: a program of 256 threads for each block, addresses in device memory.
__global__ void gather(void* const* to, const void* const* from, size_t bytes) {
  const auto* source = static_cast<const uint4*>(from[blockIdx.x]);
  auto* destination = static_cast<uint4*>(to[blockIdx.x]);
  for (size_t i = threadIdx.x; i < bytes / sizeof(uint4); i += blockDim.x) destination[i] = source[i];
}

struct Candidate {
  std::string name;
  std::function<void()> call;
  bool moves_the_blocks = true;
};

struct Blocks {
  std::vector<void*> to;
  std::vector<const void*> from;
  std::vector<size_t> sizes;
};

struct Pools {
  char* host = nullptr;
  char* own = nullptr;
  char* second = nullptr;
  char* peer = nullptr;

  std::pair<char*, char*> ends(const std::string& direction) const {  // destination, source
    if (direction == "host-gpu") return {own, host};
    if (direction == "gpu-host") return {host, own};
    if (direction == "within") return {second, own};
    if (direction == "put") return {peer, own};
    return {own, peer};  // get
  }
};

// LAYOUT: random both sides; source or destination in order; strided: every second place.
Blocks blocks_of(const Pools& pools, const std::string& direction, const std::string& layout, size_t bytes,
                 size_t count, std::mt19937_64& random) {
  const auto [to, from] = pools.ends(direction);
  const auto places = [&](bool scattered) {
    std::vector<size_t> all(kPoolBytes / bytes);
    std::iota(all.begin(), all.end(), size_t{0});
    if (scattered) std::shuffle(all.begin(), all.end(), random);
    if (layout == "strided" && all.size() >= 2 * count)
      for (size_t k = 0; k < count; ++k) all[k] = 2 * k;
    return all;
  };
  const auto sources = places(layout != "source"), destinations = places(layout != "destination");
  Blocks blocks;
  for (size_t k = 0; k < count; ++k) {
    blocks.to.push_back(to + destinations[k] * bytes);
    blocks.from.push_back(from + sources[k] * bytes);
    blocks.sizes.push_back(bytes);
  }
  return blocks;
}

// Whether each destination has the first and last word of its source.
bool moved(const Blocks& blocks) {
  for (size_t k = 0; k < blocks.to.size(); ++k) {
    for (const size_t at : {size_t{0}, blocks.sizes[k] - 8}) {
      unsigned long long got = 0, wanted = 0;
      MUST(cudaMemcpy(&got, static_cast<char*>(blocks.to[k]) + at, 8, cudaMemcpyDefault));
      MUST(cudaMemcpy(&wanted, static_cast<const char*>(blocks.from[k]) + at, 8, cudaMemcpyDefault));
      if (got != wanted) return false;
    }
    if (k == 64) break;
  }
  return true;
}

// Equal parts of one copy between the host and every GPU, all at once: what a relay over all of them cannot
// exceed. Each part ends in memory of its own GPU.
class AllLinks {
 public:
  AllLinks(int devices, cudaStream_t stream) : stream_(stream) {
    MUST(cudaEventCreateWithFlags(&fork_, cudaEventDisableTiming));
    for (int device = 0; device < devices; ++device) {
      Link link;
      MUST(cudaSetDevice(device));
      MUST(cudaMalloc(&link.memory, kPoolBytes / static_cast<size_t>(devices)));
      MUST(cudaStreamCreateWithFlags(&link.stream, cudaStreamNonBlocking));
      MUST(cudaEventCreateWithFlags(&link.join, cudaEventDisableTiming));
      links_.push_back(link);
    }
    MUST(cudaSetDevice(0));
  }

  void copy(char* host, size_t bytes, bool to_host) {
    const size_t part = bytes / links_.size();
    MUST(cudaEventRecord(fork_, stream_));
    for (size_t k = 0; k < links_.size(); ++k) {
      Link& link = links_[k];
      char* there = host + k * part;
      MUST(cudaStreamWaitEvent(link.stream, fork_));
      MUST(cudaMemcpyAsync(to_host ? there : link.memory, to_host ? link.memory : there, part,
                           cudaMemcpyDefault, link.stream));
      MUST(cudaEventRecord(link.join, link.stream));
      MUST(cudaStreamWaitEvent(stream_, link.join));
    }
  }

 private:
  struct Link {
    char* memory = nullptr;
    cudaStream_t stream = nullptr;
    cudaEvent_t join = nullptr;
  };
  cudaStream_t stream_;
  cudaEvent_t fork_ = nullptr;
  std::vector<Link> links_;
};

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "error: %s\n", dlerror());
    return 1;
  }
  const auto copy_blocks = reinterpret_cast<CopyBlocks>(dlsym(library, "bw_copy_blocks"));
  const auto copy = reinterpret_cast<Copy>(dlsym(library, "bw_copy"));
  const auto plan_open = reinterpret_cast<PlanOpen>(dlsym(library, "bw_plan_open"));
  const auto allow_peers = reinterpret_cast<AllowPeers>(dlsym(library, "bw_plan_allow_peers"));

  int devices = 0;
  MUST(cudaGetDeviceCount(&devices));
  Pools pools;
  if (devices > 1) {
    MUST(cudaSetDevice(1));
    MUST(cudaMalloc(&pools.peer, kPoolBytes));
    MUST(cudaDeviceEnablePeerAccess(0, 0));
  }
  MUST(cudaSetDevice(0));
  if (devices > 1) MUST(cudaDeviceEnablePeerAccess(1, 0));
  MUST(cudaMallocHost(&pools.host, kPoolBytes));
  MUST(cudaMalloc(&pools.own, kPoolBytes));
  MUST(cudaMalloc(&pools.second, kPoolBytes));
  std::mt19937_64 random(11);
  std::vector<unsigned long long> words(kPoolBytes / 8);
  const auto fill = [&](char* pool) {
    for (auto& word : words) word = random();
    MUST(cudaMemcpy(pool, words.data(), kPoolBytes, cudaMemcpyDefault));
  };
  for (char* pool : {pools.host, pools.own, pools.second}) fill(pool);
  if (pools.peer != nullptr) fill(pools.peer);
  cudaStream_t stream;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cudaEvent_t begin, end;
  MUST(cudaEventCreate(&begin));
  MUST(cudaEventCreate(&end));
  void **device_to, **device_from, **pinned;
  MUST(cudaMalloc(&device_to, size_t{1} << 20));
  MUST(cudaMalloc(&device_from, size_t{1} << 20));
  MUST(cudaMallocHost(&pinned, size_t{2} << 20));

  AllLinks all_links(devices, stream);

  std::vector<std::pair<std::string, void*>> plans;
  for (int k = 2; k < argc; ++k) {
    const std::string argument = argv[k];
    const auto equals = argument.find('=');
    void* plan = nullptr;
    if (equals + 1 < argument.size()) {
      must(plan_open(argument.c_str() + equals + 1, &plan), "bw_plan_open");
      std::vector<int> peers(static_cast<size_t>(devices));
      std::iota(peers.begin(), peers.end(), 0);
      must(allow_peers(plan, peers.data(), peers.size()), "bw_plan_allow_peers");
    }
    plans.emplace_back(argument.substr(0, equals), plan);
  }

  std::string direction, layout;
  size_t bytes = 0, count = 0, rounds = 0;
  while (std::cin >> direction >> layout >> bytes >> count >> rounds) {
    const Blocks blocks = blocks_of(pools, direction, layout, bytes, count, random);
    std::vector<Candidate> candidates;
    for (const auto& [name, plan] : plans) {
      void* used = plan;
      candidates.push_back({name, [&, used] {
                              must(count == 1 ? copy(blocks.to[0], blocks.from[0], bytes, stream, used)
                                              : copy_blocks(blocks.to.data(), blocks.from.data(),
                                                            blocks.sizes.data(), count, stream, used),
                                   "bw_copy");
                            }});
    }
    candidates.push_back({"loop", [&] {
                            for (size_t k = 0; k < count; ++k)
                              MUST(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(blocks.to[k]),
                                                 reinterpret_cast<CUdeviceptr>(blocks.from[k]), bytes,
                                                 stream));
                          }});
    candidates.push_back({"batch", [&] {
                            CUmemcpyAttributes attributes{};
                            attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
                            size_t first = 0;
                            auto* to = reinterpret_cast<CUdeviceptr*>(const_cast<void**>(blocks.to.data()));
                            auto* from =
                                reinterpret_cast<CUdeviceptr*>(const_cast<void**>(blocks.from.data()));
                            auto* sizes = const_cast<size_t*>(blocks.sizes.data());
#if CUDA_VERSION >= 13000
                            MUST(cuMemcpyBatchAsync(to, from, sizes, count, &attributes, &first, 1, stream));
#else
                            size_t failed = 0;
                            MUST(cuMemcpyBatchAsync(to, from, sizes, count, &attributes, &first, 1, &failed,
                                                    stream));
#endif
                          }});
    if (bytes % sizeof(uint4) == 0 && count > 1)
      candidates.push_back(
          {"gather", [&] {
             std::memcpy(pinned, blocks.to.data(), 8 * count);
             std::memcpy(pinned + count, blocks.from.data(), 8 * count);
             MUST(cudaMemcpyAsync(device_to, pinned, 8 * count, cudaMemcpyDefault, stream));
             MUST(cudaMemcpyAsync(device_from, pinned + count, 8 * count, cudaMemcpyDefault, stream));
             gather<<<static_cast<unsigned>(count), 256, 0, stream>>>(device_to, device_from, bytes);
           }});
    if (count == 1 && devices > 1 && (direction == "host-gpu" || direction == "gpu-host"))
      candidates.push_back(
          {"all-links", [&] { all_links.copy(pools.host, bytes, direction == "gpu-host"); }, false});
    for (const Candidate& candidate : candidates) {  // the first call of each is not measured
      MUST(cudaMemset(pools.ends(direction).first, 0xA5, kPoolBytes));
      MUST(cudaDeviceSynchronize());
      candidate.call();
      MUST(cudaStreamSynchronize(stream));
      if (candidate.moves_the_blocks && !moved(blocks)) {
        std::fprintf(stderr, "error: %s moved wrong data\n", candidate.name.c_str());
        return 1;
      }
    }
    for (size_t round = 0; round < rounds; ++round) {
      std::shuffle(candidates.begin(), candidates.end(), random);
      for (const Candidate& candidate : candidates) {
        const double first = now_ns();
        MUST(cudaEventRecord(begin, stream));
        const double called = now_ns();
        candidate.call();
        const double returned = now_ns();
        MUST(cudaEventRecord(end, stream));
        MUST(cudaStreamSynchronize(stream));
        const double done = now_ns();
        float device_ms = 0;
        MUST(cudaEventElapsedTime(&device_ms, begin, end));
        std::printf(
            "{\"direction\": \"%s\", \"layout\": \"%s\", \"block_bytes\": %zu, \"blocks\": %zu, \"round\": "
            "%zu, "
            "\"candidate\": \"%s\", \"host_ns\": %.0f, \"call_ns\": %.0f, \"device_ns\": %.0f}\n",
            direction.c_str(), layout.c_str(), bytes, count, round, candidate.name.c_str(), done - first,
            returned - called, static_cast<double>(device_ms) * 1e6);
      }
    }
    std::fflush(stdout);
  }
  return 0;
}
