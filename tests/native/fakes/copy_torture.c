/* Lets every allocation, system call and call of the driver that libbyteways_copy makes fail once, in turn,
 * at each of its entry points, and checks what the program is left with.
 *
 *     copy_torture VENDOR METHOD PLAN      METHOD leads in the plan; prints the points that were tried, as
 * JSON copy_torture VENDOR first PLAN       the same for the first call of a process
 *
 * The library is told from the rest of the process by the addresses that call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "byteways_copy.h"

enum kind { ALLOCATION, SYSTEM, DRIVER, KINDS };
static const char* const kKinds[KINDS] = {"allocation", "system", "driver"};
enum { INJECTED = 719, SIZE = 128 << 10, BLOCK = 4096, BLOCKS = 8 };

/* --- faults */

static _Atomic long countdown[KINDS]; /* of the call that fails; 0: none */
static _Atomic int fired;
static _Atomic long live; /* allocations that the library has made and not freed */

static int fails(enum kind kind) {
  if (countdown[kind] == 0 || --countdown[kind] != 0) return 0;
  fired = 1;
  return 1;
}

#define BY_LIBRARY by_library((uintptr_t)__builtin_return_address(0))
static uintptr_t library_begin, library_end;
static int by_library(uintptr_t caller) { return caller >= library_begin && caller < library_end; }
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t);
extern void __libc_free(void*);
#define real_malloc __libc_malloc
#define real_calloc __libc_calloc
#define real_realloc __libc_realloc

/* What the library has allocated, by address; 1: an entry that was given back. */
enum { ENTRIES = 1 << 16 };
static void* entries[ENTRIES];
static pthread_mutex_t entries_mutex = PTHREAD_MUTEX_INITIALIZER;
static size_t entry_of(const void* data) { return ((uintptr_t)data >> 4) * 0x9E3779B1u % ENTRIES; }
static void* noted(void* data) {
  if (data == NULL) return NULL;
  pthread_mutex_lock(&entries_mutex);
  size_t k = entry_of(data);
  while (entries[k] != NULL && entries[k] != (void*)1) k = (k + 1) % ENTRIES;
  entries[k] = data;
  ++live;
  pthread_mutex_unlock(&entries_mutex);
  return data;
}
static void forgotten(void* data) {
  if (data == NULL || library_begin == 0) return;
  pthread_mutex_lock(&entries_mutex);
  for (size_t k = entry_of(data); entries[k] != NULL; k = (k + 1) % ENTRIES)
    if (entries[k] == data) {
      entries[k] = (void*)1;
      --live;
      break;
    }
  pthread_mutex_unlock(&entries_mutex);
}
void free(void* data) {
  forgotten(data);
  __libc_free(data);
}
/* Resolved before the library runs. */
static int (*real_open)(const char*, int, ...);
static ssize_t (*real_read)(int, void*, size_t);
static int (*real_fstat)(int, struct stat*);
static void* (*real_dlopen)(const char*, int);
static int (*real_pthread_setspecific)(pthread_key_t, const void*);
static void* real_dlsym(void* handle, const char* name) {
  static void* (*found)(void*, const char*);
  if (found == NULL) *(void**)&found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (found == NULL) *(void**)&found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  return found(handle, name);
}

void* malloc(size_t bytes) {
  if (!BY_LIBRARY) return real_malloc(bytes);
  return fails(ALLOCATION) ? NULL : noted(real_malloc(bytes));
}
void* calloc(size_t count, size_t bytes) {
  if (!BY_LIBRARY) return real_calloc(count, bytes);
  return fails(ALLOCATION) ? NULL : noted(real_calloc(count, bytes));
}
void* realloc(void* data, size_t bytes) {
  if (!BY_LIBRARY) return real_realloc(data, bytes);
  return fails(ALLOCATION) ? NULL : real_realloc(data, bytes);
}
int pthread_setspecific(pthread_key_t key, const void* value) {
  if (BY_LIBRARY && fails(ALLOCATION)) return ENOMEM;
  return real_pthread_setspecific(key, value);
}
static int failed(int code) {
  errno = code;
  return -1;
}
int open(const char* path, int flags, ...) {
  if (BY_LIBRARY && fails(SYSTEM)) return failed(EMFILE);
  va_list more;
  va_start(more, flags);
  const int mode = flags & O_CREAT ? va_arg(more, int) : 0;
  va_end(more);
  return real_open(path, flags, mode);
}
ssize_t read(int file, void* to, size_t bytes) {
  if (BY_LIBRARY && fails(SYSTEM)) return failed(EIO);
  return real_read(file, to, bytes);
}
int fstat(int file, struct stat* about) {
  if (BY_LIBRARY && fails(SYSTEM)) return failed(EOVERFLOW);
  return real_fstat(file, about);
}
void* dlopen(const char* name, int flags) {
  if (BY_LIBRARY && fails(SYSTEM)) return NULL;
  return real_dlopen(name, flags);
}
void* dlsym(void* handle, const char* name) {
  if (BY_LIBRARY && fails(SYSTEM)) return NULL;
  return real_dlsym(handle, name);
}

