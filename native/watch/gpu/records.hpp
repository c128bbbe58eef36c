// Records of CUPTI as operations of the histogram.
#pragma once
#include <cstdint>

#include "watch/gpu/cupti.hpp"

namespace byteways::watch::cupti {

// Prepares names of methods, and what `clock_offset` is: the monotonic clock minus CUPTI's, in ns.
void begin_records(std::uint32_t version, std::int64_t clock_offset) noexcept;

// Records of kernels come, too: copies get the time that passed while these ran on their device.
void expect_kernels() noexcept;

// Adds the operation of a record; kinds that were not asked for are passed over.
void add_record(const std::uint8_t* record) noexcept;

}  // namespace byteways::watch::cupti
