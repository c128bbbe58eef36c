// The message passing that byteways uses, as functions with plain types. A shim implements the table over one
// ABI of MPI (standard, MPICH, Open MPI) and is picked at run time; the simulator implements it over its own
// world. What uses the table sees no difference.
//
// Every function returns 0 or an error code of the library, which describe() puts into words.
#pragma once
#include <cstdint>

extern "C" {

// Handles of the library, whatever these are there. 0 is none.
using BytewaysComm = std::uint64_t;
using BytewaysWindow = std::uint64_t;

// Elements of a buffer.
enum BytewaysElement : int { kByte = 0, kFloat = 1, kUnsigned64 = 2, kUnsigned32 = 3 };

// What the library is started with. Open MPI 4.1 takes 840 ns for a round trip of 8 bytes with kSingle, 1140
// ns with kFunneled (virtual machine, 2026-11-23).
enum BytewaysThreads : int { kSingle = 0, kFunneled = 1, kSerialized = 2, kMultiple = 3 };

// Whether the library says that it takes device memory of a vendor.
enum BytewaysSupport : int { kUnknown = -1, kNo = 0, kYes = 1 };

// Of a request, and what its memory is aligned to.
inline constexpr int kMostRequestBytes = 8;

inline constexpr int kMpiTableVersion = 4;

// Counts are in elements. A source of nullptr stands for in-place (MPI_IN_PLACE) in collectives; in scatter,
// where the root's block stays in the source, a destination of nullptr. Reductions add.
//
// Requests stay in the library's own form, `request_bytes` each, so that the callers' list of them is what
// the library waits for: a conversion of every request would be timed with every message.
struct BytewaysMpi {
  int version;        // kMpiTableVersion, else the shim is of another build
  int request_bytes;  // at most kMostRequestBytes

  // One thread of a rank calls MPI, whatever the level.
  int (*init)(int thread_level);
  int (*finalize)();
  int (*abort)(int code);
  int (*library_version)(char* text, int room);
  int (*describe)(int error, char* text, int room);
  int (*device_support)(const char* vendor, int* support);  // "cuda", "hip"; by MPIX_Query_… or the info key
                                                            // mpi_memory_alloc_kinds
  BytewaysComm (*world)();  // a copy of MPI_COMM_WORLD, for messages of byteways alone
  // MPI_COMM_WORLD itself, which programs use: MPICH takes 55 instructions less for a message in it than in
  // any other. 0 where somebody else has started MPI, whose messages are in it.
  BytewaysComm (*plain_world)();
  int (*rank)(BytewaysComm comm, int* rank);
  int (*size)(BytewaysComm comm, int* size);
  int (*split)(BytewaysComm comm, int color, int key, BytewaysComm* part);  // color -1: in no part
  int (*split_by_host)(BytewaysComm comm, BytewaysComm* part);
  int (*free_comm)(BytewaysComm comm);

  int (*send)(const void* data, std::int64_t count, int element, int to, int tag, BytewaysComm comm);
  int (*receive)(void* data, std::int64_t count, int element, int from, int tag, BytewaysComm comm);
  int (*start_send)(const void* data, std::int64_t count, int element, int to, int tag, BytewaysComm comm,
                    void* request);
  int (*start_receive)(void* data, std::int64_t count, int element, int from, int tag, BytewaysComm comm,
                       void* request);
  int (*wait_all)(int count, void* requests);
  int (*test_all)(int count, void* requests, int* done);
  // After a failure: moves the requests that are still under way to the front, and returns how many they are.
  int (*unfinished)(int count, void* requests);

  int (*barrier)(BytewaysComm comm);
  int (*broadcast)(void* data, std::int64_t count, int element, int root, BytewaysComm comm);
  int (*reduce)(const void* source, void* destination, std::int64_t count, int element, int root,
                BytewaysComm comm);
  int (*allreduce)(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm);
  // `count` of these five is of one rank's block.
  int (*reduce_scatter)(const void* source, void* destination, std::int64_t count, int element,
                        BytewaysComm comm);
  int (*allgather)(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm);
  int (*gather)(const void* source, void* destination, std::int64_t count, int element, int root,
                BytewaysComm comm);
  int (*scatter)(const void* source, void* destination, std::int64_t count, int element, int root,
                 BytewaysComm comm);
  int (*alltoall)(const void* source, void* destination, std::int64_t count, int element, BytewaysComm comm);

  // One-sided. Offsets are in bytes from what the other rank has exposed. Collective: create, free and fence.
  int (*create_window)(void* memory, std::int64_t bytes, BytewaysComm comm, BytewaysWindow* window);
  int (*free_window)(BytewaysWindow window);
  int (*put)(const void* data, std::int64_t count, int element, int to, std::int64_t offset,
             BytewaysWindow window);
  int (*get)(void* data, std::int64_t count, int element, int from, std::int64_t offset,
             BytewaysWindow window);
  int (*lock_all)(BytewaysWindow window);  // begins an epoch of this rank, in which it may flush and sync
  int (*unlock_all)(BytewaysWindow window);
  int (*flush)(int rank,
               BytewaysWindow window);  // what this rank has put to or got from the other one is done
  int (*sync)(BytewaysWindow window);   // this rank's own loads see what others have put
  int (*fence)(BytewaysWindow window);
};

// What every shim and the simulator export.
const BytewaysMpi* byteways_mpi_table();
}
