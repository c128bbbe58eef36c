// The functions of MPI that a shim calls, over the types of its ABI. They are resolved when the shim is
// loaded, by the MPI that was loaded before it.
#pragma once
#include <cstdint>

extern "C" {
using MPI_Aint = std::intptr_t;  // in all three ABIs

int MPI_Initialized(int* flag);
int MPI_Finalized(int* flag);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Finalize();
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Get_library_version(char* version, int* length);
int MPI_Error_string(int error, char* text, int* length);

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* part);
int MPI_Comm_free(MPI_Comm* comm);
int MPI_Comm_get_info(MPI_Comm comm, MPI_Info* info);
int MPI_Info_free(MPI_Info* info);

int MPI_Type_contiguous(int count, MPI_Datatype of, MPI_Datatype* made);
int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint places[],
                           const MPI_Datatype types[], MPI_Datatype* made);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_free(MPI_Datatype* type);

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]);
int MPI_Testall(int count, MPI_Request requests[], int* done, MPI_Status statuses[]);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Reduce(const void* source, void* destination, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm);
int MPI_Allreduce(const void* source, void* destination, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
int MPI_Reduce_scatter_block(const void* source, void* destination, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm);
int MPI_Allgather(const void* source, int sent, MPI_Datatype sent_type, void* destination, int received,
                  MPI_Datatype received_type, MPI_Comm comm);
int MPI_Gather(const void* source, int sent, MPI_Datatype sent_type, void* destination, int received,
               MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Scatter(const void* source, int sent, MPI_Datatype sent_type, void* destination, int received,
                MPI_Datatype received_type, int root, MPI_Comm comm);
int MPI_Alltoall(const void* source, int sent, MPI_Datatype sent_type, void* destination, int received,
                 MPI_Datatype received_type, MPI_Comm comm);

int MPI_Win_create(void* memory, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window);
int MPI_Win_free(MPI_Win* window);
int MPI_Win_set_errhandler(MPI_Win window, MPI_Errhandler handler);
int MPI_Win_lock_all(int assertions, MPI_Win window);
int MPI_Win_unlock_all(MPI_Win window);
int MPI_Win_flush(int rank, MPI_Win window);
int MPI_Win_sync(MPI_Win window);
int MPI_Win_fence(int assertions, MPI_Win window);
int MPI_Put(const void* data, int count, MPI_Datatype type, int to, MPI_Aint offset, int put,
            MPI_Datatype put_type, MPI_Win window);
int MPI_Get(void* data, int count, MPI_Datatype type, int from, MPI_Aint offset, int got,
            MPI_Datatype got_type, MPI_Win window);
}
