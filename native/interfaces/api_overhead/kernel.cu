// Interfaces `launch`, `synchronize` and `event`: a kernel that moves nothing, so that what is left is the
// cost of starting and ending it.
#include "interfaces/prelude.cuh"

namespace byteways {

BYTEWAYS_KERNEL(1024) nothing(NothingArguments arguments) {
  if (arguments.word == nullptr || grid_thread() != 0) return;
  atomic_store(arguments.word, arguments.value);
  fence_system();
}

}  // namespace byteways
