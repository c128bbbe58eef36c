// The copy behind `memcpy-stream`: ordinary loads, stores that bypass the caches, so that the destination is
// not read first.
#pragma once
#include <cstddef>

namespace byteways {

// Returns false if no such stores are known for this processor.
bool can_stream();
// Like memcpy. On x86 the stores are weakly ordered: call stream_fence() before signalling
// completion.
void stream_copy(void* destination, const void* source, std::size_t bytes);
void stream_fence();

}  // namespace byteways
