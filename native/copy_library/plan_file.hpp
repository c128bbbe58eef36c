// The file of a plan: what was measured on a machine, and the expected time of a copy that follows from it.
//
//     byteways copy plan 1
//     run 2e77ff2bde1f67b5
//     driver cuda 13.0 580.159.04
//     gpu 0 GPU-8f2c… 0000:0a:00.0 NVIDIA H100 80GB HBM3
//     path host gpu0 by gpu0
//     method default
//     row 16384 1:9000 16:81000 64:310000
//     method kernel blocks=64 threads=512
//     row 16384 16:30000+ 64:52000+
//     method bulk
//     row 16384 16:31000+ 64:52500*
//     method relay via=gpu1,gpu2 piece=4194304 depth=2
//     row 268435456 1:2000000+ parts=310000,350000,340000
//     end 5f0c8a3e12b4d796
//
// Every path has the default and every method a row. Relays copy one block: their rows have the count 1.
// A row has the bytes of a block, then COUNT:NANOSECONDS of all blocks together, in order. A `+` says that
// the method is faster than the default with an interval that excludes equality, and a `*` that it is besides
// nearly as fast as the fastest method there, and occupies fewer multiprocessors. `parts` are those of the
// direct path and of each relay, in millionths. The last line has the FNV-1a hash of all bytes before it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace byteways::copy_library {

// With natural logarithms, in which times are interpolated.
struct Cell {
  double count, ns, log_count, log_ns;
  bool leads, spares;
};

struct Row {
  double bytes = 0, log_bytes = 0;
  std::vector<Cell> cells;
  std::vector<std::uint32_t> parts;  // in millionths, whose sum is a million

  static constexpr std::size_t kWhole = 1'000'000;
};

struct Grid {
  int method = 0;                    // enum bw_method
  unsigned blocks = 0, threads = 0;  // of a kernel, as it was measured; 0: as is usual
  unsigned chunk_bytes = 0, stages = 0;
  std::vector<int> via;  // GPUs of the file
  std::size_t piece_bytes = 0;
  unsigned depth = 0;
  std::vector<Row> rows;

  std::size_t staging_bytes() const { return piece_bytes * depth; }  // of a relay; checked by parse_plan()
};

struct Path {
  int from = 0, to = 0, by = 0;  // GPUs of the file, kHost; `by` is the GPU of the stream
  std::vector<Grid> grids;       // the first is of the default
};

struct PlanGpu {
  std::string uuid, pci_address;
};

struct PlanFile {
  std::string vendor, version, release;
  std::vector<PlanGpu> gpus;
  std::vector<Path> paths;
};

// Returns nothing for a damaged file; `error` gets the line and what is wrong there.
std::optional<PlanFile> parse_plan(std::string_view text, std::string& error);

// So many blocks of so many bytes, which may be a mean.
struct Amount {
  Amount(double block_bytes, double blocks);
  double bytes, count, log_bytes, log_count;
};

struct Estimate {
  double ns = 0;
  bool leads = false;        // at all measured neighbours
  bool spares = false;       // at all of them: nearly the fastest, with fewer multiprocessors
  const Row* row = nullptr;  // the nearest one below, or the only one
  bool beyond = false;       // of a single copy larger than all of the grid
};
// Interpolated between measured sizes and counts, in logarithms; monotone as the measured times are. Nothing
// beyond them, but for counts and single copies above the largest, which grow in proportion.
std::optional<Estimate> estimate(const Grid& grid, const Amount& amount);

}  // namespace byteways::copy_library
