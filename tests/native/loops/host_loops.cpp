// All versions of the host's loops, for the test that reads their assembly (test_host_loops.py).
#include "interfaces/stream/host_loops.hpp"

#include "interfaces/load/host_loop.hpp"
#include "interfaces/pattern_loops.hpp"
#include "runtimes/host/slot_operations.hpp"

namespace byteways {

using Word = unsigned long long;
using Stream = void(double*, const double*, const double*, Word);
using Differ = Word(const Word*, Word, Word, Word);

template <class Loop, class Signature>
using Pointer = typename Versions<Loop, Signature>::Pointer;

Pointer<LoadXor, Word(const Word*, Word)> load_version(IsaName isa) {
  return Versions<LoadXor, Word(const Word*, Word)>::of(isa);
}
Pointer<PatternFill, void(Word*, Word, Word)> fill_version(IsaName isa) {
  return Versions<PatternFill, void(Word*, Word, Word)>::of(isa);
}
Pointer<PatternDiffer, Word(const Word*, Word, Word)> differ_version(IsaName isa) {
  return Versions<PatternDiffer, Word(const Word*, Word, Word)>::of(isa);
}
Pointer<StreamFill, void(Word*, Word, Word)> stream_fill_version(IsaName isa) {
  return Versions<StreamFill, void(Word*, Word, Word)>::of(isa);
}
template <unsigned operation>
Pointer<StreamLoop<operation>, Stream> stream_version(IsaName isa) {
  return Versions<StreamLoop<operation>, Stream>::of(isa);
}
template <unsigned operation>
Pointer<StreamDiffer<operation>, Differ> stream_differ_version(IsaName isa) {
  return Versions<StreamDiffer<operation>, Differ>::of(isa);
}

// An operation of three arrays, as those of the interfaces.
void wait_for_all();
struct Member {
  unsigned size = 1;
  void wait() const {
    if (size > 1) wait_for_all();
  }
};
struct Arrays {
  double* destination;
  const double *first, *second;
  Word count, operations, first_operation, slots, stride;
};
struct Add {
  char* destination;
  const char *first, *second;
  Word count;

  Add(const Arrays& arrays, const Member&)
      : destination(reinterpret_cast<char*>(arrays.destination)),
        first(reinterpret_cast<const char*>(arrays.first)),
        second(reinterpret_cast<const char*>(arrays.second)),
        count(arrays.count) {}
  template <class Isa>
  BYTEWAYS_INLINE void run(Word offset, Word, const Member& member) const {
    StreamLoop<kStreamAdd>::run<Isa>(reinterpret_cast<double*>(hidden(destination + offset)),
                                     reinterpret_cast<const double*>(hidden(first + offset)),
                                     reinterpret_cast<const double*>(hidden(second + offset)), hidden(count));
    member.wait();
  }
};
SlotVersions<Add, Arrays, Member>::Pointer slots_version(IsaName isa) {
  return SlotVersions<Add, Arrays, Member>::of(isa);
}

template Pointer<StreamLoop<kStreamCopy>, Stream> stream_version<kStreamCopy>(IsaName);
template Pointer<StreamLoop<kStreamScale>, Stream> stream_version<kStreamScale>(IsaName);
template Pointer<StreamLoop<kStreamAdd>, Stream> stream_version<kStreamAdd>(IsaName);
template Pointer<StreamLoop<kStreamTriad>, Stream> stream_version<kStreamTriad>(IsaName);
template Pointer<StreamDiffer<kStreamCopy>, Differ> stream_differ_version<kStreamCopy>(IsaName);
template Pointer<StreamDiffer<kStreamScale>, Differ> stream_differ_version<kStreamScale>(IsaName);
template Pointer<StreamDiffer<kStreamAdd>, Differ> stream_differ_version<kStreamAdd>(IsaName);
template Pointer<StreamDiffer<kStreamTriad>, Differ> stream_differ_version<kStreamTriad>(IsaName);

}  // namespace byteways
