// Stands in for native/interfaces/device/prelude.cuh: kernels as functions of a CPU, a fibre for each of
// their threads (tests/native/fibres/run.cpp). Only the names that the kernels of `direct` use.
#pragma once
#include "interfaces/device/data_pattern.hpp"

#define __device__
#define BYTEWAYS_KERNEL(most_threads) extern "C" void

namespace byteways {

using Word = unsigned long long;
struct alignas(16) Bytes16 {
  unsigned int x, y, z, w;
};

// Of the fibre that runs.
unsigned int thread_index();
unsigned int block_index();
unsigned int block_threads();
unsigned int grid_blocks();
inline Word grid_thread() { return Word{block_index()} * block_threads() + thread_index(); }
inline Word grid_threads() { return Word{grid_blocks()} * block_threads(); }
void synchronize_block();
void let_others_run();

template <class T>
inline T load_global(const T* from) {
  return *from;
}
template <class T>
inline void store_global(T* to, T value) {
  *to = value;
}
inline Bytes16 load_streaming(const Bytes16* from) { return *from; }
inline void store_streaming(Bytes16* to, Bytes16 value) { *to = value; }
inline Word load_relaxed_system(const Word* from) { return *from; }
// Of a flag that a thread polls for.
inline Word load_acquire_system(const Word* from) {
  let_others_run();
  return *from;
}
inline void store_release_system(Word* to, Word value) { *to = value; }
inline void store_flagged(Bytes16* to, Word value, unsigned int flag) {
  *to = {static_cast<unsigned int>(value), flag, static_cast<unsigned int>(value >> 32), flag};
}
inline Bytes16 load_flagged(const Bytes16* from) {
  let_others_run();
  return *from;
}
inline void fence_stores_before_release() {}
inline void fence_system() {}
inline Word clock_nanoseconds() { return 1; }
inline void atomic_store(Word* to, Word value) { *to = value; }

}  // namespace byteways