static int find_library(struct dl_phdr_info* info, size_t bytes, void* data) {
  (void)bytes, (void)data;
  if (strstr(info->dlpi_name, "libbyteways_copy") == NULL) return 0;
  uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int k = 0; k < info->dlpi_phnum; ++k) {
    if (info->dlpi_phdr[k].p_type != PT_LOAD) continue;
    const uintptr_t at = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr;
    if (at < begin) begin = at;
    if (at + info->dlpi_phdr[k].p_memsz > end) end = at + info->dlpi_phdr[k].p_memsz;
  }
  library_begin = begin;
  library_end = end;
  return 1;
}
static void resolve(void) {
  *(void**)&real_open = real_dlsym(RTLD_NEXT, "open");
  *(void**)&real_read = real_dlsym(RTLD_NEXT, "read");
  *(void**)&real_fstat = real_dlsym(RTLD_NEXT, "fstat");
  *(void**)&real_dlopen = real_dlsym(RTLD_NEXT, "dlopen");
  *(void**)&real_pthread_setspecific = real_dlsym(RTLD_NEXT, "pthread_setspecific");
  dl_iterate_phdr(find_library, NULL);
}

/* --- the driver and the program */

static int cuda;
static void *simulator, *front;
static void (*fail_call)(uint64_t, int);
static uint64_t (*calls)(void);
static unsigned long long* failed_frees;

static void* symbol(const char* name) {
  void* found = real_dlsym(simulator, name);
  if (found == NULL) fprintf(stderr, "no %s\n", name), exit(3);
  return found;
}
#define CALL(cuda_name, hip_name, types, ...)                    \
  do {                                                           \
    int(*call) types;                                            \
    *(void**)&call = symbol(cuda ? cuda_name : hip_name);        \
    const int code = call(__VA_ARGS__);                          \
    if (code) fprintf(stderr, cuda_name " %d\n", code), exit(3); \
  } while (0)

static void gpu(int number) {
  if (!cuda) {
    CALL("", "hipSetDevice", (int), number);
    return;
  }
  void* context;
  CALL("cuInit", "", (unsigned), 0u);
  CALL("cuDevicePrimaryCtxRetain", "", (void**, int), &context, number);
  CALL("cuCtxSetCurrent", "", (void*), context);
}
static void no_gpu(void) {
  if (cuda) CALL("cuCtxSetCurrent", "", (void*), NULL);
}
static int current_gpu(void) {
  int number = -1;
  if (!cuda) {
    CALL("", "hipGetDevice", (int*), &number);
    return number;
  }
  void* context = NULL;
  CALL("cuCtxGetCurrent", "", (void**), &context);
  if (context != NULL) CALL("cuCtxGetDevice", "", (int*), &number);
  return number;
}
static size_t free_bytes(void) {
  size_t sum = 0;
  const int before = current_gpu();
  for (int number = 0; number < 2; ++number) {
    size_t available, all;
    gpu(number);
    CALL("cuMemGetInfo_v2", "hipMemGetInfo", (size_t*, size_t*), &available, &all);
    sum += available;
  }
  before < 0 ? no_gpu() : gpu(before);
  return sum;
}

static const char *plan_path, *method_name;
static int method;
static unsigned char *source, *target;
static void* stream;

