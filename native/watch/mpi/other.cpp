// Entries of functions that are seen but not interpreted (other.def).
#include "watch/mpi/entry.hpp"

using namespace byteways::watch::mpi;  // NOLINT: entries are names of MPI, in no namespace
using byteways::watch::What;

// An argument is passed on as the word that it is, as handles are.
using Word = std::uintptr_t;
#define DECLARED_1 Word a
#define DECLARED_2 DECLARED_1, Word b
#define DECLARED_3 DECLARED_2, Word c
#define DECLARED_4 DECLARED_3, Word d
#define DECLARED_5 DECLARED_4, Word e
#define DECLARED_6 DECLARED_5, Word f
#define DECLARED_7 DECLARED_6, Word g
#define DECLARED_8 DECLARED_7, Word h
#define DECLARED_9 DECLARED_8, Word i
#define PASSED_1 a
#define PASSED_2 PASSED_1, b
#define PASSED_3 PASSED_2, c
#define PASSED_4 PASSED_3, d
#define PASSED_5 PASSED_4, e
#define PASSED_6 PASSED_5, f
#define PASSED_7 PASSED_6, g
#define PASSED_8 PASSED_7, h
#define PASSED_9 PASSED_8, i
#define LAST_3 c
#define LAST_5 e
#define LAST_6 f

#define OTHER(name, number) \
  BYTEWAYS_ENTRY(name, (DECLARED_##number), BYTEWAYS_DO((PASSED_##number), call.made(What::kOther)))
#define MAKES_REQUEST(name, number) \
  BYTEWAYS_ENTRY(                   \
      name, (DECLARED_##number),    \
      BYTEWAYS_DO((PASSED_##number), call.made(What::kOther, reinterpret_cast<void*>(LAST_##number))))
#include "watch/mpi/other.def"
