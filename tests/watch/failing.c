/* Preloaded behind a collector: of the calls that the collector itself makes to the system, to the C library, to a
   driver and to MPI, the one with the number FAIL_AT fails and does nothing, in each process of the program. FAIL_MARK
   is the file that then names it. Built with
   -DWITHOUT_MALLOC for the collector that allocates in the program's place. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)
#define REAL(name) ((__typeof__(&name))next_of(#name))

typedef void* (*Find)(void*, const char*);

static Find real_dlsym;
static long fail_at;
static const char* mark;
static atomic_long calls;

__attribute__((constructor(102))) static void begin(void) {
  real_dlsym = (Find)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (real_dlsym == NULL) real_dlsym = (Find)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (real_dlsym == NULL) real_dlsym = (Find)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
  mark = getenv("FAIL_MARK");
  fail_at = getenv("FAIL_AT") == NULL ? 0 : atol(getenv("FAIL_AT"));
}

/* Constructors of other libraries may call before this one's has run. */
static void* next_of(const char* name) {
  if (real_dlsym == NULL) begin();
  return real_dlsym(RTLD_NEXT, name);
}

static int is_collector(const void* caller) {
  Dl_info found;
  return dladdr(caller, &found) != 0 && found.dli_fname != NULL &&
         strstr(found.dli_fname, "byteways_watch") != NULL;
}

/* Whether this call fails. */
static int fails(const char* name, const void* caller, int error) {
  if (fail_at == 0 || mark == NULL) return 0;
  const int before = errno;
  const int is_it = is_collector(caller) && ++calls == fail_at;
  if (is_it) {
    const int file = (int)syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    char line[96];
    snprintf(line, sizeof line, "%s\n", name);
    const long written = syscall(SYS_write, file, line, strlen(line));
    (void)written;
    syscall(SYS_close, file);
  }
  errno = is_it ? error : before;
  return is_it;
}

/* One in three waits is interrupted. They have no number, because each run waits another number of times. Nothing
   interrupts a call that wakes others. */
static int is_interrupted(long act, const void* caller) {
  static atomic_long waits;
  if (fail_at == 0 || act != FUTEX_WAIT_PRIVATE || !is_collector(caller) || ++waits % 3 != 0) return 0;
  errno = EINTR;
  return 1;
}