static void prepare_program(void) {
  gpu(0);
  CALL("cuStreamCreate", "hipStreamCreateWithFlags", (void**, unsigned), &stream, 1u);
  CALL("cuMemHostAlloc", "hipHostMalloc", (void**, size_t, unsigned), (void**)&source, SIZE, 3u);
  CALL("cuMemAlloc_v2", "hipMalloc", (void**, size_t), (void**)&target, SIZE);
  for (size_t k = 0; k < SIZE; ++k) source[k] = (unsigned char)(k * 131 + (k >> 8) * 29 + 7);
}
static void synchronize(void) { CALL("cuStreamSynchronize", "hipStreamSynchronize", (void*), stream); }

/* --- what is copied: the kinds of calls */

enum call { ONE, LIST, UNIFORM, CALLS };
static size_t bytes_of(enum call call) {
  return call == ONE ? (method == BW_METHOD_RELAY ? SIZE : BLOCK) : BLOCKS * BLOCK;
}
static int copy(enum call call, bw_plan* plan) {
  void* to[BLOCKS + 2];
  const void* from[BLOCKS + 2];
  size_t sizes[BLOCKS + 2], n = 0;
  if (call == ONE) return bw_copy(target, source, bytes_of(ONE), stream, plan);
  for (size_t k = 0; k < BLOCKS; ++k) {
    if (call == LIST && (k == 0 || k == 4)) to[n] = NULL, from[n] = NULL, sizes[n++] = 0;
    to[n] = target + BLOCK * k, from[n] = source + BLOCK * k, sizes[n++] = BLOCK;
  }
  return call == LIST ? bw_copy_blocks(to, from, sizes, n, stream, plan)
                      : bw_copy_blocks_uniform(to, from, BLOCK, n, stream, plan);
}
static void clear(void) { memset(target, 0, SIZE); }
static int is_right(enum call call) {
  const size_t bytes = bytes_of(call);
  if (memcmp(target, source, bytes) != 0) return 0;
  for (size_t k = bytes; k < SIZE; ++k)
    if (target[k] != 0) return 0;
  return 1;
}
static int is_clear(void) {
  for (size_t k = 0; k < SIZE; ++k)
    if (target[k] != 0) return 0;
  return 1;
}

/* --- steps */

static char step[200] = "start";
static long tried[16][KINDS];
static void on_signal(int number) {
  char text[300];
  const int length = snprintf(text, sizeof text, "signal %d at %s\n", number, step);
  if (write(2, text, (size_t)length) < 0) _exit(4);
  _exit(4);
}
static void check(int right, const char* what, int code) {
  if (right) return;
  fprintf(stderr, "%s: %s (code %d, %s)\n", step, what, code, bw_last_error());
  exit(5);
}
static void arm(enum kind kind, long number) {
  fired = 0;
  if (kind == DRIVER)
    fail_call((uint64_t)number, INJECTED);
  else
    countdown[kind] = number;
}
/* Whether the call that was to fail was made. */
static int disarm(enum kind kind, long number) {
  if (kind == DRIVER) {
    const int made = calls() >= (uint64_t)number;
    fail_call(0, 0);
    return made;
  }
  countdown[kind] = 0;
  return fired;
}
static int is_told(enum kind kind, int code) {
  return kind == ALLOCATION ? code == BW_OUT_OF_MEMORY : kind == DRIVER ? code == INJECTED : 0;
}

static void read_statistics(bw_plan* plan, struct bw_statistics* to) {
  to->struct_bytes = sizeof *to;
  check(bw_get_statistics(plan, to) == 0, "statistics", 0);
}
static uint64_t all_calls(const struct bw_statistics* of) {
  uint64_t sum = 0;
  for (int k = 0; k < BW_METHODS; ++k) sum += of->calls[k];
  return sum;
}
static uint64_t all_bytes(const struct bw_statistics* of) {
  uint64_t sum = 0;
  for (int k = 0; k < BW_METHODS; ++k) sum += of->bytes[k];
  return sum;
}

