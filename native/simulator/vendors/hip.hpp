// What the files of the simulated HIP runtime share: the machine, the current GPU, and GPUs by ordinal.
// Functions throw Refusal.
#pragma once
#include <vector>

#include "runtimes/hip/driver.hpp"
#include "simulator/machine/world.hpp"

#define BYTEWAYS_ENTRY_TABLE "runtimes/hip/hip.def"

namespace byteways::sim::hip_api {

struct Hip {
  using Table = hip::HipTable;
  static World& world();
  static int current_gpu();
  static int gpu_of(int device);
  static const std::vector<int>& gpus();  // the visible ones, by ordinal
  static const CopyPolicy& copies();      // as the environment has it
  // Calls that wait do so for every copy: no version of AMD's documents says otherwise of a kind of memory.
  static constexpr bool kReturnsEarly = false;
  // Local data share of a CDNA compute unit (CDNA 2 and 3 ISA guides).
  static constexpr int kSharedBytes = 64 << 10;
};

// The table's rows name their types so.
using Access = Hip::Table::Access;
using Device = Hip::Table::Device;
using Event = Hip::Table::Event;
using Graph = Hip::Table::Graph;
using Handle = Hip::Table::Handle;
using Kernel = Hip::Table::Kernel;
using Launchable = Hip::Table::Launchable;
using Module = Hip::Table::Module;
using Physical = Hip::Table::Physical;
using PhysicalProperties = Hip::Table::PhysicalProperties;
using PeerName = Device;
using Pool = Hip::Table::Pool;
using PointerAttributes = Hip::Table::PointerAttributes;
using Properties = Hip::Table::Properties;
using Stream = Hip::Table::Stream;
using Uuid = Hip::Table::Uuid;

}  // namespace byteways::sim::hip_api
