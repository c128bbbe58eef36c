// What the files of the simulated HIP runtime share: the machine, the current GPU, and GPUs by ordinal.
// Functions throw Refusal.
#pragma once
#include <vector>

#include "runtimes/hip/driver.hpp"
#include "simulator/machine/world.hpp"
#include "simulator/vendors/api.hpp"
#include "simulator/vendors/kernels.hpp"

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
  static constexpr std::size_t shared_bytes() { return 64 << 10; }
  static constexpr std::size_t most_shared_bytes(const KernelEntry&) { return shared_bytes(); }
};

// HIP keeps for each thread the result of its last call. Since version 7 it is that of the last call which
// failed, "not ready" apart, until it is read (clr, hip_internal.hpp, HIP_RETURN).
int told(int code) noexcept;
// Hides the general one here: each call passes it.
template <class Body>
int answer(Body body) noexcept {
  return told(sim::answer(body));
}

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
