// The copy behind `memcpy-stream`: ordinary loads, stores that bypass the caches, so that the destination is
// not read first.
#pragma once
#include <cstddef>

namespace byteways {

// False where we know of no such stores.
bool can_stream();
// Like memcpy. On x86 the stores are weakly ordered: call stream_fence() before telling anyone that they are
// done.
void stream_copy(void* destination, const void* source, std::size_t bytes);
void stream_fence();

}  // namespace byteways
