// How a loop is compiled once per register width, to be chosen at run time by what the processor has.
#pragma once

#if defined(__x86_64__)
#define BYTEWAYS_TARGET(isa) __attribute__((target(isa)))
#endif
// Into each of those functions.
#define BYTEWAYS_INLINE inline __attribute__((always_inline))
