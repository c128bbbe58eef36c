// The functions of byteways_copy.h. No exception leaves them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>
#include <string>

#include "copy_library/blocks.hpp"
#include "copy_library/byteways_copy.h"
#include "copy_library/plan.hpp"
#include "copy_library/plan_file.hpp"
#include "copy_library/thread_state.hpp"
#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {
namespace {

constexpr std::size_t kMostPlanBytes = 4 << 20;  // a file of a few KiB is expected

// Of this thread: the text of its last failure, and of the last code that it asked about.
struct Texts {
  std::string error, of_code;
};

const char* text_of_own(int code) {
  switch (code) {
    case BW_OK:
      return "no error";
    case BW_NULL_POINTER:
      return "a pointer is null";
    case BW_OVERLAP:
      return "blocks overlap, so that the result would depend on their order";
    case BW_NO_DRIVER:
      return "no CUDA or HIP library with a GPU can be loaded";
    case BW_FORKED:
      return "this process was forked after the GPU driver was in use, which drivers do not support";
    case BW_PLAN_NOT_READ:
      return "the file of the plan cannot be read";
    case BW_PLAN_DAMAGED:
      return "the file is no plan, or was cut or changed";
    case BW_NO_SUCH_GPU:
      return "this process has no GPU of that number";
    case BW_OUT_OF_MEMORY:
      return "out of host memory";
    case BW_NO_CURRENT_GPU:
      return "no GPU is current in this thread";
    default:
      return nullptr;
  }
}

// Keeps the text of a failure, if there is memory for it, and returns its code.
template <class... Parts>
int fail(int code, Parts... parts) noexcept {
  try {
    std::string& text = of_this_thread<Texts>().error;
    text.clear();
    text = bw_error_text(code);
    std::string detail = (std::string() + ... + parts);
    if (!detail.empty()) text += ": " + detail;
  } catch (...) {
  }
  return code;
}

// Runs a function's body, and turns its exceptions into codes.
template <class Body>
int guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(BW_OUT_OF_MEMORY);
  } catch (const std::exception& error) {
    return fail(BW_NO_DRIVER, error.what());
  }
}

// HIP keeps the last failure of a thread. One of a call that the library has made, and the program does not
// learn of, is taken back, or the program would find it after its own next launch. One of the program's own
// is left.
class LeavesNoError {
 public:
  LeavesNoError(const Driver* driver, const int& code)
      : driver_(driver), code_(&code), own_(driver != nullptr && driver->last_error() == 0) {}
  ~LeavesNoError() {
    if (own_ && *code_ <= 0) driver_->clear_last_error();
  }
  LeavesNoError(const LeavesNoError&) = delete;
  LeavesNoError& operator=(const LeavesNoError&) = delete;

 private:
  const Driver* driver_;
  const int* code_;
  bool own_;
};

// The body of a function that uses the driver; it gets nullptr where there is none.
template <class Body>
int with_driver(Body body) noexcept {
  return guarded([&] {
    Driver* found = driver();
    int code = 0;
    const LeavesNoError none(found, code);
    return code = guarded([&] { return body(found); });
  });
}

// The same for functions that prepare or give back. What drivers refuse while another thread captures, and
// would end its capture for, is allowed to a thread in relaxed mode; nothing of it is in the program's
// streams.
template <class Body>
int preparing(Body body) noexcept {
  return with_driver([&](Driver* found) {
    const Relaxed relaxed(found);
    return body(found);
  });
}

int no_driver() { return is_forked() ? fail(BW_FORKED) : fail(BW_NO_DRIVER, missing_driver()); }

int check(const Blocks& blocks, const Survey& seen) {
  if (seen.null_block != SIZE_MAX) return fail(BW_NULL_POINTER, "of block ", std::to_string(seen.null_block));
  if (seen.largest == 0) return 0;
  const std::optional<Conflict> conflict = find_conflict(blocks, seen);
  if (!conflict) return 0;
  return fail(BW_OVERLAP, "block ", std::to_string(conflict->writer), " writes what block ",
              std::to_string(conflict->other), conflict->other_writes ? " writes" : " reads");
}

// The number in the caller's arrays of the block that is `place`-th in the list without empty ones.
std::size_t number_of(const Blocks& blocks, std::size_t place) {
  std::size_t k = 0;
  for (; blocks.bytes(k) == 0 || place != 0; ++k)
    if (blocks.bytes(k) != 0) --place;
  return k;
}

int copy_by_default(const Driver& driver, const NonEmpty& blocks, const Blocks& all, Stream stream) {
  for (std::size_t k = 0; k < blocks.count; ++k)
    if (const int code = driver.copy(blocks.to[k], blocks.from[k], blocks.bytes(k), stream))
      return fail(code, "of block ", std::to_string(number_of(all, k)));
  return 0;
}

