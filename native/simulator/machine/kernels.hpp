// Services for simulated kernels: access checks, effects of faults, and the registry of cost and effect of
// each kernel. The kernels themselves are in interfaces/*/simulated.cpp, with the argument blocks of the real
// ones.
#pragma once
#include <any>
#include <cstddef>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <typeindex>

#include "simulator/engine/engine.hpp"
#include "simulator/machine/common.hpp"
#include "simulator/machine/costs.hpp"
#include "simulator/machine/devices.hpp"
#include "simulator/memory/memory.hpp"

namespace byteways::sim {

class Streams;

// One launch, without its arguments.
struct KernelLaunch {
  Shape shape;
  Place executor;

  bool on_gpu() const { return executor.kind == Place::Kind::gpu; }
  // Returns the number of threads of the grid, or of the CPU team.
  double threads() const {
    return on_gpu() ? static_cast<double>(shape.blocks) * shape.threads : static_cast<double>(shape.blocks);
  }
  // Returns the mechanism of a kernel's own loads and stores.
  Mechanism mechanism() const { return on_gpu() ? Mechanism::kernel : Mechanism::core; }
};

// The slots of an array through which a kernel rotates.
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
  Kernels(const Model& model, const Faults& faults, Memory& memory, Costs& costs, Devices& devices,
          Engine& engine, Streams& streams);

  // Returns an operation that runs the kernel; `arguments` are copied. Throws Failure (invalid) for an
  // unknown kernel or a block of another size, illegal_address for memory it cannot reach.
  std::unique_ptr<Operation> launch(std::string_view kernel, const Shape& shape, const void* arguments,
                                    std::size_t bytes, Place executor);
  // Applies the effect of a copy to memory and counters; faults may change it.
  void move(const Range& to, const Range& from, Place executor);
  // Does the same for pitched (2D) rows; the ranges include the gaps.
  void move_rows(const Range& to, const Range& from, const RowsShape& shape, Place executor);
  // Does the same for scattered blocks; the ranges span all of them.
  void move_blocks(const Range& to, const Range& from, const BlockMove& move, Place executor);
  // Applies `write`, by which `executor` moves words of `from` to `to`, unless a fault prevents it.
  void deliver(const Range& to, const Range& from, Place executor, const std::function<void()>& write);
  void deliver(const Range& to, Place from, Place executor, const std::function<void()>& write);
  // Returns whether a fault corrupts reads by `executor` of `owner`'s memory.
  bool misreads(Place executor, Place owner) const;
  // Moves managed pages immediately, so that later calls on any stream find them there. Adds the cost to the
  // operation as preceding stages: one flow per place that pages leave.
  void bring(Operation& operation, const Range& range, Place to, bool prefetch);
  // Prepares a range for the runtime's copy call: managed pages migrate to the copying GPU, as for its
  // kernels, unless they are held. Returns the place where the range then begins.
  Place reach_by_copy(Operation& operation, const Range& range, Place executor);
  // Adds what cores take to begin each of the operations of a launch; nothing on a GPU.
  void begin_on_cores(Operation& operation, const KernelLaunch& launch, Word operations) const {
    if (!launch.on_gpu())
      operation.fixed +=
          picoseconds(model_->cpu.begin_ns(launch.shape.blocks) * static_cast<double>(operations));
  }
  // Returns whether a fault hangs operations between these places.
  bool hangs(Place from, Place to) const;

  struct Reach {
    Range range;
    Place place;      // where the memory is
    double part = 1;  // of what kernels reach in other memory there
  };
  // Returns the place of the memory for the executor; migrations precede the operation.
  Reach reach(Operation& operation, Place executor, const void* data, std::uint64_t bytes);
  // Part of its rate that a core has on a block in another domain's memory: less where a GPU has touched it
  // first.
  double part_of_core(const Block& block) const;
  Reach reach(Operation& operation, Place executor, const Range& range) {
    return reach(operation, executor, range.block->data + range.begin * kWordBytes, range.bytes());
  }
  // Slots of `bytes`, `stride_bytes` apart. All must be inside the block, not only the current one; otherwise
  // throws Failure.
  Slots slots(const void* base, Word count, Word stride_bytes, std::uint64_t bytes) const;
  // Throws Failure unless the word is in real memory. Host and kernel share it, and larger blocks have
  // addresses only.
  void must_be_real(const void* word) const;
  bool lies(Place executor, Place owner) const;  // fault: access is granted but does not work

  // Starts an operation now, in no program's stream: after those that began earlier between the same places.
  void start_beside(Place from, Place to, std::unique_ptr<Operation> operation);
  // The time at which something happens: for what operations do when they start and end.
  Picoseconds now() const { return engine_->now(); }

  const Model& model() const { return *model_; }
  Memory& memory() const { return *memory_; }
  Costs& costs() const { return *costs_; }
  Devices& devices() const { return *devices_; }
  // State that kernels of one kind keep between launches on this machine.
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
  std::uint64_t deliveries_ = 0;  // on a path with a `lapse` fault
  Memory* memory_;
  Costs* costs_;
  Devices* devices_;
  Engine* engine_;
  Streams* streams_;
  std::map<std::pair<std::string, std::string>, Engine::Queue*> beside_;  // by names of places
};

// A simulated kernel: its cost is added to the operation, and its effect on memory is applied when the
// operation ends.
struct SimulatedKernel {
  std::size_t argument_bytes;
  void (*play)(Kernels& kernels, Operation& operation, const void* arguments, const KernelLaunch& launch);
};

// Returns nullptr if there is no kernel of that name.
const SimulatedKernel* find_simulated_kernel(std::string_view name);
void register_simulated_kernel(std::string_view name, const SimulatedKernel& kernel);

// Define at namespace scope: `function(Kernels&, Operation&, const Arguments&, const KernelLaunch&)`
// simulates the kernels of these names.
template <auto function>
class RegisterSimulatedKernel {
 public:
  RegisterSimulatedKernel(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) add(name, function);
  }

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

// Returns the bytes that a copy of rows costs: whole cache lines.
double bytes_of_rows(const RowsShape& shape);

}  // namespace byteways::sim