/* A plan that is whole: a copy is by its method. */
static bw_plan* open_whole(void) {
  bw_plan* plan = NULL;
  const int code = bw_plan_open(plan_path, &plan);
  check(code == 0 && plan != NULL, "a plan does not open afterwards", code);
  const int peer = 1;
  if (method == BW_METHOD_RELAY) check(bw_plan_allow_peers(plan, &peer, 1) == 0, "a peer is not allowed", 0);
  check(bw_plan_warning(plan)[0] == '\0', bw_plan_warning(plan), 0);
  return plan;
}
/* A copy without a fault: right bytes, and by the method where it must be. */
static void copy_whole(bw_plan* plan, enum call call, int by_method) {
  struct bw_statistics before, after;
  read_statistics(plan, &before);
  clear();
  const int code = copy(call, plan);
  synchronize();
  check(code == 0 && is_right(call), "the next copy is not right", code);
  read_statistics(plan, &after);
  check(all_calls(&after) == all_calls(&before) + 1, "the next copy is not counted", code);
  if (by_method)
    check(after.calls[method] == before.calls[method] + 1, "the next copy is not by the method", code);
}
static enum call usual_call(void) { return method == BW_METHOD_RELAY ? ONE : LIST; }

/* What the library holds between two steps: its allocations, and the memory of GPUs. */
struct held {
  long allocations;
  size_t gpu_bytes;
  unsigned long long failed_frees;
};
static struct held held_now(void) { return (struct held){live, free_bytes(), *failed_frees}; }
static void check_nothing_left(struct held before) {
  const struct held now = held_now();
  check(now.allocations == before.allocations, "host memory is left",
        (int)(now.allocations - before.allocations));
  if (now.failed_frees == before.failed_frees)
    check(now.gpu_bytes == before.gpu_bytes, "memory of a GPU is left",
          (int)(before.gpu_bytes - now.gpu_bytes));
}

/* --- entry points: each makes one call with a fault, and then uses the plan */

