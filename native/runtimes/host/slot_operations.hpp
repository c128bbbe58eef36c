// The operations of a launch, one after another, each on its slot.
#pragma once
#include "runtimes/host/isa.hpp"

namespace byteways {

struct TeamMember;  // team.hpp; a test has a member of its own, for processors without headers here

// A loop for Versions (isa.hpp). `Operation` is made of the arguments and the member that runs its share. It
// has `template <class Isa> BYTEWAYS_INLINE void run(offset, number, member)`: does one operation, of that
// number within the launch, on the slot that many bytes from the begin of the buffer, and waits for the other
// members.
//
// All operations are inside the version for an instruction set: a call for each would take a tenth of the
// time of 4 KiB. For the same reason a member that is alone has a loop without barriers, and operations hide
// their addresses (`hidden`), so that all of it stays in registers. A processor compares the lowest 12 bits
// of a load with those of the stores in flight, which have all values after 4 KiB: from the stack an address
// comes late.
template <class Operation>
struct SlotOperations {
  template <class Isa, class Arguments, class Member>
  BYTEWAYS_INLINE static void run(const Arguments& arguments, const Member& member) {
    const Operation operation(arguments, member);
    if (member.size == 1)
      run_all<Isa>(operation, arguments, Member{});
    else
      run_all<Isa>(operation, arguments, member);
  }

 private:
  template <class Isa, class Arguments, class Member>
  BYTEWAYS_INLINE static void run_all(const Operation& operation, const Arguments& arguments,
                                      const Member& member) {
    // Copies: stores of an operation may alias the arguments.
    const unsigned long long operations = arguments.operations, stride = arguments.stride;
    const unsigned long long end = arguments.slots * stride;
    unsigned long long offset = arguments.first_operation % arguments.slots * stride;
    for (unsigned long long left = operations; left != 0; --left) {
      operation.template run<Isa>(offset, operations - left, member);
      offset += stride;
      if (offset == end) offset = 0;
    }
  }
};

template <class Operation, class Arguments, class Member = TeamMember>
using SlotVersions = Versions<SlotOperations<Operation>, void(const Arguments&, const Member&)>;

}  // namespace byteways
