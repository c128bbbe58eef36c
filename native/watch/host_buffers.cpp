// See host_buffers.hpp.
#include "watch/host_buffers.hpp"

#include "watch/site.hpp"

namespace byteways::watch {

Memory memory_of_buffers() noexcept { return has_driver() ? Memory::kUnknown : Memory::kPageable; }

}  // namespace byteways::watch
