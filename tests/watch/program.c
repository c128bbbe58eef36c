// A program that does what its arguments say, in their order, over the MPI of fake_mpi.c.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Send(const void*, int, int, int, int, int);

static int is(const char* word, const char* other) { return strcmp(word, other) == 0; }

static volatile sig_atomic_t seen;

static void noted(int number) { seen = number; }

static void sends(const char* text) {
  char data[64];
  for (int left = atoi(text); left > 0; --left) MPI_Send(data, 3, 0x4c00080b, 0, 0, 0x44000000);
}

// send N: N messages of 24 bytes. sizes N: one message of each size to N. child N: a child that sends and
// ends by itself, by _exit.
int main(int count, char** words) {
  MPI_Init(&count, &words);
  for (int at = 1; at < count; ++at) {
    const char* const word = words[at];
    const char* const next = at + 1 < count ? words[at + 1] : "";
    if (is(word, "send")) sends(next);
    if (is(word, "sizes"))
      for (int size = 1; size <= atoi(next); ++size) MPI_Send("", size, 0x4c00010d, 0, 0, 0x44000000);
    if (is(word, "child")) {
      const pid_t child = fork();
      if (child == 0) sends(next), _exit(0);
      waitpid(child, NULL, 0);
    }
    if (is(word, "echo")) {
      char line[64];
      if (fgets(line, sizeof line, stdin) != NULL) fputs(line, stdout);
      fputs("to stderr\n", stderr);
    }
    if (is(word, "note")) signal(atoi(next), noted);
    if (is(word, "wait")) {
      puts("waiting"), fflush(stdout);
      while (!seen) usleep(1000);
      printf("signal %d\n", (int)seen), fflush(stdout);
    }
    if (is(word, "sleep")) usleep((useconds_t)atoi(next) * 1000);
    if (is(word, "unshare") && unshare(CLONE_FILES) != 0) puts("not unshared");
    if (is(word, "leave")) _exit(atoi(next));
    if (is(word, "kill")) raise(atoi(next));
    if (is(word, "exit")) return MPI_Finalize(), atoi(next);
    if (is(word, "exec")) execv(words[0], (char*[]){words[0], "send", words[at + 1], NULL});
  }
  MPI_Finalize();
  return 0;
}
