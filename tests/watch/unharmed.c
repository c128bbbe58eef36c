// A program that copies and then does, word by word, what a library inside it could spoil. It ends with 7 if
// all is as it is without.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;
enum { kLarge = 1 << 20 };
static char from[kLarge], to[kLarge];
static void* (*volatile move)(void*, const void*, size_t) = memcpy;

static void copy(void) { move(to, from, kLarge); }

static int is(const char* word, const char* other) { return strcmp(word, other) == 0; }

static void expect(int good, const char* what) {
  if (good) return;
  printf("WRONG %s (%s)\n", what, strerror(errno));
  exit(1);
}

static int status_of(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void wait_for(const char* path) {
  while (access(path, F_OK) != 0) usleep(1000);
}

// While a snapshot hangs: children of fork() that copy, and end by each way.
static void forks(void) {
  char reached[4096];
  const char* const opened = getenv("SLOW_DISK");
  if (opened != NULL) {
    snprintf(reached, sizeof reached, "%s.reached", opened);
    wait_for(reached);
  }
  for (int at = 0; at < 20; ++at) {
    const pid_t child = fork();
    if (child == 0) {
      char text[4];
      snprintf(text, sizeof text, "%d", at);
      if (at % 2) _exit(at);
      execl("/bin/sh", "sh", "-c", "exit $0", text, NULL);
    }
    expect(status_of(child) == at, "fork");
  }
  if (opened != NULL) close(open(opened, O_WRONLY | O_CREAT, 0666));
}

static void leave(int number) { _exit(number == SIGALRM ? 7 : 1); }

static void* churn(void* data) {
  unsigned seed = 1;
  for (int at = 0;; ++at, seed = seed * 1103515245 + 12345) {
    // Behind some copies: the program may be slow to start.
    if (data != NULL && at == 10) setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 20000}}, NULL);
    char* const one = malloc(100000 + seed % 200000);
    char* const other = malloc(70000 + seed % 3000);
    move(one, other, 70000);
    void* const library = dlopen("libm.so.6", RTLD_NOW);
    if (library != NULL) dlclose(library);
    free(one), free(other);
  }
  return data;
}

// A handler ends the process in the middle of malloc, dlopen or a copy.
static void handler(void) {
  pthread_t thread;
  signal(SIGALRM, leave);
  pthread_create(&thread, NULL, churn, NULL);
  churn(&thread);
}

static void separate(void) {
  copy();
  expect(unshare(CLONE_NEWUSER) == 0, "unshare");
  copy();
  const int file = open("/proc/self/ns/uts", O_RDONLY);
  expect(setns(file, 0) == -1 && errno == EPERM, "errno of setns");  // as of this user's own
  close(file);
  copy();
}

// What a program gets is the lowest descriptor that is free, whatever is written meanwhile.
static void descriptors(void) {
  copy();
  for (int at = 0; at < 400; ++at) {
    close(0);
    expect(open("/dev/null", O_RDONLY) == 0, "descriptor 0");
    copy();
    usleep(1000);
  }
  for (int at = 3; at < 1024; ++at) close(at);
  copy();
}

static void executions(const char* own) {
  copy();
  errno = 0;
  expect(execl("/no/such", "such", NULL) == -1 && errno == ENOENT, "errno of execl");
  expect(execve("/no/such", (char*[]){"such", NULL}, environ) == -1 && errno == ENOENT, "errno of execve");
  expect(execvp("no-such", (char*[]){"such", NULL}) == -1 && errno == ENOENT, "errno of execvp");
  copy();
  execle(own, own, "replaced", "with words", NULL, (char*[]){"ONLY=this", NULL});
}

static void children(void) {
  copy();
  pid_t child;
  expect(system("exit 3") >> 8 == 3, "system");
  expect(posix_spawn(&child, "/bin/sh", NULL, NULL, (char*[]){"sh", "-c", "exit 5", NULL}, environ) == 0 &&
             status_of(child) == 5,
         "posix_spawn");
  if ((child = vfork()) == 0) execl("/bin/sh", "sh", "-c", "exit 6", NULL), _exit(1);
  expect(status_of(child) == 6, "vfork");
  if ((child = vfork()) == 0) execl("/no/such", "such", NULL), _exit(4);
  expect(status_of(child) == 4, "vfork of nothing");
  copy();
  int ends[2];
  expect(pipe(ends) == 0, "pipe");
  if ((child = fork()) == 0) {
    copy();
    if (daemon(1, 1) == 0) copy(), expect(write(ends[1], "x", 1) == 1, "write");
    _exit(0);
  }
  char letter;
  close(ends[1]);
  expect(status_of(child) == 0 && read(ends[0], &letter, 1) == 1 && letter == 'x', "daemon");
  expect(read(ends[0], &letter, 1) == 0, "end of the daemon");
}

static volatile int may_copy, has_copied;

static void* cancelled(void* data) {
  while (!may_copy) continue;
  copy();
  has_copied = 1;
  pthread_testcancel();
  return data;
}

// A thread that is to be cancelled is so at its own cancellation point, not within its first copy.
static void cancel(void) {
  pthread_t thread;
  void* end = NULL;
  pthread_create(&thread, NULL, cancelled, NULL);
  pthread_cancel(thread);
  may_copy = 1;
  pthread_join(thread, &end);
  expect(end == PTHREAD_CANCELED && has_copied, "cancellation");
}

int main(int count, char** words) {
  const char* const word = count > 1 ? words[1] : "";
  if (is(word, "replaced")) {
    copy();
    return is(words[2], "with words") && is(environ[0], "ONLY=this") && environ[1] == NULL ? 7 : 1;
  }
  if (is(word, "load")) {
    copy();
    expect(dlopen("/no/such.so", RTLD_NOW) == NULL, "dlopen");
    copy();
    const char* const text = dlerror();
    expect(text != NULL && strstr(text, "/no/such.so") != NULL, "dlerror");
    expect(dlopen(words[2], RTLD_NOW) != NULL, "dlopen");
  }
  if (is(word, "forks")) copy(), forks();
  if (is(word, "copy")) copy();
  if (is(word, "leave")) copy(), _exit(7);
  if (is(word, "handler")) handler();
  if (is(word, "cancel")) cancel();
  if (is(word, "separate")) separate();
  if (is(word, "descriptors")) descriptors();
  if (is(word, "executions")) executions(words[0]);
  if (is(word, "children")) children();
  return 7;
}
