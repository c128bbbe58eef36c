// The rings of GPUs that the simulated NCCL or RCCL sends around: so many at once that they fill the links.
#pragma once
#include <vector>

#include "simulator/machine/routes.hpp"

namespace byteways::sim::xccl {

// Directed rings over all of `gpus`, as positions in it, each for an equal part of the bytes. As the search
// of the libraries (ncclTopoCompute in src/graph/search.cc) it takes rings over direct links only, each of
// the width of the narrowest link among these GPUs, until the links have no room for another one. Where fewer
// rings fit than a GPU has links, but rings of half the width fill them all (four GPUs that are all joined),
// it takes those. Up to eight GPUs; beyond, and where no ring of direct links exists, one ring in the order
// of the ranks, in both directions.
std::vector<std::vector<int>> find_rings(const std::vector<int>& gpus, Router& router);

}  // namespace byteways::sim::xccl
