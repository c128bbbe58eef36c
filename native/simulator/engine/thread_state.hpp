// What the simulator keeps for each thread of a program. A part of it that runs as a fibre (timeline.hpp) has
// the state of the thread that it belongs to, not that of the thread that carries it.
#pragma once
#include "simulator/engine/engine.hpp"

namespace byteways::sim {

struct ThreadState {
  int rank = kNoActor;         // as which it joined
  bool other_process = false;  // exports memory as a process of its own
  bool dead = false;           // it was a rank, until a fault
  int bound_domain = -1;       // NUMA domain of its cores, -1: never bound
  int policy_domain = -1;      // of its memory policy, -1: none
  int cuda_gpu = -1;           // of its context, -1: none
  int hip_device = 0;          // its current one
};

ThreadState& this_thread();
// The process for which this thread acts: ranks have numbers from 0, a machine without ranks kNoActor.
int process_of_caller();
// From now on this thread acts for the one whose state it is; null: for itself. Returns for whom it acted.
ThreadState* act_for(ThreadState* state);

}  // namespace byteways::sim
