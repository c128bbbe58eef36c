// What the files of the simulated CUDA driver share: the machine, the current GPU, and GPUs by ordinal.
// Functions throw Refusal.
#pragma once
#include "runtimes/cuda/driver.hpp"
#include "simulator/world.hpp"

namespace byteways::sim::cuda_api {

struct Cuda {
  using Table = cuda::CudaTable;
  static World& world();
  static int current_gpu();
  static int gpu_of(int device);
  // Dynamic shared memory that a block may opt in to (CUDA C++ programming guide, compute capability 9.0; 8.0
  // has 163 KiB). Nothing that is simulated depends on it.
  static constexpr int kSharedBytes = 227 << 10;
};

}  // namespace byteways::sim::cuda_api
