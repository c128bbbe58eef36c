// What the simulated machine has for every kernel: what it reaches, what of it a fault changes, and the
// registry of what each kernel costs and does. The kernels themselves are in interfaces/*/simulated.cpp, with
// the argument blocks of the real ones.
#pragma once
#include <any>
#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <typeindex>

#include "simulator/costs.hpp"
#include "simulator/devices.hpp"
#include "simulator/engine.hpp"
#include "simulator/memory.hpp"
#include "simulator/world.hpp"

namespace byteways::sim {

// Of one launch: all but its arguments.
struct KernelLaunch {
  Shape shape;
  Place executor;

  bool on_gpu() const { return executor.kind == Place::Kind::gpu; }
  // Of a GPU, or of the team on a CPU.
  double threads() const {
    return on_gpu() ? static_cast<double>(shape.blocks) * shape.threads : static_cast<double>(shape.blocks);
  }
  // How a kernel's own loads and stores move bytes.
  Mechanism mechanism() const { return on_gpu() ? Mechanism::kernel : Mechanism::core; }
};

// The slots of an array that a kernel takes in turn.
struct Slots {
  Range first;
  Word count, stride_words;
  Range at(Word operation) const {
    const Word by = operation % count * stride_words;
    return {first.block, first.begin + by, first.end + by, first.rest_bytes};
  }
};

class Kernels {
 public:
  Kernels(const Model& model, const Faults& faults, Memory& memory, Costs& costs, Devices& devices);

  // An operation that runs the kernel; `arguments` are copied. Throws Failure (invalid) for an unknown kernel
  // or a block of another size, illegal_address for memory it cannot reach.
  std::unique_ptr<Operation> launch(std::string_view kernel, const Shape& shape, const void* arguments,
                                    std::size_t bytes, Place executor);
  // The effect of a copy: faults may change it, counters see it.
  void move(const Range& to, const Range& from, Place executor);
  // The same of rows that lie a pitch apart; the ranges span them and the gaps.
  void move_rows(const Range& to, const Range& from, const RowsShape& shape, Place executor);
  // The effect of what `executor` does with words of `from` that end in `to`, unless a fault hinders it.
  void deliver(const Range& to, const Range& from, Place executor, const std::function<void()>& write);
  void deliver(const Range& to, Place from, Place executor, const std::function<void()>& write);
  // Whether what `executor` reads of memory of `owner` does not arrive as it is there.
  bool misreads(Place executor, Place owner) const;
  // Moves managed pages, at once: what is enqueued later finds them there, on whichever stream. What that
  // takes, a flow from each place they leave, comes first in the operation.
  void bring(Operation& operation, const Range& range, Place to, bool prefetch);
  // What the runtime's copy call finds: managed pages move to the GPU that copies, as kernels of it would
  // have them, unless they are kept where they are. Answers where the range begins then.
  Place reach_by_copy(Operation& operation, const Range& range, Place executor);
  // Whether operations between these places never end.
  bool hangs(Place from, Place to) const;

  struct Reach {
    Range range;
    Place place;      // where the memory is
    double part = 1;  // of what kernels reach in other memory there
  };
  // Where the memory is for the executor; what brings it there comes first in the operation.
  Reach reach(Operation& operation, Place executor, const void* data, std::uint64_t bytes);
  Reach reach(Operation& operation, Place executor, const Range& range) {
    return reach(operation, executor, range.block->data + range.begin * kWordBytes, range.bytes());
  }
  // Slots of `bytes`, `stride_bytes` apart. Every one has to be inside of the block, not only the one whose
  // turn it is: throws Failure.
  Slots slots(const void* base, Word count, Word stride_bytes, std::uint64_t bytes) const;
  // A word that the host and a kernel share must be there: larger blocks are addresses only. Throws Failure.
  void must_be_real(const void* word) const;
  bool lies(Place executor, Place owner) const;  // granted access that is none

  const Model& model() const { return *model_; }
  Memory& memory() const { return *memory_; }
  Costs& costs() const { return *costs_; }
  Devices& devices() const { return *devices_; }
  // What kernels of one kind keep from launch to launch on this machine.
  template <class State>
  State& state() {
    std::any& kept = states_[typeid(State)];
    if (!kept.has_value()) kept = State{};
    return *std::any_cast<State>(&kept);
  }

  bool migrates = true;  // whether touching managed pages moves them

 private:
  void touch(Block& block, Place executor);

  std::map<std::type_index, std::any> states_;
  const Model* model_;
  const Faults* faults_;
  std::uint64_t deliveries_ = 0;  // on a path that lapses once
  Memory* memory_;
  Costs* costs_;
  Devices* devices_;
};

// How a kernel is played: what it costs is added to the operation, and what it leaves in memory is done when
// that ends.
struct SimulatedKernel {
  std::size_t argument_bytes;
  void (*play)(Kernels& kernels, Operation& operation, const void* arguments, const KernelLaunch& launch);
};

// nullptr when there is no kernel of that name.
const SimulatedKernel* find_simulated_kernel(std::string_view name);
void register_simulated_kernel(std::string_view name, const SimulatedKernel& kernel);

// At namespace scope: `function(Kernels&, Operation&, const Arguments&, const KernelLaunch&)` plays the
// kernel of that name.
template <auto function>
class RegisterSimulatedKernel {
 public:
  explicit RegisterSimulatedKernel(std::string_view name) { add(name, function); }

 private:
  template <class Arguments>
  static void add(std::string_view name,
                  void (*)(Kernels&, Operation&, const Arguments&, const KernelLaunch&)) {
    register_simulated_kernel(name, {sizeof(Arguments), [](Kernels& kernels, Operation& operation,
                                                           const void* block, const KernelLaunch& launch) {
                                       Arguments arguments;
                                       std::memcpy(&arguments, block, sizeof arguments);
                                       function(kernels, operation, arguments, launch);
                                     }});
  }
};

// What copying rows costs in bytes: whole lines.
double bytes_of_rows(const RowsShape& shape);

}  // namespace byteways::sim
