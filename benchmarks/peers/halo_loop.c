// The plain loop that byteways' halo between two ranks is compared with: the same stencil, faces, messages
// and sum on the same cores, and nothing else. Compiled with the mpicc of the MPI under test.
//
//   mpiexec -n 2 halo_loop CORE0 CORE1 SECONDS WIDTH HEIGHT DEPTH FIELDS
//
// Two tiles of WIDTH x HEIGHT cells beside each other. Prints the nanoseconds of one iteration in every
// batch, of the slower rank; a batch takes 50 µs at least,
// as one of byteways does: longer ones would hold more of what else the cores do.
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

static size_t width, height, depth, fields, pitch, field_words;
static Word *now_words, *next_words, *out, *in;

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

static void stencil(void) {
  for (size_t f = 0; f < fields; ++f)
    for (size_t y = depth; y < depth + height; ++y) {
      const Word* cell = now_words + f * field_words + y * pitch + depth;
      Word* to = next_words + f * field_words + y * pitch + depth;
      for (size_t x = 0; x < width; ++x)
        to[x] = cell[x] + (cell - 1)[x] + cell[x + 1] + (cell - pitch)[x] + (cell + pitch)[x];
    }
  Word* kept = now_words;
  now_words = next_words;
  next_words = kept;
}

static void move(Word* message, size_t column, int packs) {
  for (size_t f = 0; f < fields; ++f)
    for (size_t y = 0; y < height; ++y) {
      Word* strip = now_words + f * field_words + (y + depth) * pitch + column;
      Word* part = message + (f * height + y) * depth;
      memcpy(packs ? part : strip, packs ? strip : part, depth * sizeof(Word));
    }
}

// Mirrored cells beyond a face of the grid, times a constant that depends on the distance.
static void boundary(int along_x, int low) {
  const size_t rows = along_x ? height : depth, columns = along_x ? depth : pitch;
  for (size_t f = 0; f < fields; ++f)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) {
        const size_t at = along_x ? c : r;
        const size_t distance = low ? 2 * (depth - at) - 1 : 2 * at + 1;
        const size_t y = along_x ? r + depth : low ? r : height + depth + r;
        const size_t x = along_x ? (low ? c : width + depth + c) : c;
        Word* cell = now_words + f * field_words + y * pitch + x;
        const size_t step = distance * (along_x ? 1 : pitch);
        Word factor = 1;
        for (size_t k = 0; k < distance; ++k) factor *= 0x9E3779B97F4A7C15ull;
        *cell = (low ? cell[step] : *(cell - step)) * factor;
      }
}

static Word iterate(int rank) {
  stencil();
  const int bytes = (int)(fields * height * depth * sizeof(Word));
  boundary(1, rank == 0);
  move(out, rank == 0 ? width : depth, 1);
  MPI_Request pending[2];
  MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &pending[0]);
  MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &pending[1]);
  MPI_Waitall(2, pending, MPI_STATUSES_IGNORE);
  move(in, rank == 0 ? width + depth : 0, 0);
  boundary(0, 1);
  boundary(0, 0);
  Word mine = 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 8) return 2;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[1 + rank]), &set);
  sched_setaffinity(0, sizeof set, &set);
  const double seconds = atof(argv[3]);
  width = strtoul(argv[4], NULL, 10);
  height = strtoul(argv[5], NULL, 10);
  depth = strtoul(argv[6], NULL, 10);
  fields = strtoul(argv[7], NULL, 10);
  pitch = width + 2 * depth;
  field_words = pitch * (height + 2 * depth);
  now_words = words_of(2 * fields * field_words);
  next_words = now_words + fields * field_words;
  for (size_t i = 0; i < 2 * fields * field_words; ++i) now_words[i] = i * 0x9E3779B97F4A7C15ull;
  out = words_of(2 * fields * height * depth);
  in = out + fields * height * depth;
  if (rank == 0) printf("halo %zu", width * height * sizeof(Word));
  long count = 1;
  double spent = 0;
  for (int sample = 0; spent < seconds * 1e9; ++sample) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now_ns();
    for (long k = 0; k < count; ++k)
      if (iterate(rank) != 2) MPI_Abort(MPI_COMM_WORLD, 1);
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
