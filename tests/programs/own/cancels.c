// A thread that waits in MPI_Recv for a message that never comes, and is cancelled.
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int begun;

static void* receive(void* argument) {
  int value;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &value);
  begun = 1;
  MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return argument;
}

int main(int count, char** words) {
  int provided;
  pthread_t thread;
  void* result;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  pthread_create(&thread, NULL, receive, NULL);
  while (!begun) usleep(1000);
  usleep(200000);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  puts(result == PTHREAD_CANCELED ? "cancelled" : "ended");
  fflush(stdout);
  _exit(7);
}
