// Records of CUPTI as operations of the histogram.
#pragma once
#include <cstdint>

#include "watch/gpu/cupti.hpp"

namespace byteways::watch::cupti {

// Prepares names of methods, and what `clock_offset` is: the monotonic clock minus CUPTI's, in ns.
void begin_records(std::uint32_t version, std::int64_t clock_offset) noexcept;

// Adds the operation of a record; kinds that were not asked for are passed over.
void add_record(const std::uint8_t* record) noexcept;

}  // namespace byteways::watch::cupti