// Looks at the blocks, refuses what cannot be copied, and chooses a method if there is a plan.
int examine(const Driver& driver, const Blocks& blocks, Request& request, bw_plan* plan, Choice& choice) {
  if (plan != nullptr) choice.fallback = plan->plan.find_gpu(request);
  const bool choosing = plan != nullptr && choice.fallback == BW_FALLBACK_NONE;
  request.seen = survey(blocks, choosing ? &driver : nullptr);
  if (const int code = check(blocks, request.seen)) return code;
  request.blocks = NonEmpty(blocks, request.seen);
  if (choosing && request.seen.largest != 0) choice = plan->plan.choose(request);
  return 0;
}

int copy(Driver* found, const Blocks& blocks, Stream stream, bw_plan* plan) {
  if (found == nullptr) return no_driver();
  if (blocks.count == 0) return 0;
  if (blocks.to == nullptr || blocks.from == nullptr) return fail(BW_NULL_POINTER, "the array of pointers");
  Request request{stream};
  Choice choice;
  if (const int code = examine(*found, blocks, request, plan, choice)) return code;
  const Survey& seen = request.seen;
  if (seen.largest == 0) return 0;
  if (plan == nullptr) return copy_by_default(*found, request.blocks, blocks, stream);
  int code = 0;
  if (choice.method == BW_METHOD_DEFAULT || !plan->plan.enqueue(request, choice, &code))
    code = copy_by_default(*found, request.blocks, blocks, stream);
  else if (code != 0)
    fail(code);
  if (code == 0) plan->plan.count(choice, seen.total_bytes);
  return code;
}

// Fills as much of a caller's structure as the caller knows.
template <class Struct>
int hand_out(Struct* to, const Struct& made) {
  if (to == nullptr) return fail(BW_NULL_POINTER, "the address of the result");
  const std::size_t bytes = std::min(to->struct_bytes, sizeof made);
  if (bytes > sizeof to->struct_bytes)
    std::memcpy(reinterpret_cast<char*>(to) + sizeof to->struct_bytes,
                reinterpret_cast<const char*>(&made) + sizeof made.struct_bytes,
                bytes - sizeof made.struct_bytes);
  return 0;
}

