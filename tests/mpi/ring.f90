! Two ranks of a program in Fortran: 50 sums of both, and 50 messages of 8,000 bytes from rank 0 to rank 1.
! Compiled with -cpp, and with -DF08 for the bindings of Fortran 2008.
program ring
#ifdef F08
  use mpi_f08
#else
  use mpi
#endif
  implicit none
  integer :: error, rank, step
#ifdef F08
  type(MPI_Status) :: status
#else
  integer :: status(MPI_STATUS_SIZE)
#endif
  real(8) :: out(1000), in(2000)
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  out = rank + 1
  do step = 1, 50
    call MPI_Allreduce(out, in, 1000, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank == 0) call MPI_Send(out, 1000, MPI_DOUBLE_PRECISION, 1, 0, MPI_COMM_WORLD, error)
    if (rank == 1) call MPI_Recv(in, 2000, MPI_DOUBLE_PRECISION, 0, 0, MPI_COMM_WORLD, status, error)
  end do
  if (in(1000) /= 3 - 2 * rank) print *, 'WRONG'
  call MPI_Finalize(error)
end program
