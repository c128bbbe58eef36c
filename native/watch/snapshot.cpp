// See snapshot.hpp.
#include "watch/snapshot.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "watch/clock.hpp"
#include "watch/histogram.hpp"
#include "watch/json.hpp"
#include "watch/names.hpp"

namespace byteways::watch {
namespace {

constexpr int kSchema = 1;
constexpr std::int64_t kFirstPause = 200'000'000, kPause = 1'000'000'000;  // ns
// A snapshot of many bins takes milliseconds: the pause after it is this many times as long, 0.5 % of a core.
constexpr std::int64_t kPausePerWork = 200;
// How long a process that skips its handlers waits for the last snapshot: it may have been interrupted with
// locks held.
constexpr int kPatience = 2000;  // ms
constexpr std::size_t kStackBytes = 256 * 1024;
constexpr std::size_t kMostNotes = 8;
constexpr int kMostFiles = 1000;  // of one process number: programs that replaced each other by exec

const char* library = "other";
constinit std::uint16_t collectors[kMostNotes]{}, failures[kMostNotes]{};
std::atomic<int> world_rank{-1}, world_ranks{-1};
pthread_mutex_t saving = PTHREAD_MUTEX_INITIALIZER;
sem_t wake;  // of the thread
std::atomic<bool> end_wanted{false}, end_saved{false};
constexpr std::size_t kMostSources = 2;
std::atomic<void (*)()> sources[kMostSources]{};

// Of this process, since begin().
pid_t process = 0;
std::int64_t began = 0;
std::uint64_t saved_changes = 0;
bool saved_end = false;
char folder[PATH_MAX];
char file[PATH_MAX + 300];  // "" until the first snapshot
char host[256];

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

void write_end(Json& json, const char* name, Memory memory, int gpu, int rank) {
  if (memory == Memory::kUnknown && gpu == -1 && rank < 0) return;
  json.key(name);
  json.open('{');
  if (memory != Memory::kUnknown) json.field("memory", kMemories[static_cast<std::size_t>(memory)]);
  if (gpu >= 0) json.field("device", std::string("gpu") + std::to_string(gpu));
  if (gpu < -1) json.field("device", std::string("cpu") + std::to_string(cpu_number(gpu)));
  if (rank >= 0) json.field("rank", rank);
  json.close('}');
}

void write_bin(Json& json, const Bin& bin) {
  const Key& key = bin.key;
  const std::uint64_t count = bin.count.load(std::memory_order_relaxed);
  if (count == 0) return;
  json.open('{');
  json.field("what", kWhats[static_cast<std::size_t>(key.what)]);
  json.field("method", name_of(key.method));
  json.field("count", count);
  const std::uint64_t bytes = bin.bytes.load(std::memory_order_relaxed);
  json.field("bytes", bytes);
  // Nothing is copied or set where there are no bytes: their number was not observed.
  if (bytes == 0 && (key.what == What::kCopy || key.what == What::kSet)) json.field("sized", false);
  json.field("size_from", bin.least.load(std::memory_order_relaxed));
  json.field("size_to", bin.most.load(std::memory_order_relaxed));
  write_end(json, "source", key.source, key.source_gpu, key.source_rank);
  write_end(json, "destination", key.destination, key.destination_gpu, key.destination_rank);
  if (key.ranks >= 0) json.field("ranks", key.ranks);
  if (key.site != 0) json.field("site", name_of(key.site));
  const std::uint32_t seen = bin.times_seen.load(std::memory_order_relaxed);
  if (seen & 3) json.field("time_ns", (seen & 1 ? bin.time : bin.call).load(std::memory_order_relaxed));
  if (seen & 2) json.field("call_ns", bin.call.load(std::memory_order_relaxed));
  if (seen & 4) json.field("waiting_ns", bin.waiting.load(std::memory_order_relaxed));
  if (seen & 8) json.field("overlap_ns", bin.overlap.load(std::memory_order_relaxed));
  if (key.detail != 0) {
    json.key("detail");
    json.raw(name_of(key.detail));
  }
  json.close('}');
}

void write_time_line(Json& json) {
  const Histogram& bins = histogram();
  json.key("timeline");
  json.open('{');
  json.field("interval_ns", bins.interval_ns());
  json.key("series");
  json.open('[');
  for (std::size_t what = 0; what < kWhatCount; ++what) {
    std::size_t end = kMostIntervals;
    while (end > 0 && bins.interval_bytes(what, end - 1) == 0) --end;
    if (end == 0) continue;
    json.open('{');
    json.field("what", kWhats[what]);
    json.field("process", 0);
    json.key("bytes");
    json.open('[');
    for (std::size_t at = 0; at < end; ++at) json.number(bins.interval_bytes(what, at));
    json.close(']');
    json.close('}');
  }
  json.close(']');
  json.close('}');
}

void write_notes(Json& json, const char* name, const std::uint16_t (&notes)[kMostNotes]) {
  json.key(name);
  json.open('[');
  for (const std::uint16_t note : notes)
    if (note != 0) json.string(name_of(note));
  json.close(']');
}

void write_process(Json& json, bool ended) {
  char path[PATH_MAX] = "";
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  std::string_view program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos)
    program.remove_prefix(slash + 1);
  json.key("process");
  json.open('{');
  json.field("pid", process);
  json.field("host", host);
  json.field("program", program);
  if (world_rank >= 0) json.field("rank", world_rank.load());
  if (world_ranks >= 0) json.field("ranks", world_ranks.load());
  write_notes(json, "collectors", collectors);
  write_notes(json, "failures", failures);
  json.field("duration_ns", now() - began);
  json.field("ended", ended);
  json.field("lost", histogram().lost());
  json.close('}');
}

std::string snapshot(bool ended) {
  Json json;
  json.open('{');
  json.field("schema", kSchema);
  write_process(json, ended);
  json.key("bins");
  json.open('[');
  histogram().each([&](const Bin& bin) { write_bin(json, bin); });
  json.close(']');
  write_time_line(json);
  json.close('}');
  return json.text();
}

// Takes a name that no earlier program of this process number has. An empty file is left where the disk is
// full: its reader says so.
bool take_name() {
  if (*file != '\0') return true;
  for (int number = 1; number <= kMostFiles; ++number) {
    char suffix[16] = "";
    if (number > 1) std::snprintf(suffix, sizeof suffix, "-%d", number);
    std::snprintf(file, sizeof file, "%s/processes/%s-%d-%s%s.json", folder, host, process, library, suffix);
    const int descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      close(descriptor);
      return true;
    }
    if (errno != EEXIST) break;
  }
  *file = '\0';
  return false;
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A write beyond the program's limit of file sizes raises a signal that ends it: here it is an error alone.
class WithoutLimitSignal {
 public:
  WithoutLimitSignal() {
    sigemptyset(&limit_);
    sigaddset(&limit_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit_, &before_);
  }
  ~WithoutLimitSignal() {
    if (!sigismember(&before_, SIGXFSZ)) {
      const timespec now{};
      sigtimedwait(&limit_, nullptr, &now);
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t limit_, before_;
};

bool replace_file(std::string_view text) {
  if (!take_name()) return false;
  const WithoutLimitSignal guarded;
  const std::string draft = std::string(file) + ".tmp";
  const int descriptor = open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  bool good = write_all(descriptor, text);
  good = close(descriptor) == 0 && good;
  good = good && rename(draft.c_str(), file) == 0;
  if (!good) unlink(draft.c_str());
  return good;
}

// Waits until somebody wakes the thread, or so many ns.
void wait_for_wake(std::int64_t pause) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  const std::int64_t at = until.tv_nsec + pause;
  until.tv_sec += static_cast<time_t>(at / 1'000'000'000);
  until.tv_nsec = static_cast<long>(at % 1'000'000'000);
  while (sem_timedwait(&wake, &until) != 0 && errno == EINTR) {
  }
}

void* work(void*) {
  std::int64_t pause = kFirstPause;
  while (true) {
    wait_for_wake(pause);
    const std::int64_t start = now();
    const bool ending = end_wanted.load();
    refine_clock();
    for (const auto& source : sources)
      if (void (*const collect)() = source.load(); collect != nullptr) collect();
    save(ending);
    if (ending) end_saved.store(true);
    pause = std::max(kPause, kPausePerWork * (now() - start));
  }
}

void before_fork() {
  pthread_mutex_lock(&saving);
  lock_names();
  histogram().before_fork();
}

void after_fork_in_parent() {
  histogram().after_fork();
  unlock_names();
  pthread_mutex_unlock(&saving);
}

// The child is a process of its own, without the thread: its first operation begins anew. It is no rank.
void after_fork_in_child() {
  histogram().begin_anew();
  unlock_names();
  pthread_mutex_init(&saving, nullptr);
  *file = '\0';
  world_rank = -1;
  world_ranks = -1;
  saved_changes = 0;
  saved_end = false;
  end_wanted = false;
  if (inner::state.load() == 1) inner::state.store(0);
}

bool start_thread() {
  sem_init(&wake, 0, 0);
  sigset_t all, before;
  sigfillset(&all);  // signals are the program's
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t how;
  pthread_attr_init(&how);
  pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&how, std::max<std::size_t>(kStackBytes, PTHREAD_STACK_MIN));
  pthread_t thread;
  const int error = pthread_create(&thread, &how, work, nullptr);
  pthread_attr_destroy(&how);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0;
}

std::int64_t start_of_time_line() {
  const char* const text = std::getenv(kStartVariable);
  const std::int64_t start = text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  const std::int64_t since = time.tv_sec * 1'000'000'000LL + time.tv_nsec - start;
  return now() - (start <= 0 || since < 0 ? 0 : since);
}

// At the end of the process, after the program's own handlers.
[[gnu::destructor]] void finish() { save(true); }

}  // namespace

namespace inner {

constinit std::atomic<int> state{0};

bool begin() noexcept {
  static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&beginning);
  if (state.load() == 0) {
    const char* const named = std::getenv(kFolderVariable);
    struct stat found{};
    const bool good = named != nullptr && *named == '/' && std::string_view(named).size() < sizeof folder &&
                      stat(named, &found) == 0 && S_ISDIR(found.st_mode);
    if (good) {
      std::snprintf(folder, sizeof folder, "%s", named);
      gethostname(host, sizeof host - 1);
      for (char* letter = host; *letter != '\0'; ++letter)
        if (*letter == '/') *letter = '_';
      process = getpid();
      start_clock();
      began = now();
      histogram().start(start_of_time_line());
      static const int handlers = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
      static_cast<void>(handlers);
      // Without a thread the end of the process still saves.
      if (!start_thread()) note_failure("no-thread");
    }
    state.store(good ? 1 : 2, std::memory_order_release);
  }
  pthread_mutex_unlock(&beginning);
  return state.load() == 1;
}

}  // namespace inner

void name_library(const char* name) noexcept { library = name; }
void note_collector(std::string_view name) noexcept { note_in(collectors, name); }

void note_failure(std::string_view code) noexcept {
  note_in(failures, code);
  histogram().note_change();  // the next snapshot says it, without any operation
}

void note_rank(int rank, int ranks) noexcept {
  world_rank = rank;
  world_ranks = ranks;
}

void collect_before_snapshots(void (*collect)()) noexcept {
  for (auto& source : sources)
    if (void (*none)() = nullptr; source.compare_exchange_strong(none, collect) || none == collect) return;
}

void save_before_leaving() noexcept {
  if (inner::state.load() != 1 || process != getpid() || end_wanted.exchange(true)) return;
  sem_post(&wake);
  for (int waited = 0; waited < kPatience && !end_saved.load(); ++waited) {
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
}

void save(bool ended) noexcept {
  // In a child of vfork() the process is another one, and its memory the parent's.
  if (inner::state.load() != 1 || process != getpid()) return;
  pthread_mutex_lock(&saving);
  const std::uint64_t changes = histogram().changes();
  if (changes != saved_changes || (ended && !saved_end && (changes != 0 || *file != '\0'))) {
    try {
      if (replace_file(snapshot(ended))) {
        saved_changes = changes;
        saved_end = ended;
      }
    } catch (...) {  // no memory: the last snapshot stays
    }
  }
  pthread_mutex_unlock(&saving);
}

}  // namespace byteways::watch
