// Ends of a process that skip its handlers, such as os._exit of Python's forked workers: what was counted is
// saved before. For libraries that are preloaded.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "watch/snapshot.hpp"

namespace {

[[noreturn]] void leave(const char* name, int status) {
  byteways::watch::save_before_leaving();
  if (const auto next = reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, name))) next(status);
  while (true) syscall(SYS_exit_group, status);
}

}  // namespace

extern "C" {
[[gnu::noreturn, gnu::visibility("default")]] void _exit(int status) { leave("_exit", status); }
[[gnu::noreturn, gnu::visibility("default")]] void _Exit(int status) noexcept { leave("_Exit", status); }
[[gnu::noreturn, gnu::visibility("default")]] void quick_exit(int status) noexcept {
  leave("quick_exit", status);
}
}
