// Ends of a process that skip its handlers, such as os._exit of Python's forked workers, and programs that
// take its place: what was counted is saved before. For libraries that are preloaded.
#include <alloca.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

#include "watch/preloaded/next.hpp"
#include "watch/snapshot.hpp"

using byteways::watch::Next;  // NOLINT: entries are names of the C library, in no namespace

namespace {

using Words = char* const*;
constinit Next<void(int)> next_exit("_exit"), next_capital_exit("_Exit"), next_quick_exit("quick_exit");
constinit Next<int(int, int)> next_daemon("daemon");
constinit Next<int(const char*, Words, Words)> next_execve("execve"), next_execvpe("execvpe");
constinit Next<int(const char*, Words)> next_execv("execv"), next_execvp("execvp");
constinit Next<int(int, Words, Words)> next_fexecve("fexecve");
constinit Next<int(int, const char*, Words, Words, int)> next_execveat("execveat");

[[gnu::constructor(101)]] void resolve() {
  next_exit.resolve();
  next_capital_exit.resolve();
  next_quick_exit.resolve();
  next_daemon.resolve();
  next_execve.resolve();
  next_execvpe.resolve();
  next_execv.resolve();
  next_execvp.resolve();
  next_fexecve.resolve();
  next_execveat.resolve();
}

[[noreturn]] void leave(Next<void(int)>& next, int status) {
  byteways::watch::save(true);
  if (void (*const function)(int) = next.get()) function(status);
  while (true) syscall(SYS_exit_group, status);
}

// What returns has failed.
template <class Function, class... Arguments>
int replace(Next<Function>& next, Arguments... arguments) {
  Function* const function = next.get();
  if (function == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  byteways::watch::save(true);
  const int result = function(arguments...);
  byteways::watch::go_on();
  return result;
}

}  // namespace

// Calls act(words, list) with the arguments of a function that takes them one by one, up to a null pointer.
#define BYTEWAYS_WITH_WORDS(first, act)                                          \
  va_list list;                                                                  \
  va_start(list, first);                                                         \
  std::size_t count = 1;                                                         \
  while (va_arg(list, char*) != nullptr) ++count;                                \
  va_end(list);                                                                  \
  char** const words = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  words[0] = const_cast<char*>(first);                                           \
  va_start(list, first);                                                         \
  for (std::size_t at = 1; at <= count; ++at) words[at] = va_arg(list, char*);   \
  const int result = act;                                                        \
  va_end(list);                                                                  \
  return result

#define BYTEWAYS_SHOWN [[gnu::visibility("default")]]

extern "C" {

[[gnu::noreturn]] BYTEWAYS_SHOWN void _exit(int status) { leave(next_exit, status); }
[[gnu::noreturn]] BYTEWAYS_SHOWN void _Exit(int status) noexcept { leave(next_capital_exit, status); }
[[gnu::noreturn]] BYTEWAYS_SHOWN void quick_exit(int status) noexcept { leave(next_quick_exit, status); }

// Of the process that calls only its child goes on.
BYTEWAYS_SHOWN int daemon(int keep_folder, int keep_streams) noexcept {
  return replace(next_daemon, keep_folder, keep_streams);
}

BYTEWAYS_SHOWN int execve(const char* path, Words words, Words variables) noexcept {
  return replace(next_execve, path, words, variables);
}
BYTEWAYS_SHOWN int execv(const char* path, Words words) noexcept { return replace(next_execv, path, words); }
BYTEWAYS_SHOWN int execvp(const char* name, Words words) noexcept {
  return replace(next_execvp, name, words);
}
BYTEWAYS_SHOWN int execvpe(const char* name, Words words, Words variables) noexcept {
  return replace(next_execvpe, name, words, variables);
}
BYTEWAYS_SHOWN int fexecve(int file, Words words, Words variables) noexcept {
  return replace(next_fexecve, file, words, variables);
}
// Of glibc 2.34.
BYTEWAYS_SHOWN int execveat(int folder, const char* path, Words words, Words variables, int flags) noexcept {
  return replace(next_execveat, folder, path, words, variables, flags);
}
BYTEWAYS_SHOWN int execl(const char* path, const char* first, ...) noexcept {
  BYTEWAYS_WITH_WORDS(first, replace(next_execv, path, words));
}
BYTEWAYS_SHOWN int execlp(const char* name, const char* first, ...) noexcept {
  BYTEWAYS_WITH_WORDS(first, replace(next_execvp, name, words));
}
BYTEWAYS_SHOWN int execle(const char* path, const char* first, ...) noexcept {
  BYTEWAYS_WITH_WORDS(first, replace(next_execve, path, words, va_arg(list, Words)));
}
}
