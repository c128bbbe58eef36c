// The thread of a collector's library. It alone writes files while it runs, and a program's thread waits for
// it no longer than some seconds: a file system that hangs holds up neither fork() nor the end of the
// process. It blocks all signals; in preloaded libraries it has its own table of descriptors. Nothing here
// takes a lock that a program can hold, and a signal may have interrupted the program anywhere, but in
// start_thread().
#pragma once

namespace byteways::watch {

// Starts it, unless it runs; `turn` is called from time to time and when asked. False: there can be none.
bool start_thread(void (*turn)(bool ended)) noexcept;
// Ends it, until the kernel no longer counts it as one of the process; whether it ran. start_again() starts
// it with the same work.
bool stop_thread() noexcept;
bool start_again() noexcept;

// Has the thread take its turn, and waits for that, unless it hangs since somebody waited in vain; false if
// there is no thread, or it is the one that calls.
bool ask_thread(bool ended) noexcept;
// The process did not end after all.
void end_is_off() noexcept;

// In the child of a fork, which has no such thread.
void forget_thread() noexcept;

// Before the thread starts: it needs no descriptor of the program.
void use_own_descriptors() noexcept;
// Whether the thread's descriptors are its own.
bool has_own_descriptors() noexcept;

}  // namespace byteways::watch
