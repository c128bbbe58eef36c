// The module that called CUDA for a copy, and the time of the call. CUPTI calls back when such a call begins
// and ends, in the thread of the program; the record of the copy, which comes later, has its number.
#pragma once
#include <cstdint>

namespace byteways::watch {

// Remembers who has called CUDA on this thread: the first frame that is neither of CUDA nor of ours. Of one
// place in the program it is looked for once; all that is looked for takes at most half a percent of the
// program's time.
void remember_call(std::uint32_t correlation) noexcept;

// The number (names.hpp) of the module of a call; 0 if it is not known, or was forgotten for one of the
// 131,072 that came after it.
std::uint16_t site_of_call(std::uint32_t correlation) noexcept;

// Remembers how long a call took that remember_call() has seen begin on this thread.
void remember_end(std::uint32_t correlation) noexcept;

// The time of a call in ns, once: of several copies of a call the first has it. kUnknownTime as above, if it
// was taken, or if the call has not ended.
std::int64_t take_time_of_call(std::uint32_t correlation) noexcept;

}  // namespace byteways::watch
