// Calls that the system refuses to a process with threads, such as unshare(CLONE_NEWUSER) of containers: the
// library's own thread is not there meanwhile. For libraries that are preloaded.
#include <errno.h>

#include "watch/output.hpp"
#include "watch/preloaded/next.hpp"
#include "watch/snapshot.hpp"
#include "watch/thread.hpp"

using byteways::watch::Next;  // NOLINT: entries are names of the C library, in no namespace

namespace {

constinit Next<int(int)> next_unshare("unshare");
constinit Next<int(int, int)> next_setns("setns");

[[gnu::constructor(101)]] void resolve() {
  next_unshare.resolve();
  next_setns.resolve();
  // The program is loaded with this library, whose thread needs files of its own alone.
  byteways::watch::use_own_descriptors();
}

template <class Function, class... Arguments>
int without_thread(Next<Function>& next, Arguments... arguments) {
  Function* const function = next.get();
  if (function == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  const bool ran = byteways::watch::pause();
  const int result = function(arguments...);
  const byteways::watch::Unnoticed here;
  if (ran) byteways::watch::resume();
  return result;
}

}  // namespace

extern "C" {
[[gnu::visibility("default")]] int unshare(int flags) noexcept { return without_thread(next_unshare, flags); }
[[gnu::visibility("default")]] int setns(int file, int kind) noexcept {
  return without_thread(next_setns, file, kind);
}
}