// A file that is open while the object lives.
class File {
 public:
  explicit File(const char* path) : number_(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~File() {
    if (number_ >= 0) close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// Returns 0, or why the file cannot be read. What is not a regular file might never end, or never begin.
int read_file(const char* path, std::string& text) {
  const File file(path);
  struct stat about{};
  if (file.number() < 0 || fstat(file.number(), &about) != 0)
    return fail(BW_PLAN_NOT_READ, path, ": ", std::strerror(errno));
  if (!S_ISREG(about.st_mode)) return fail(BW_PLAN_NOT_READ, path, ": it is no regular file");
  char part[16384];
  while (text.size() < kMostPlanBytes) {
    const ssize_t got = read(file.number(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(BW_PLAN_NOT_READ, path, ": ", std::strerror(errno));
    if (got == 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return 0;
}

int open_plan(Driver* found, const char* path, bw_plan** plan) {
  if (plan == nullptr) return fail(BW_NULL_POINTER, "the address of the plan");
  if (path == nullptr) return fail(BW_NULL_POINTER, "the path of the plan");
  std::string text, error;
  if (const int code = read_file(path, text)) return code;
  std::optional<PlanFile> read = parse_plan(text, error);
  if (!read) return fail(BW_PLAN_DAMAGED, path, ", ", error);
  if (found == nullptr) return no_driver();
  auto made = std::make_unique<bw_plan>(*found, *std::move(read));
  const int gpu = found->current_gpu();
  if (gpu >= 0)
    if (const int code = made->plan.prepare(gpu)) return fail(code);
  *plan = made.release();
  return 0;
}

constexpr const char* kMethods[] = {"default", "batch", "kernel", "bulk", "relay"};
static_assert(std::size(kMethods) == BW_METHODS);
constexpr const char* kFallbacks[] = {
    "",
    "BYTEWAYS_COPY=off",
    "the plan is of another machine or driver",
    "the plan was not prepared for the GPU of the stream",
    "the memory is pageable, managed, unknown to the driver, or of a GPU that the faster method may not "
    "reach",
    "these places, this size or this count were not measured",
    "no method has a measured lead over the driver's call",
    "the faster method cannot be captured into a graph",
    "what the faster method needs was in use",
    "the faster method is a relay over GPUs that were not allowed",
    "the faster method failed",
    "the stream is of a context that is not the primary one of its GPU",
    "the faster method needs addresses and sizes that are multiples of 16",
};
static_assert(std::size(kFallbacks) == BW_FALLBACKS);

}  // namespace
}  // namespace byteways::copy_library

using namespace byteways::copy_library;

extern "C" {

int bw_abi(void) { return BW_ABI; }

const char* bw_error_text(int code) {
  if (const char* own = text_of_own(code)) return own;
  try {
    const Driver* found = code > 0 ? driver() : nullptr;
    std::string& text = of_this_thread<Texts>().of_code;
    text = found != nullptr ? found->error_text(code) : "error " + std::to_string(code);
    return text.c_str();
  } catch (...) {
    return "unknown error";
  }
}

const char* bw_last_error(void) {
  try {
    return of_this_thread<Texts>().error.c_str();
  } catch (...) {
    return "";
  }
}

int bw_copy(void* dst, const void* src, size_t bytes, void* stream, bw_plan* plan) {
  return with_driver(
      [&](Driver* found) { return copy(found, {&dst, &src, nullptr, bytes, 1}, stream, plan); });
}

int bw_copy_blocks(void* const* dst, const void* const* src, const size_t* bytes, size_t n, void* stream,
                   bw_plan* plan) {
  return with_driver([&](Driver* found) {
    if (n != 0 && bytes == nullptr) return fail(BW_NULL_POINTER, "the array of sizes");
    return copy(found, {dst, src, bytes, 0, n}, stream, plan);
  });
}

int bw_copy_blocks_uniform(void* const* dst, const void* const* src, size_t block_bytes, size_t n,
                           void* stream, bw_plan* plan) {
  return with_driver(
      [&](Driver* found) { return copy(found, {dst, src, nullptr, block_bytes, n}, stream, plan); });
}

int bw_plan_open(const char* path, bw_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return preparing([&](Driver* found) { return open_plan(found, path, plan); });
}

int bw_plan_prepare(bw_plan* plan) {
  return preparing([&](Driver* found) {
    if (plan == nullptr) return fail(BW_NULL_POINTER, "the plan");
    if (found == nullptr) return no_driver();
    const int gpu = found->current_gpu();
    if (gpu < 0) return fail(BW_NO_CURRENT_GPU);
    const int code = plan->plan.prepare(gpu);
    return code == 0 ? 0 : fail(code);
  });
}

int bw_plan_allow_peers(bw_plan* plan, const int* gpus, size_t n) {
  return preparing([&](Driver* found) {
    if (plan == nullptr || (gpus == nullptr && n != 0)) return fail(BW_NULL_POINTER);
    if (found == nullptr) return no_driver();
    for (std::size_t k = 0; k < n; ++k)
      if (gpus[k] < 0 || gpus[k] >= found->gpus)
        return fail(BW_NO_SUCH_GPU, std::to_string(gpus[k]), " of ", std::to_string(found->gpus));
    return plan->plan.allow_peers({gpus, gpus + n});
  });
}

int bw_plan_limit_staging(bw_plan* plan, size_t bytes) {
  return guarded([&] {
    if (plan == nullptr) return fail(BW_NULL_POINTER, "the plan");
    plan->plan.limit_staging(bytes);
    return 0;
  });
}

const char* bw_plan_warning(const bw_plan* plan) {
  return plan == nullptr ? "" : plan->plan.warning().c_str();
}

void bw_plan_close(bw_plan* plan) {
  if (plan == nullptr) return;
  preparing([&](Driver*) {
    delete plan;
    return 0;
  });
}

const char* bw_method_name(int method) {
  return method >= 0 && method < BW_METHODS ? kMethods[method] : "unknown";
}

const char* bw_fallback_text(int fallback) {
  return fallback >= 0 && fallback < BW_FALLBACKS ? kFallbacks[fallback] : "unknown";
}

int bw_choose(void* const* dst, const void* const* src, size_t block_bytes, size_t n, void* stream,
              bw_plan* plan, struct bw_choice* choice) {
  return with_driver([&](Driver* found) {
    if (found == nullptr) return no_driver();
    if (n != 0 && (dst == nullptr || src == nullptr)) return fail(BW_NULL_POINTER, "the array of pointers");
    Request request{stream};
    Choice made;
    if (const int code = examine(*found, {dst, src, nullptr, block_bytes, n}, request, plan, made))
      return code;
    if (request.seen.largest == 0) made.fallback = BW_FALLBACK_NONE;
    return hand_out(choice,
                    bw_choice{sizeof(bw_choice), made.method, made.fallback, made.ns, made.default_ns});
  });
}

int bw_get_statistics(const bw_plan* plan, struct bw_statistics* statistics) {
  return guarded([&] {
    if (plan == nullptr) return fail(BW_NULL_POINTER, "the plan");
    bw_statistics made{};
    plan->plan.fill(made);
    return hand_out(statistics, made);
  });
}

}  // extern "C"
