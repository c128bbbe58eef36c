// A thread that is cancelled while it waits in MPI for a message that nobody sends.
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int waits;

static void* work(void* unused) {
  int value;
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &value);
  waits = 1;
  MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return unused;
}

int main(int count, char** words) {
  int provided;
  pthread_t thread;
  void* result = NULL;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &provided);
  pthread_create(&thread, NULL, work, NULL);
  while (!waits) usleep(1000);
  usleep(100000);  // into the receive
  pthread_cancel(thread);
  pthread_join(thread, &result);
  puts(result == PTHREAD_CANCELED ? "cancelled" : "WRONG");
  fflush(stdout);
  _exit(7);
}