#define FAILING(result, name, parameters, arguments, value, error) \
  result name parameters {                                         \
    if (fails(#name, CALLER, error)) return value;                 \
    return REAL(name) arguments;                                   \
  }

FAILING(ssize_t, read, (int file, void* to, size_t bytes), (file, to, bytes), -1, EIO)
FAILING(ssize_t, write, (int file, const void* from, size_t bytes), (file, from, bytes), -1, ENOSPC)
FAILING(int, close, (int file), (file), (REAL(close)(file), -1), EIO)
FAILING(int, rename, (const char* from, const char* to), (from, to), -1, EACCES)
FAILING(int, unlink, (const char* path), (path), -1, EACCES)
FAILING(ssize_t, readlink, (const char* path, char* to, size_t room), (path, to, room), -1, ENOENT)
FAILING(int, gethostname, (char* name, size_t room), (name, room), -1, ENAMETOOLONG)
FAILING(int, pthread_attr_init, (pthread_attr_t * how), (how), (REAL(pthread_attr_init)(how), ENOMEM), 0)
FAILING(int, pthread_attr_setstacksize, (pthread_attr_t * how, size_t bytes), (how, bytes), EINVAL, 0)
FAILING(int, pthread_create, (pthread_t * thread, const pthread_attr_t* how, void* (*work)(void*), void* data),
        (thread, how, work, data), EAGAIN, 0)
FAILING(void*, mmap, (void* at, size_t bytes, int rights, int flags, int file, off_t offset),
        (at, bytes, rights, flags, file, offset), MAP_FAILED, ENOMEM)
FAILING(int, munmap, (void* at, size_t bytes), (at, bytes), -1, ENOMEM)
FAILING(int, madvise, (void* at, size_t bytes, int advice), (at, bytes, advice), -1, EINVAL)
FAILING(void*, dlopen, (const char* name, int flags), (name, flags), NULL, 0)

int open(const char* path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return fails("open", CALLER, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

int fcntl(int file, int command, ...) {
  va_list list;
  va_start(list, command);
  const long value = va_arg(list, long);
  va_end(list);
  return fails("fcntl", CALLER, EMFILE) ? -1 : REAL(fcntl)(file, command, value);
}

/* What is newer than the kernel is missing; a thread's own number is always known. */
long syscall(long number, ...) {
  long words[6];
  va_list list;
  va_start(list, number);
  for (int at = 0; at < 6; ++at) words[at] = va_arg(list, long);
  va_end(list);
  if (number == SYS_futex && is_interrupted(words[1], CALLER)) return -1;
  if (number == 436 && fails("close_range", CALLER, ENOSYS)) return -1;
  return REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

#ifndef WITHOUT_MALLOC
void* __libc_malloc(size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void* malloc(size_t bytes) { return fails("malloc", CALLER, ENOMEM) ? NULL : __libc_malloc(bytes); }
void* realloc(void* old, size_t bytes) {
  return fails("realloc", CALLER, ENOMEM) ? NULL : __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails("aligned_alloc", CALLER, ENOMEM) ? NULL : __libc_memalign(alignment, bytes);
}
#endif

/* Functions of drivers, and those by which a collector asks MPI, which all return an error: each that a collector looks
   up gets a place, which counts its calls. None has more than eight words. */
typedef int (*Driver)(long, long, long, long, long, long, long, long);
enum { kPlaces = 32 };
static struct {
  Driver real;
  char name[64];
} places[kPlaces];
static atomic_int taken;

#define PLACE(at)                                                                                  \
  static int place_##at(long a, long b, long c, long d, long e, long f, long g, long h) {          \
    return fails(places[at].name, CALLER, 0) ? 1 : places[at].real(a, b, c, d, e, f, g, h);        \
  }
#define EIGHT(act, ten) act(ten##0) act(ten##1) act(ten##2) act(ten##3) act(ten##4) act(ten##5) act(ten##6) act(ten##7)
EIGHT(PLACE, 00) EIGHT(PLACE, 01) EIGHT(PLACE, 02) EIGHT(PLACE, 03)
#define NAME(at) place_##at,
static const Driver entries[kPlaces] = {EIGHT(NAME, 00) EIGHT(NAME, 01) EIGHT(NAME, 02) EIGHT(NAME, 03)};

/* MPI's other functions are looked up to pass on what the program calls. */
static int is_question(const char* name) {
  static const char kQuestions[] =
      " Initialized Finalized Comm_rank Comm_size Comm_test_inter Comm_group Comm_remote_size Comm_remote_group Group_size "
      "Group_rank Group_translate_ranks Group_free Topo_test Cartdim_get Graph_neighbors_count Dist_graph_neighbors_count "
      "Win_get_group Type_size Type_size_x Get_count Get_elements_x Test_cancelled ";
  char word[64];
  if (strncmp(name, "PMPI_", 5) != 0) return 0;
  snprintf(word, sizeof word, " %s ", name + 5);
  return strstr(kQuestions, word) != NULL;
}

static int is_driver(const char* name) {
  static const char* const kBeginnings[] = {"cu", "hip", "rocprofiler_"};
  for (size_t at = 0; at < sizeof kBeginnings / sizeof *kBeginnings; ++at)
    if (strncmp(name, kBeginnings[at], strlen(kBeginnings[at])) == 0) return 1;
  return 0;
}

void* dlsym(void* library, const char* name) {
  if (real_dlsym == NULL) begin();
  void* const found = real_dlsym(library, name);
  const int counts = is_question(name) || (is_driver(name) && library != RTLD_NEXT);
  if (found == NULL || !counts || !is_collector(CALLER)) return found;
  char looked_up[80];
  snprintf(looked_up, sizeof looked_up, "dlsym %s", name);
  if (fails(looked_up, CALLER, 0)) return NULL;
  for (int at = 0; at < taken; ++at)
    if (places[at].real == (Driver)found) return (void*)entries[at];
  const int at = taken++;
  if (at >= kPlaces) abort();
  places[at].real = (Driver)found;
  snprintf(places[at].name, sizeof places[at].name, "%s", name);
  return (void*)entries[at];
}
