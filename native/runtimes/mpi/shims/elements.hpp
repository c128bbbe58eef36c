// Count and type of a message over the types of an ABI, which shim.cpp brings before this.
#pragma once
#include <algorithm>
#include <climits>
#include <cstdint>

#include "runtimes/mpi/shims/own_codes.hpp"
#include "runtimes/mpi/table.hpp"

namespace byteways::mpi {

// Count and type of a message. MPI counts with an int: a message of more elements is one element of a type
// made for it, chunks and a rest.
class Elements {
 public:
  Elements(std::int64_t count, int element) {
    if (element == kByte)
      type_ = abi::kByteType;
    else if (element == kFloat)
      type_ = abi::kFloatType;
    else if (element == kUnsigned64)
      type_ = abi::kUnsigned64Type;
    else if (element == kUnsigned32)
      type_ = abi::kUnsigned32Type;
    else
      error_ = kNoSuchElement;
    if (error_ == 0 && (count < 0 || count / kChunk > INT_MAX)) error_ = kBadCount;
    if (error_ != 0) return;
    count_ = static_cast<int>(std::min<std::int64_t>(count, INT_MAX));
    if (count > INT_MAX) make_type(count, element);
  }
  // What is under way keeps the type alive (MPI 3.1, 4.1.9).
  ~Elements() {
    if (made_) MPI_Type_free(&type_);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  int error() const { return error_; }
  // Of reductions, which take no types that were made.
  int reduction_error() const { return error_ == 0 && made_ ? kReductionTooLarge : error_; }
  int count() const { return count_; }
  MPI_Datatype type() const { return type_; }

 private:
  static constexpr std::int64_t kChunk = 1 << 20;  // elements

  void make_type(std::int64_t count, int element) {
    const MPI_Datatype base = type_;
    const MPI_Aint chunks_bytes = count / kChunk * kChunk *
                                  (element == kByte         ? 1
                                   : element == kUnsigned64 ? 8
                                                            : 4);
    MPI_Datatype chunk, chunks;
    if ((error_ = MPI_Type_contiguous(static_cast<int>(kChunk), base, &chunk)) != 0) return;
    error_ = MPI_Type_contiguous(static_cast<int>(count / kChunk), chunk, &chunks);
    MPI_Type_free(&chunk);
    if (error_ != 0) return;
    const int lengths[] = {1, static_cast<int>(count % kChunk)};
    const MPI_Aint places[] = {0, chunks_bytes};
    const MPI_Datatype types[] = {chunks, base};
    error_ = MPI_Type_create_struct(2, lengths, places, types, &type_);
    MPI_Type_free(&chunks);
    if (error_ != 0) return;
    made_ = true;
    count_ = 1;
    error_ = MPI_Type_commit(&type_);
  }

  int count_ = 0, error_ = 0;
  MPI_Datatype type_{};
  bool made_ = false;
};

}  // namespace byteways::mpi
