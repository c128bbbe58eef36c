// Runs the kernels of `direct` for all ranks at once on one CPU thread. Each thread of each grid is a fibre
// that runs until it polls for a flag or comes to a barrier of its block; then the next one runs, those of
// one rank after those of another. So a rank stores as early, against the others' loads, as the kernel
// permits, and two runs are equal.
#include <ucontext.h>

#include <cstring>
#include <memory>
#include <vector>

#include "interfaces/direct/flagged.cu"
#include "interfaces/direct/kernel.cu"

namespace byteways {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;
constexpr unsigned long long kMostRounds = 1'000'000;  // of all fibres: far beyond what any kernel takes

struct Block {
  unsigned int waiting = 0, generation = 0;
};

struct Fibre {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  DirectArguments arguments;
  void (*kernel)(DirectArguments) = nullptr;
  Block* block = nullptr;
  unsigned int thread_index = 0, block_index = 0;
  bool ended = false;
};

ucontext_t scheduler;
Fibre* now = nullptr;
unsigned int threads_of_block = 0, blocks_of_grid = 0;

void run_one() {
  now->kernel(now->arguments);
  now->ended = true;
  swapcontext(&now->context, &scheduler);
}

}  // namespace

unsigned int thread_index() { return now->thread_index; }
unsigned int block_index() { return now->block_index; }
unsigned int block_threads() { return threads_of_block; }
unsigned int grid_blocks() { return blocks_of_grid; }
void let_others_run() { swapcontext(&now->context, &scheduler); }
void synchronize_block() {
  Block& block = *now->block;
  const unsigned int generation = block.generation;
  if (++block.waiting == threads_of_block) {
    block.waiting = 0;
    ++block.generation;
    return;
  }
  while (block.generation == generation) let_others_run();
}

}  // namespace byteways

// Returns 0; 1: some kernel never ends; 2: there is no kernel of this name.
extern "C" int run_on_fibres(const char* name, const byteways::DirectArguments* of_ranks, unsigned int ranks,
                             unsigned int blocks, unsigned int threads, int last_rank_first) {
  using namespace byteways;
  const struct {
    const char* name;
    void (*kernel)(DirectArguments);
  } kernels[] = {{"direct_flagged", direct_flagged},
                 {"direct_pull", direct_pull},
                 {"direct_pull_in_place", direct_pull_in_place},
                 {"direct_two_shot", direct_two_shot}};
  void (*kernel)(DirectArguments) = nullptr;
  for (const auto& each : kernels)
    if (std::strcmp(each.name, name) == 0) kernel = each.kernel;
  if (kernel == nullptr) return 2;
  threads_of_block = threads;
  blocks_of_grid = blocks;
  std::vector<Block> all_blocks(ranks * blocks);
  std::vector<std::unique_ptr<Fibre>> fibres;
  for (unsigned int step = 0; step < ranks; ++step) {
    const unsigned int rank = last_rank_first != 0 ? ranks - 1 - step : step;
    for (unsigned int block = 0; block < blocks; ++block)
      for (unsigned int thread = 0; thread < threads; ++thread) {
        auto fibre = std::make_unique<Fibre>();
        fibre->arguments = of_ranks[rank];
        fibre->kernel = kernel;
        fibre->block = &all_blocks[rank * blocks + block];
        fibre->thread_index = thread;
        fibre->block_index = block;
        getcontext(&fibre->context);
        fibre->context.uc_stack.ss_sp = fibre->stack.get();
        fibre->context.uc_stack.ss_size = kStackBytes;
        fibre->context.uc_link = nullptr;
        makecontext(&fibre->context, run_one, 0);
        fibres.push_back(std::move(fibre));
      }
  }
  std::size_t left = fibres.size();
  for (unsigned long long round = 0; left != 0; ++round) {
    if (round == kMostRounds) return 1;
    for (const auto& fibre : fibres) {
      if (fibre->ended) continue;
      now = fibre.get();
      swapcontext(&scheduler, &now->context);
      left -= fibre->ended ? 1 : 0;
    }
  }
  return 0;
}
