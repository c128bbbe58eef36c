// The plain loop that byteways' particles between two ranks are compared with: the same passes over the
// store, the same messages and sum on the same cores, and nothing else.
//
// measure() (loop.h) knows the file with the messages (benchmarks/particle_trips.py). It has words: those of
// a rank's store with room for guests, those of a part of the messages, the number of trips; then, for each
// trip, the messages of rank 0 and those of rank 1: how many, and three numbers for each: its first word in
// the store of its rank, its first word among the messages, and its words. An operation is an iteration, and
// a batch has whole rounds of trips.
#include "loop.h"

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
static MPI_Status* statuses;  // as byteways waits: they tell which message failed

static size_t number_in(FILE* file) {
  size_t number;
  if (fscanf(file, "%zu", &number) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
  return number;
}

// Guests lie in the store beyond the rank's own particles, as they lie in the messages.
static void read_trips(const char* path) {
  FILE* file = fopen(path, "r");
  if (!file) MPI_Abort(MPI_COMM_WORLD, 1);
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
  statuses = calloc(2 * most, sizeof *statuses);
}

static void forget_trips(void) {
  for (size_t trip = 0; trip < trips; ++trip)
    for (int rank = 0; rank < 2; ++rank) {
      free(leaving[trip][rank].messages);
      free(guests[trip][rank].messages);
    }
  free(leaving);
  free(guests);
  free(pending);
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
  MPI_Waitall(count, pending, statuses);
  unpack(received, to);
}

static void iterations(int rank, long count) {
  for (long k = 0; k < count; ++k) {
    const size_t trip = (size_t)k % trips;
    const Side *own = &leaving[trip][rank], *come = &guests[trip][rank];
    track();
    exchange(1 - rank, own, come, in[0]);
    track();
    exchange(1 - rank, come, own, in[1]);
    Word mine = 1, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (sum != 2) MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int measure(const char* what, long* count, double seconds, double* times, int most) {
  read_trips(what);
  store = pages(store_words * sizeof(Word));
  for (size_t i = 0; i < store_words; ++i) store[i] = i * 0x9E3779B97F4A7C15ull | 1;
  out = pages(3 * part_words * sizeof(Word));
  in[0] = out + part_words;
  in[1] = in[0] + part_words;
  const int found = time_batches(iterations, (long)trips, count, seconds, times, most);
  munmap(store, store_words * sizeof(Word));
  munmap(out, 3 * part_words * sizeof(Word));
  forget_trips();
  return found;
}
