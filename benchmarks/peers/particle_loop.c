// The plain loop that byteways' particles between two ranks are compared with: the same passes over the
// store, the same messages and sum on the same cores, and nothing else. Compiled with the mpicc of the MPI
// under test.
//
//   mpiexec -n 2 particle_loop CORE0 CORE1 SECONDS TRIPS
//
// The file TRIPS (benchmarks/particle_trips.py) has words: those of a rank's store with room for guests,
// those of a part of the messages, the number of trips; then, for each trip, the messages of rank 0 and those
// of rank 1: how many, and three numbers for each: its first word in the store of its rank, its first word
// among the messages, and its words. Prints the nanoseconds of one iteration in every batch, of the slower
// rank; a batch takes 50 µs at least and has whole rounds of trips.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef uint64_t Word;
typedef struct {
  size_t in_store, in_messages, words;
} Message;
typedef struct {
  size_t count;
  Message* messages;
} Side;

static size_t store_words, home_words, part_words, trips;
static Word *store, *out, *in[2];
static Side (*leaving)[2], (*guests)[2];  // of each trip and rank, as that rank stores them
static MPI_Request* pending;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

// Words of 0 in plain pages, as byteways' pageable memory has them.
static Word* words_of(size_t count) {
  void* data = mmap(NULL, count * sizeof(Word), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) exit(3);
  madvise(data, count * sizeof(Word), MADV_NOHUGEPAGE);
  return data;
}

static size_t number_in(FILE* file) {
  size_t number;
  if (fscanf(file, "%zu", &number) != 1) exit(3);
  return number;
}

// Guests lie in the store beyond the rank's own particles, as they lie in the messages.
static void read_trips(const char* path) {
  FILE* file = fopen(path, "r");
  if (!file) exit(3);
  store_words = number_in(file);
  part_words = number_in(file);
  trips = number_in(file);
  home_words = store_words - part_words;
  leaving = calloc(trips, sizeof *leaving);
  guests = calloc(trips, sizeof *guests);
  size_t most = 0;
  for (size_t trip = 0; trip < trips; ++trip)
    for (int rank = 0; rank < 2; ++rank) {
      Side *side = &leaving[trip][rank], *other = &guests[trip][1 - rank];
      side->count = other->count = number_in(file);
      side->messages = calloc(side->count, sizeof(Message));
      other->messages = calloc(side->count, sizeof(Message));
      for (size_t k = 0; k < side->count; ++k) {
        Message* one = &side->messages[k];
        one->in_store = number_in(file);
        one->in_messages = number_in(file);
        one->words = number_in(file);
        other->messages[k] = (Message){home_words + one->in_messages, one->in_messages, one->words};
      }
      if (side->count > most) most = side->count;
    }
  fclose(file);
  pending = calloc(2 * most, sizeof *pending);
}

// By the factor of byteways (kGrowth in native/interfaces/lattice/arguments.hpp): compilers make other
// instructions of other factors.
static void track(void) {
  for (size_t i = 0; i < store_words; ++i) store[i] *= 0x5E703C5056E42651ull;
}

static void pack(const Side* side) {
  for (size_t k = 0; k < side->count; ++k) {
    const Message* one = &side->messages[k];
    memcpy(out + one->in_messages, store + one->in_store, one->words * sizeof(Word));
    memset(store + one->in_store, 0, one->words * sizeof(Word));
  }
}

static void unpack(const Side* side, const Word* from) {
  for (size_t k = 0; k < side->count; ++k) {
    const Message* one = &side->messages[k];
    memcpy(store + one->in_store, from + one->in_messages, one->words * sizeof(Word));
  }
}

static void exchange(int other, const Side* sent, const Side* received, Word* to) {
  pack(sent);
  int count = 0;
  for (size_t k = 0; k < received->count; ++k)
    MPI_Irecv(to + received->messages[k].in_messages, (int)(received->messages[k].words * sizeof(Word)),
              MPI_BYTE, other, (int)k, MPI_COMM_WORLD, &pending[count++]);
  for (size_t k = 0; k < sent->count; ++k)
    MPI_Isend(out + sent->messages[k].in_messages, (int)(sent->messages[k].words * sizeof(Word)), MPI_BYTE,
              other, (int)k, MPI_COMM_WORLD, &pending[count++]);
  MPI_Waitall(count, pending, MPI_STATUSES_IGNORE);
  unpack(received, to);
}

static Word iterate(int rank, size_t trip) {
  const Side *own = &leaving[trip][rank], *come = &guests[trip][rank];
  track();
  exchange(1 - rank, own, come, in[0]);
  track();
  exchange(1 - rank, come, own, in[1]);
  Word mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 5) return 2;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[1 + rank]), &set);
  sched_setaffinity(0, sizeof set, &set);
  const double seconds = atof(argv[3]);
  read_trips(argv[4]);
  store = words_of(store_words);
  for (size_t i = 0; i < store_words; ++i) store[i] = i * 0x9E3779B97F4A7C15ull | 1;
  out = words_of(3 * part_words);
  in[0] = out + part_words;
  in[1] = in[0] + part_words;
  if (rank == 0) printf("particles %zu", home_words * sizeof(Word));
  size_t count = trips;
  double spent = 0;
  for (int sample = 0; spent < seconds * 1e9; ++sample) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_ns();
    for (size_t k = 0; k < count; ++k)
      if (iterate(rank, k % trips) != 2) MPI_Abort(MPI_COMM_WORLD, 1);
    double own = now_ns() - begin, slower = 0;
    MPI_Allreduce(&own, &slower, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (slower < 5e4 && sample < 30) {
      count *= 2;
      continue;
    }
    spent += slower;
    if (rank == 0) printf(" %.1f", slower / count);
  }
  if (rank == 0) printf("\n");
  MPI_Finalize();
  return 0;
}