static int torture_open(enum kind kind, long number) {
  bw_plan* plan = (bw_plan*)1;
  arm(kind, number);
  const int code = bw_plan_open(plan_path, &plan);
  const int made = disarm(kind, number);
  check(code == 0 || is_told(kind, code) || (kind == SYSTEM && code == BW_PLAN_NOT_READ), "the code of open",
        code);
  check((code == 0) == (plan != NULL), "a plan after a failure", code);
  check(current_gpu() == 0, "another GPU is current", code);
  if (plan != NULL) copy_whole(plan, usual_call(), 0);
  bw_plan_close(plan);
  return made;
}
static int torture_prepare(enum kind kind, long number) {
  bw_plan* plan = NULL;
  no_gpu();
  check(bw_plan_open(plan_path, &plan) == 0, "a plan does not open without a GPU", 0);
  gpu(0);
  arm(kind, number);
  const int code = bw_plan_prepare(plan);
  const int made = disarm(kind, number);
  /* The driver may fail to say which GPU is current. */
  check(code == 0 || is_told(kind, code) || (kind == DRIVER && code == BW_NO_CURRENT_GPU),
        "the code of prepare", code);
  check(current_gpu() == 0, "another GPU is current", code);
  copy_whole(plan, usual_call(), 0);
  check(bw_plan_prepare(plan) == 0, "prepare afterwards", 0);
  copy_whole(plan, usual_call(), 0);
  bw_plan_close(plan);
  return made;
}
static int torture_allow(enum kind kind, long number) {
  bw_plan* plan = NULL;
  check(bw_plan_open(plan_path, &plan) == 0, "open", 0);
  const int peer = 1;
  arm(kind, number);
  const int code = bw_plan_allow_peers(plan, &peer, 1);
  const int made = disarm(kind, number);
  check(code == 0 || is_told(kind, code), "the code of allow_peers", code);
  check(current_gpu() == 0, "another GPU is current", code);
  struct bw_statistics now;
  read_statistics(plan, &now);
  check(code == 0 || now.staging_bytes == 0, "staging memory after a failure", code);
  copy_whole(plan, usual_call(), 0);
  check(bw_plan_allow_peers(plan, &peer, 1) == 0, "allow_peers afterwards", 0);
  copy_whole(plan, usual_call(), 1);
  bw_plan_close(plan);
  return made;
}
static int torture_copy_of(enum call call, enum kind kind, long number) {
  bw_plan* plan = open_whole();
  struct bw_statistics before, after;
  const int by_method = method != BW_METHOD_RELAY || call == ONE;
  copy_whole(plan, call, by_method);
  read_statistics(plan, &before);
  clear();
  arm(kind, number);
  const int code = copy(call, plan);
  const int made = disarm(kind, number);
  synchronize();
  read_statistics(plan, &after);
  check(code == 0 || is_told(kind, code), "the code of a copy", code);
  check(code != 0 || is_right(call), "a copy that returned 0", code);
  check(code != BW_OUT_OF_MEMORY || is_clear(), "a copy without memory has copied", code);
  check(all_calls(&after) == all_calls(&before) + (code == 0), "calls that were counted", code);
  check(all_bytes(&after) == all_bytes(&before) + (code == 0 ? bytes_of(call) : 0), "bytes that were counted",
        code);
  check(current_gpu() == 0, "another GPU is current", code);
  check(code == 0 || bw_last_error()[0] != '\0' || kind == ALLOCATION, "no text of a failure", code);
  copy_whole(plan, call, by_method && method != BW_METHOD_RELAY);
  bw_plan_close(plan);
  return made;
}
struct in_thread {
  enum kind kind;
  long number;
  bw_plan* plan;
  int code, made;
};
static void* copy_in_thread(void* data) {
  struct in_thread* in = data;
  gpu(0);
  arm(in->kind, in->number);
  in->code = copy(usual_call(), in->plan);
  in->made = disarm(in->kind, in->number);
  return NULL;
}
/* The first call of a thread, which has nothing of its own yet. */
static int torture_thread(enum kind kind, long number) {
  struct in_thread in = {kind, number, open_whole(), 0, 0};
  pthread_t thread;
  clear();
  if (pthread_create(&thread, NULL, copy_in_thread, &in) != 0) exit(3);
  pthread_join(thread, NULL);
  synchronize();
  check(in.code == 0 || is_told(kind, in.code), "the code of a copy", in.code);
  check(in.code != 0 || is_right(usual_call()), "a copy that returned 0", in.code);
  copy_whole(in.plan, usual_call(), method != BW_METHOD_RELAY);
  bw_plan_close(in.plan);
  return in.made;
}
static int torture_one(enum kind kind, long number) { return torture_copy_of(ONE, kind, number); }
static int torture_list(enum kind kind, long number) { return torture_copy_of(LIST, kind, number); }
static int torture_uniform(enum kind kind, long number) { return torture_copy_of(UNIFORM, kind, number); }
static int torture_choose(enum kind kind, long number) {
  bw_plan* plan = open_whole();
  void* to = target;
  const void* from = source;
  struct bw_choice choice = {sizeof choice, 0, 0, 0, 0};
  struct bw_statistics now;
  arm(kind, number);
  const int code = bw_choose(&to, &from, BLOCK, 1, stream, plan, &choice);
  const int made = disarm(kind, number);
  check(code == 0 || is_told(kind, code), "the code of choose", code);
  read_statistics(plan, &now);
  check(all_calls(&now) == 0, "a choice is counted", code);
  copy_whole(plan, usual_call(), 1);
  bw_plan_close(plan);
  return made;
}
/* Calls that only look: they need nothing, and so nothing of them fails. */
static int torture_look(enum kind kind, long number) {
  bw_plan* plan = open_whole();
  struct bw_statistics now;
  now.struct_bytes = sizeof now;
  arm(kind, number);
  const int code = bw_get_statistics(plan, &now) | bw_plan_limit_staging(plan, 1 << 20);
  const int texts = bw_plan_warning(plan) != NULL && bw_error_text(INJECTED)[0] != '\0' &&
                    bw_last_error() != NULL && bw_method_name(method)[0] != '\0' &&
                    bw_fallback_text(1)[0] != '\0';
  const int made = disarm(kind, number);
  check(code == 0 && texts, "what only looks", code);
  bw_plan_close(plan);
  return made;
}
static int torture_close(enum kind kind, long number) {
  bw_plan* plan = open_whole();
  copy_whole(plan, usual_call(), 1);
  arm(kind, number);
  bw_plan_close(plan);
  const int made = disarm(kind, number);
  check(current_gpu() == 0, "another GPU is current", 0);
  bw_plan_close(open_whole());
  return made;
}

