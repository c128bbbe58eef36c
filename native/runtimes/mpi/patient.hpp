// Exchanges in which ranks sleep between two looks. MPI's own calls poll, which takes a core from whoever
// shares it: ranks of many hosts wait for each other between cases, for minutes where one of them hangs.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtimes/mpi/mpi.hpp"

namespace byteways {

// Returns the bytes of rank `root`, on every rank. Collective; ranks forward to each other as a tree.
std::string patient_broadcast(const Communicator& ranks, std::string mine, int root);

// Returns the bytes of the ranks `from`, in their order, on rank `root`; on others an empty list. Only `from`
// and `root` call it. None: that rank sent nothing within `patience_s` seconds; the communicator is then of
// no further use, because late messages would be taken for later ones.
std::vector<std::optional<std::string>> patient_collect(const Communicator& ranks, const std::string& mine,
                                                        int root, const std::vector<int>& from,
                                                        double patience_s);

}  // namespace byteways
