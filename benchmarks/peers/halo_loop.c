// The plain loop that byteways' halo between two ranks is compared with: the same stencil, faces, messages
// and sum on the same cores, and nothing else.
//
// measure() (loop.h) knows "WIDTH HEIGHT DEPTH FIELDS": two tiles of WIDTH x HEIGHT cells beside each other.
// An operation is an iteration.
#include "loop.h"

typedef uint64_t Word;
typedef struct {
  size_t width, height, depth, fields, pitch, field_words;
} Tile;

static Tile tile;
static Word *now_words, *next_words, *out, *in;

// Tiles by value: for all the compiler knows, a word that is stored could be a part of one in memory.
static void stencil(const Tile t) {
  for (size_t f = 0; f < t.fields; ++f)
    for (size_t y = t.depth; y < t.depth + t.height; ++y) {
      const Word* cell = now_words + f * t.field_words + y * t.pitch + t.depth;
      Word* to = next_words + f * t.field_words + y * t.pitch + t.depth;
      for (size_t x = 0; x < t.width; ++x)
        to[x] = cell[x] + (cell - 1)[x] + cell[x + 1] + (cell - t.pitch)[x] + (cell + t.pitch)[x];
    }
  Word* kept = now_words;
  now_words = next_words;
  next_words = kept;
}

static void move(const Tile t, Word* message, size_t column, int packs) {
  for (size_t f = 0; f < t.fields; ++f)
    for (size_t y = 0; y < t.height; ++y) {
      Word* strip = now_words + f * t.field_words + (y + t.depth) * t.pitch + column;
      Word* part = message + (f * t.height + y) * t.depth;
      memcpy(packs ? part : strip, packs ? strip : part, t.depth * sizeof(Word));
    }
}

// Mirrored cells beyond a face of the grid, times a constant that depends on the distance.
static void boundary(const Tile t, int along_x, int low) {
  const size_t rows = along_x ? t.height : t.depth, columns = along_x ? t.depth : t.pitch;
  for (size_t f = 0; f < t.fields; ++f)
    for (size_t r = 0; r < rows; ++r)
      for (size_t c = 0; c < columns; ++c) {
        const size_t at = along_x ? c : r;
        const size_t distance = low ? 2 * (t.depth - at) - 1 : 2 * at + 1;
        const size_t y = along_x ? r + t.depth : low ? r : t.height + t.depth + r;
        const size_t x = along_x ? (low ? c : t.width + t.depth + c) : c;
        Word* cell = now_words + f * t.field_words + y * t.pitch + x;
        const size_t step = distance * (along_x ? 1 : t.pitch);
        Word factor = 1;
        for (size_t k = 0; k < distance; ++k) factor *= 0x9E3779B97F4A7C15ull;
        *cell = (low ? cell[step] : *(cell - step)) * factor;
      }
}

static void iterations(int rank, long count) {
  const Tile t = tile;
  const int bytes = (int)(t.fields * t.height * t.depth * sizeof(Word));
  for (long k = 0; k < count; ++k) {
    stencil(t);
    boundary(t, 1, rank == 0);
    move(t, out, rank == 0 ? t.width : t.depth, 1);
    MPI_Request pending[2];
    MPI_Status statuses[2];  // as byteways waits: they tell which message failed
    MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &pending[0]);
    MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, &pending[1]);
    MPI_Waitall(2, pending, statuses);
    move(t, in, rank == 0 ? t.width + t.depth : 0, 0);
    boundary(t, 0, 1);
    boundary(t, 0, 0);
    Word mine = 1, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (sum != 2) MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

int measure(const char* what, long* count, double seconds, double* times, int most) {
  size_t width, height, depth, fields;
  if (sscanf(what, "%zu %zu %zu %zu", &width, &height, &depth, &fields) != 4) MPI_Abort(MPI_COMM_WORLD, 1);
  const size_t pitch = width + 2 * depth, field_words = pitch * (height + 2 * depth);
  tile = (Tile){width, height, depth, fields, pitch, field_words};
  const size_t state_words = fields * field_words, face_words = fields * height * depth;
  Word* const states = pages(2 * state_words * sizeof(Word));
  Word* const messages = pages(2 * face_words * sizeof(Word));
  for (size_t i = 0; i < 2 * state_words; ++i) states[i] = i * 0x9E3779B97F4A7C15ull;
  now_words = states;
  next_words = states + state_words;
  out = messages;
  in = messages + face_words;
  const int found = time_batches(iterations, 1, count, seconds, times, most);
  munmap(states, 2 * state_words * sizeof(Word));
  munmap(messages, 2 * face_words * sizeof(Word));
  return found;
}
