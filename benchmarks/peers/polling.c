// sched_yield() as a few pauses, preloaded into ranks that have a core each (`--polling` of
// benchmarks/loop_peer.py). MPICH 5.0 gives its core away at every look of a wait. The system call takes 480
// ns on the machine of docs/guides/measure-between-processes.md, a round trip of 8 bytes has three looks, and
// so its time depends on where they happen to lie.
#include <sched.h>

int sched_yield(void) {
  enum { kPauses = 8 };
  for (int k = 0; k < kPauses; ++k)
#if defined(__x86_64__)
    __builtin_ia32_pause();
#else
    __asm__ volatile("" ::: "memory");
#endif
  return 0;
}
