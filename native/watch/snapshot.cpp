// See snapshot.hpp.
#include "watch/snapshot.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/names.hpp"
#include "watch/output.hpp"
#include "watch/site.hpp"
#include "watch/snapshot_file.hpp"
#include "watch/thread.hpp"

namespace byteways::watch {
namespace {

// How long a process without the thread waits for another of its threads that saves.
constexpr int kPatience = 2000;  // ms
constexpr std::size_t kMostSources = 2;

constinit std::atomic<void (*)()> sources[kMostSources]{};
constinit std::atomic<pid_t> saver{0};  // the thread that writes; 0: none
constinit std::atomic<std::uint64_t> saved_changes{0};
constinit std::atomic<bool> saved_end{false};

// Of the environment, read before main(): a program may change it at any time.
constinit bool knows_environment = false;
constinit std::int64_t line_start = 0;  // ns since 1970

void read_environment() {
  if (knows_environment) return;
  knows_environment = true;
  const char* const named = std::getenv(kFolderVariable);
  if (named != nullptr && *named == '/' && std::strlen(named) < sizeof the_process.folder)
    std::memcpy(the_process.folder, named, std::strlen(named) + 1);
  const char* const start = std::getenv(kStartVariable);
  line_start = start == nullptr ? 0 : std::strtoll(start, nullptr, 10);
}

void note_in(std::uint16_t (&notes)[kMostNotes], std::string_view name) {
  const std::uint16_t number = number_of(name);
  for (std::uint16_t& note : notes) {
    if (note == number) return;
    if (note == 0) {
      note = number;
      return;
    }
  }
}

bool is_own() { return across_fork.state.load() == 1 && the_process.number == getpid(); }

// Whether a snapshot would say more than the last one.
bool has_news(bool ended) {
  const std::uint64_t changes = histogram().changes();
  return changes != saved_changes.load() || (ended && !saved_end.load() && (changes != 0 || has_snapshot()));
}

void write_news(bool ended) noexcept {
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  pid_t other = 0;
  for (int waited = 0; !saver.compare_exchange_strong(other, self); ++waited, other = 0) {
    // A signal interrupted this very thread while it wrote, or the file system hangs.
    if (other == self || waited == kPatience) return;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  const std::uint64_t changes = histogram().changes();
  if (has_news(ended) && write_snapshot(ended)) {
    saved_changes.store(changes);
    saved_end.store(ended);
  }
  saver.store(0);
}

// What the thread does.
void take_turn(bool ended) {
  refine_clock();
  for (const auto& source : sources)
    if (void (*const collect)() = source.load(); collect != nullptr) collect();
  if (!has_news(ended)) return;
  read_modules();
  write_news(ended);
}

void need_thread() {
  // Without it each end of the process that is seen saves still.
  if (is_own() && !start_thread(take_turn)) note_failure("no-thread");
}

// fork() waits for nothing of this library. The child is a process of its own, without the thread: its first
// operation begins anew. Until then nothing else is done in it, since each page that is written is copied:
// most children execute another program.
void after_fork_in_child() {
  // What other threads held is open; what they had not published does not exist. A write copies the page.
  AcrossFork& held = across_fork;
  if (held.names.load() != 0) held.names.store(0);
  if (held.reader.load() != 0) held.reader.store(0);
  if (held.beginning.load() != 0) held.beginning.store(0);
  if (held.open_draft.load() != 0 && !has_own_descriptors()) close_draft();
  if (held.state.load() != 1) return;
  held.is_child.store(true);
  held.state.store(0);
}

// What a child has of its parent. It is no rank.
void forget_parent() {
  histogram().begin_anew();
  forget_thread();
  forget_snapshot();
  saver.store(0);
  the_process.rank = -1;
  the_process.ranks = -1;
  saved_changes.store(0);
  saved_end.store(false);
}

std::int64_t start_of_time_line() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  const std::int64_t since = time.tv_sec * 1'000'000'000LL + time.tv_nsec - line_start;
  return now() - (line_start <= 0 || since < 0 ? 0 : since);
}

void name_host() {
  gethostname(the_process.host, sizeof the_process.host - 1);
  for (char* letter = the_process.host; *letter != '\0'; ++letter)
    if (*letter == '/') *letter = '_';
}

[[gnu::constructor(101)]] void load() {
  read_environment();
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

// At the end of the process, after the program's own handlers.
[[gnu::destructor]] void finish() { save(true); }

}  // namespace

namespace inner {

bool begin() noexcept {
  const Unnoticed here;
  while (across_fork.beginning.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  if (across_fork.state.load() == 0) {
    read_environment();
    const bool good = *the_process.folder != '\0';
    if (good) {
      if (across_fork.is_child.load()) forget_parent();
      the_process.number = getpid();
      name_host();
      start_clock();
      the_process.began = now();
      histogram().start(start_of_time_line());
      histogram().at_first(need_thread);
      histogram().leave_out_of_children();
      if (!across_fork.is_child.load()) read_modules();  // a child has those of its parent
      across_fork.is_child.store(false);
    }
    across_fork.state.store(good ? 1 : 2, std::memory_order_release);
  }
  across_fork.beginning.store(0, std::memory_order_release);
  return across_fork.state.load() == 1;
}

}  // namespace inner

void name_library(const char* name) noexcept { the_process.library = name; }
void note_collector(std::string_view name) noexcept { note_in(the_process.collectors, name); }

void note_failure(std::string_view code) noexcept {
  note_in(the_process.failures, code);
  histogram().note_change();  // the next snapshot says it, without any operation
}

void note_rank(int rank, int ranks) noexcept {
  the_process.rank = rank;
  the_process.ranks = ranks;
}

void collect_before_snapshots(void (*collect)()) noexcept {
  for (auto& source : sources)
    if (void (*none)() = nullptr; source.compare_exchange_strong(none, collect) || none == collect) break;
  need_thread();
}

void save(bool ended) noexcept {
  // In a child of vfork() the process is another one, and its memory the parent's.
  if (!is_own() || !has_news(ended)) return;
  const Unnoticed here;
  if (!ask_thread(ended)) write_news(ended);
}

void go_on() noexcept {
  if (!is_own()) return;
  end_is_off();
  if (saved_end.load()) histogram().note_change();
}

bool pause() noexcept { return is_own() && stop_thread(); }

void resume() noexcept {
  if (!start_again()) note_failure("no-thread");
}

}  // namespace byteways::watch
