// What the files of the simulated CUDA driver share: the machine, the current GPU, and GPUs by ordinal.
// Functions throw Refusal.
#pragma once
#include <vector>

#include "runtimes/cuda/driver.hpp"
#include "simulator/machine/world.hpp"
#include "simulator/vendors/kernels.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/cuda/cuda.def"

namespace byteways::sim::cuda_api {

struct Cuda {
  using Table = cuda::CudaTable;
  static World& world();
  static int current_gpu();
  static int gpu_of(int device);
  static int gpu_of(Table::Context context);
  static CopyPolicy copies() { return {}; }
  static constexpr bool kReturnsEarly = true;  // calls that wait, where all memory is of GPUs
  static const std::vector<int>& gpus();       // the visible ones, by ordinal
  // Dynamic shared memory that a block may opt in to on this GPU, and that of a kernel: 48 KiB until
  // cuFuncSetAttribute().
  static std::size_t shared_bytes();
  static std::size_t most_shared_bytes(const KernelEntry& entry) { return entry.most_shared_bytes; }
};

// The table's rows name their types so.
using Access = Cuda::Table::Access;
using BatchAttributes = Cuda::Table::BatchAttributes;
using Context = Cuda::Table::Context;
using Device = Cuda::Table::Device;
using Event = Cuda::Table::Event;
using Graph = Cuda::Table::Graph;
using Handle = Cuda::Table::Handle;
using Kernel = Cuda::Table::Kernel;
using Launchable = Cuda::Table::Launchable;
using Location = Cuda::Table::Location;
using Module = Cuda::Table::Module;
using Physical = Cuda::Table::Physical;
using PhysicalProperties = Cuda::Table::PhysicalProperties;
using PeerName = Context;
using Pool = Cuda::Table::Pool;
using RowsCopy = Cuda::Table::RowsCopy;
using Stream = Cuda::Table::Stream;
using Uuid = Cuda::Table::Uuid;

}  // namespace byteways::sim::cuda_api