static const struct {
  const char* name;
  int (*run)(enum kind, long);
} kEntries[] = {{"open", torture_open},
                {"prepare", torture_prepare},
                {"allow_peers", torture_allow},
                {"copy", torture_one},
                {"copy_blocks", torture_list},
                {"copy_blocks_uniform", torture_uniform},
                {"first of a thread", torture_thread},
                {"choose", torture_choose},
                {"look", torture_look},
                {"close", torture_close}};
enum { ENTRY_POINTS = sizeof kEntries / sizeof *kEntries };

static void print_tried(int entries, const char* const* names) {
  printf("{");
  for (int k = 0; k < entries; ++k) {
    printf("%s\"%s\": {", k ? ", " : "", names[k]);
    for (int kind = 0; kind < KINDS; ++kind)
      printf("%s\"%s\": %ld", kind ? ", " : "", kKinds[kind], tried[k][kind]);
    printf("}");
  }
  printf("}\n");
}

static void torture_all(void) {
  const char* names[ENTRY_POINTS];
  prepare_program();
  bw_plan_close(open_whole());
  /* Texts of this thread get their room. */
  bw_plan* none = NULL;
  check(bw_plan_open("/nosuch/file/of/a/plan/with/quite/a/long/name", &none) == BW_PLAN_NOT_READ, "no plan",
        0);
  bw_error_text(INJECTED);
  for (int entry = 0; entry < ENTRY_POINTS; ++entry) {
    names[entry] = kEntries[entry].name;
    for (int kind = 0; kind < KINDS; ++kind) {
      kEntries[entry].run((enum kind)kind, 1 << 30); /* lists of this thread grow once */
      for (long number = 1;; ++number) {
        snprintf(step, sizeof step, "%s, %s %ld", names[entry], kKinds[kind], number);
        const struct held before = held_now();
        if (!kEntries[entry].run((enum kind)kind, number)) break;
        if (kind != DRIVER || entry != ENTRY_POINTS - 1) check_nothing_left(before);
        ++tried[entry][kind];
      }
    }
  }
  print_tried(ENTRY_POINTS, names);
}

/* The first call of a process finds and opens the driver: each point in a process of its own. */
static void torture_first(void) {
  static const char* const names[] = {"first call"};
  for (int kind = 0; kind < KINDS; ++kind)
    for (long number = 1;; ++number) {
      snprintf(step, sizeof step, "first call, %s %ld", kKinds[kind], number);
      fflush(NULL);
      const pid_t child = fork();
      if (child == 0) {
        prepare_program();
        bw_plan* plan = (bw_plan*)1;
        arm((enum kind)kind, number);
        const int code = bw_plan_open(plan_path, &plan);
        if (!disarm((enum kind)kind, number)) _exit(1);
        const int known = code == 0 || is_told((enum kind)kind, code) || code == BW_NO_DRIVER ||
                          (kind == SYSTEM && code == BW_PLAN_NOT_READ);
        check(known && (code == 0) == (plan != NULL), "the code of the first open", code);
        bw_plan* next = NULL;
        const int again = bw_plan_open(plan_path, &next);
        check(again == 0, "the second open", again);
        copy_whole(next, LIST, 0);
        bw_plan_close(next);
        bw_plan_close(plan);
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 1) break;
      if (status != 0) fprintf(stderr, "%s: status %d\n", step, status), exit(6);
      ++tried[0][kind];
    }
  print_tried(1, names);
}

int main(int count, char** words) {
  if (count != 4) return 2;
  resolve();
  static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
  for (size_t k = 0; k < sizeof signals / sizeof *signals; ++k) signal(signals[k], on_signal);
  cuda = strcmp(words[1], "cuda") == 0;
  method_name = words[2];
  plan_path = words[3];
  while (method < BW_METHODS && strcmp(bw_method_name(method), method_name) != 0) ++method;
  simulator = real_dlopen(getenv("COUNTED_DRIVER"), RTLD_NOW | RTLD_GLOBAL);
  front = real_dlopen(getenv(cuda ? "BYTEWAYS_LIBCUDA" : "BYTEWAYS_LIBHIP"), RTLD_NOW);
  if (simulator == NULL || front == NULL) return 3;
  *(void**)&fail_call = symbol("bwsim_fail_call");
  *(void**)&calls = symbol("bwsim_calls");
  failed_frees = real_dlsym(front, "failed_frees");
  strcmp(method_name, "first") == 0 ? torture_first() : torture_all();
  return 0;
}
