// Compiles a loop once per register width; the processor decides at run time which version runs.
#pragma once

#if defined(__x86_64__)
#define BYTEWAYS_TARGET(isa) __attribute__((target(isa)))
#endif
// For code that must be inlined into each version.
#define BYTEWAYS_INLINE inline __attribute__((always_inline))
