// See thread.hpp.
#include "watch/thread.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>

#include "watch/clock.hpp"
#include "watch/output.hpp"

namespace byteways::watch {
namespace {

constexpr std::int64_t kFirstPause = 200'000'000, kPause = 1'000'000'000;  // ns
// A snapshot of many bins takes milliseconds: the pause after it is this many times as long, 0.5 % of a core.
constexpr std::int64_t kPausePerWork = 200;
// How long a thread of the program waits for this one: a file system may hang.
constexpr std::int64_t kPatience = 2'000'000'000;  // ns
constexpr std::size_t kStackBytes = 256 * 1024;
// close_range(2), Linux 5.9, the same on all architectures; headers of glibc 2.28 do not have it.
constexpr long kCloseRange = 436;
constexpr unsigned kUnshare = 1U << 1;

using Word = std::atomic<std::uint32_t>;

using Turn = void (*)(bool);
constinit Turn turn = nullptr;
constinit std::atomic<bool> runs{false}, ending{false}, stopping{false};
constinit std::atomic<bool> hangs{false};  // somebody waited in vain since the last turn
constinit Word starting{0}, asked{0}, answered{0}, gone{0};
constinit std::atomic<pid_t> number{0};
constinit std::atomic<bool> wants_own_table{false}, has_own_table{false};
pthread_t handle;

// Waits until a word has another value, at most so many ns. The kernel's pause is of the monotonic clock.
void wait_while(Word& word, std::uint32_t value, std::int64_t pause) {
  const timespec time{static_cast<time_t>(pause / 1'000'000'000), static_cast<long>(pause % 1'000'000'000)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &time, nullptr, 0);
}

void change(Word& word, std::uint32_t value) {
  word.store(value);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// A table of its own, without the program's descriptors: theirs would stay open in it.
void leave_descriptors() {
  if (!wants_own_table.load() || syscall(kCloseRange, 0U, ~0U, kUnshare) != 0) return;
  has_own_table.store(true);
  for (int place = 0; place < 3; ++place) {
    const int descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
    static_cast<void>(descriptor);
  }
}

void* work(void*) {
  prctl(PR_SET_NAME, "byteways");
  number.store(static_cast<pid_t>(syscall(SYS_gettid)));
  leave_descriptors();
  std::int64_t pause = kFirstPause;
  while (true) {
    wait_while(asked, answered.load(), pause);
    if (stopping.load()) break;
    const std::uint32_t until = asked.load();
    const std::int64_t start = now();
    turn(ending.load());
    hangs.store(false);
    change(answered, until);
    pause = std::max(kPause, kPausePerWork * time_between(start, now()));
  }
  change(gone, 1);
  return nullptr;
}

bool create(std::size_t stack) {
  pthread_attr_t how;
  pthread_attr_init(&how);
  if (stack != 0) pthread_attr_setstacksize(&how, stack);
  const int error = pthread_create(&handle, &how, work, nullptr);
  pthread_attr_destroy(&how);
  return error == 0;
}

bool start() {
  sigset_t all, before;
  sigfillset(&all);  // signals are the program's
  pthread_sigmask(SIG_SETMASK, &all, &before);
  stopping.store(false);
  ending.store(false);
  hangs.store(false);
  gone.store(0);
  // The thread-local variables of a program lie on the stack, too: with many of them the usual one is needed.
  runs.store(create(std::max<std::size_t>(kStackBytes, static_cast<std::size_t>(PTHREAD_STACK_MIN))) ||
             create(0));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return runs.load();
}

}  // namespace

bool start_thread(void (*given)(bool)) noexcept {
  const Unnoticed here;
  while (starting.exchange(1) != 0) sched_yield();
  turn = given;
  const bool good = runs.load() || start();
  starting.store(0);
  return good;
}

bool start_again() noexcept { return turn != nullptr && start_thread(turn); }

bool stop_thread() noexcept {
  const Unnoticed here;
  if (!runs.load()) return false;
  const std::int64_t until = inner::kernel_time() + kPatience;
  stopping.store(true);
  change(asked, asked.load() + 1);
  for (std::int64_t left = kPatience; gone.load() == 0 && left > 0; left = until - inner::kernel_time())
    wait_while(gone, 0, left);
  if (gone.load() == 0) return false;  // it hangs, and ends when it no longer does
  pthread_join(handle, nullptr);
  // The kernel still counts a thread for a moment after it woke who joins it.
  while (syscall(SYS_tgkill, getpid(), number.load(), 0) == 0) sched_yield();
  runs.store(false);
  return true;
}

bool ask_thread(bool ended) noexcept {
  if (!runs.load() || number.load() == static_cast<pid_t>(syscall(SYS_gettid))) return false;
  if (ended) ending.store(true);
  const std::uint32_t wanted = asked.fetch_add(1) + 1;
  syscall(SYS_futex, &asked, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  const std::int64_t until = inner::kernel_time() + kPatience;
  while (!hangs.load()) {
    const std::uint32_t seen = answered.load();
    if (static_cast<std::int32_t>(seen - wanted) >= 0) break;
    const std::int64_t left = until - inner::kernel_time();
    if (left <= 0)
      hangs.store(true);
    else
      wait_while(answered, seen, left);
  }
  return true;
}

void end_is_off() noexcept { ending.store(false); }

void forget_thread() noexcept {
  runs.store(false);
  starting.store(0);
  asked.store(0);
  answered.store(0);
  has_own_table.store(false);
}

void use_own_descriptors() noexcept { wants_own_table.store(true); }

bool has_own_descriptors() noexcept { return has_own_table.load(); }

}  // namespace byteways::watch
