// See snapshot_file.hpp.
#include "watch/snapshot_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string_view>

#include "watch/clock.hpp"
#include "watch/forked.hpp"
#include "watch/histogram.hpp"
#include "watch/json.hpp"
#include "watch/names.hpp"
#include "watch/output.hpp"
#include "watch/site.hpp"

namespace byteways::watch {

constinit Process the_process{};

namespace {

constexpr int kSchema = 1;
constexpr int kMostFiles = 1000;  // of one process number: programs that replaced each other by exec

// One thread writes at a time (snapshot.cpp).
using Path = Text<PATH_MAX + 300>;
constinit Path file{}, draft{};  // empty until the first snapshot
Output output;

void write_end(Json& json, const char* name, Memory memory, int gpu, int rank) {
  if (memory == Memory::kUnknown && gpu == -1 && rank < 0) return;
  json.key(name);
  json.open('{');
  if (memory != Memory::kUnknown) json.field("memory", kMemories[static_cast<std::size_t>(memory)]);
  if (gpu != -1) {
    json.key("device");
    gpu >= 0 ? json.numbered("gpu", gpu) : json.numbered("cpu", cpu_number(gpu));
  }
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
  const std::uint64_t bytes = bin.all_bytes(count);
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
  static char path[PATH_MAX];
  const auto length = readlink("/proc/self/exe", path, sizeof path);
  std::string_view program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos)
    program.remove_prefix(slash + 1);
  json.key("process");
  json.open('{');
  json.field("pid", the_process.number);
  json.field("host", the_process.host);
  json.field("program", program);
  if (the_process.rank >= 0) json.field("rank", the_process.rank.load());
  if (the_process.ranks >= 0) json.field("ranks", the_process.ranks.load());
  write_notes(json, "collectors", the_process.collectors);
  write_notes(json, "failures", the_process.failures);
  json.field("duration_ns", now() - the_process.began);
  json.field("ended", ended);
  json.field("lost", histogram().lost());
  json.close('}');
}

void write_all(Json& json, bool ended) {
  json.open('{');
  json.field("schema", kSchema);
  write_process(json, ended);
  json.key("bins");
  json.open('[');
  histogram().each([&](const Bin& bin) { write_bin(json, bin); });
  json.close(']');
  write_time_line(json);
  json.close('}');
}

void add_number(Path& path, long number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  path += {digits, static_cast<std::size_t>(end - digits)};
}

// Takes a name that no earlier program of this process number has. An empty file is left where the disk is
// full: its reader says so.
bool take_name() {
  if (!file.empty()) return true;
  for (int number = 1; number <= kMostFiles; ++number) {
    file.clear();
    (((file += the_process.folder) += "/processes/") += the_process.host) += "-";
    add_number(file, the_process.number);
    (file += "-") += the_process.library;
    if (number > 1) {
      file += "-";
      add_number(file, number);
    }
    file += ".json";
    if (!file.fits()) break;
    const int descriptor = open_apart(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (descriptor >= 0) {
      close(descriptor);
      draft.clear();
      (draft += file.c_str()) += ".tmp";
      return true;
    }
    if (errno != EEXIST) break;
  }
  file.clear();
  return false;
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

}  // namespace

bool write_snapshot(bool ended) noexcept {
  if (!take_name()) return false;
  const WithoutLimitSignal guarded;
  const int descriptor = open_apart(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
  if (descriptor < 0) return false;
  across_fork.open_draft.store(descriptor + 1);
  output.begin(descriptor);
  Json json(output);
  write_all(json, ended);
  bool good = output.finish();
  across_fork.open_draft.store(0);
  good = close(descriptor) == 0 && good;
  good = good && rename(draft.c_str(), file.c_str()) == 0;
  if (!good) unlink(draft.c_str());
  return good;
}

bool has_snapshot() noexcept { return !file.empty(); }

void close_draft() noexcept {
  const Unnoticed here;
  const int descriptor = across_fork.open_draft.exchange(0) - 1;
  if (descriptor >= 0) close(descriptor);
}

void forget_snapshot() noexcept {
  across_fork.open_draft.store(0);
  file.clear();
}

}  // namespace byteways::watch
