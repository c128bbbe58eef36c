// The operations of a launch, one after another, each on its slot.
#pragma once
#include "runtimes/host/isa.hpp"
#include "runtimes/host/team.hpp"

namespace byteways {

// A loop for Versions (isa.hpp). `Operation` is made of the arguments and the member that runs its share. It
// has `template <class Isa> BYTEWAYS_INLINE void run(offset, number, member)`: does one operation, of that
// number within the launch, on the slot that many bytes from the begin of the buffer, and waits for the other
// members.
//
// All operations are inside the version for an instruction set, because of 4 KiB a call for each takes a
// tenth of the time. For the same reason a member that is alone has a loop without barriers, which leaves
// registers for the addresses: from the stack a processor reads them late, as long as it takes them for one
// of the stores in flight (it compares the lowest 12 bits, and those of the stores of 4 KiB have all values).
template <class Operation>
struct SlotOperations {
  template <class Isa, class Arguments>
  BYTEWAYS_INLINE static void run(const Arguments& arguments, const TeamMember& member) {
    const Operation operation(arguments, member);
    if (member.size == 1)
      run_all<Isa>(operation, arguments, TeamMember{});
    else
      run_all<Isa>(operation, arguments, member);
  }

 private:
  template <class Isa, class Arguments>
  BYTEWAYS_INLINE static void run_all(const Operation& operation, const Arguments& arguments,
                                      const TeamMember& member) {
    // Copies: stores of an operation may alias the arguments.
    const unsigned long long operations = arguments.operations, stride = arguments.stride;
    const unsigned long long end = arguments.slots * stride;
    unsigned long long offset = arguments.first_operation % arguments.slots * stride;
    for (unsigned long long number = 0; number < operations; ++number) {
      operation.template run<Isa>(offset, number, member);
      offset += stride;
      if (offset == end) offset = 0;
    }
  }
};

template <class Operation, class Arguments>
using SlotVersions = Versions<SlotOperations<Operation>, void(const Arguments&, const TeamMember&)>;

}  // namespace byteways
