// The kernels of byteways as the simulated machine runs them: what a launch costs, and what it does to memory
// when it ends. The argument blocks are those of the real ones (kernels/arguments.hpp).
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "simulator/costs.hpp"
#include "simulator/devices.hpp"
#include "simulator/engine.hpp"
#include "simulator/memory.hpp"
#include "simulator/world.hpp"

namespace byteways::sim {

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
  // Moves managed pages, at once: what is enqueued later finds them there, on whichever stream. What that
  // takes, a flow from each place they leave, comes first in the operation.
  void bring(Operation& operation, const Range& range, Place to, bool prefetch);
  // What the runtime's copy call finds: managed pages move to the GPU that copies, as kernels of it would
  // have them, unless they are kept where they are. Answers where the range begins then.
  Place reach_by_copy(Operation& operation, const Range& range, Place executor);
  // Whether operations of this way never end.
  bool hangs(Place from, Place to) const;

  bool migrates = true;  // whether touching managed pages moves them

 private:
  struct Reach {
    Range range;
    Place place;      // where the memory is
    double part = 1;  // of what kernels reach in other memory there
  };
  void touch(Block& block, Place executor);
  // Where the memory is for the executor; what brings it there comes first in the operation.
  Reach reach(Operation& operation, Place executor, const void* data, std::uint64_t bytes);
  // A word that the host and a kernel share must be there: larger blocks are addresses only. Throws Failure.
  void must_be_real(const void* word) const;
  void gate(Operation& operation, const GateArguments& arguments) const;
  void ping_pong(Operation& operation, const PingPongArguments& arguments, Place executor);
  void nothing(Operation& operation, const NothingArguments& arguments, const Shape& shape, Place executor);
  void occupy(Operation& operation, const OccupyArguments& arguments, Place executor, unsigned blocks);
  void fill(Operation& operation, std::string_view kernel, const PatternArguments& arguments,
            const Shape& shape, Place executor);
  void copy(Operation& operation, std::string_view kernel, const CopyArguments& arguments, const Shape& shape,
            Place executor);
  // The effect of what `executor` does with words of `from` that end in `to`, unless a fault hinders it.
  void deliver(const Range& to, const Range& from, Place executor, const std::function<void()>& write);
  void stream(Operation& operation, std::string_view kernel, const StreamArguments& arguments,
              const Shape& shape, Place executor);
  void stream_pattern(Operation& operation, bool checks, const StreamPatternArguments& arguments,
                      const Shape& shape, Place executor);
  void rows(Operation& operation, const RowsArguments& arguments, const Shape& shape, Place executor);
  void check_rows(Operation& operation, const RowsCheckArguments& arguments, const Shape& shape,
                  Place executor);
  void build_chase(Operation& operation, const ChaseArguments& arguments, const Shape& shape, Place executor);
  void chase(Operation& operation, const ChaseArguments& arguments, Place executor);
  void idle(Operation& operation, const IdleArguments& arguments, Place executor) const;
  void compute(Operation& operation, const ComputeArguments& arguments, const Shape& shape, Place executor);
  bool lies(Place executor, Place owner) const;  // granted access that is none

  // A side of a ping-pong that waits, by the word that it polls.
  struct Answering {
    Place place;
    PingPongArguments arguments;
  };
  std::map<const void*, Answering> answering_;
  const Model* model_;
  const Faults* faults_;
  std::uint64_t deliveries_ = 0;  // on a way that lapses once
  Memory* memory_;
  Costs* costs_;
  Devices* devices_;
};

// What copying rows costs in bytes: whole lines.
double bytes_of_rows(const RowsShape& shape);

// Position in the cycle of chase_line(): its inverse.
Word chase_position(Word line, Word lines, Word key);

}  // namespace byteways::sim
