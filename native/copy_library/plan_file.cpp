// See plan_file.hpp.
#include "copy_library/plan_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "copy_library/byteways_copy.h"
#include "interfaces/blocks/arguments.hpp"
#include "interfaces/kernel_copy/arguments.hpp"
#include "runtimes/copy_driver.hpp"

namespace byteways::copy_library {
namespace {

constexpr std::string_view kFirstLine = "byteways copy plan 1";
// Neighbours that are further apart have other methods of the driver between them (interpolation.py).
constexpr double kMostApart = 64;

// Beyond these a file is wrong, whatever its checksum says: a size, count or time that no machine has
// (11 days, 9 PB); warps and threads of a block, and blocks of a grid, of CUDA (programming guide, technical
// specifications; HIP has as many); shared memory of a block on compute capabilities 9.0 and 10.0, which have
// most; and streams and pieces of a relay as a run may have them (cases/options.py).
constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 53;
constexpr unsigned kWarp = 32, kMostThreads = 1024, kMostBlocks = 0x7FFFFFFF, kMostDepth = 64;
constexpr std::uint64_t kMostSharedBytes = 227 << 10;
constexpr std::uint64_t kMostStagingBytes = std::uint64_t{1} << 32;

// FNV-1a, 64 bits (Fowler, Noll, Vo).
std::uint64_t hash(std::string_view text) {
  std::uint64_t state = 0xCBF29CE484222325ull;
  for (const unsigned char byte : text) state = (state ^ byte) * 0x100000001B3ull;
  return state;
}

// What is wrong with a line: the one that is read, or an earlier one by its number.
struct Damage {
  std::string what;
  std::size_t line = 0;
};

std::string_view take(std::string_view& rest, char separator) {
  const std::size_t at = rest.find(separator);
  const std::string_view word = rest.substr(0, at);
  rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
  return word;
}

template <class Number>
Number number(std::string_view word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size())
    throw Damage{"'" + std::string(word) + "' is no number"};
  return value;
}

template <class Number = std::uint64_t>
Number positive(std::string_view word, std::uint64_t most = kMostNumber) {
  const auto value = number<Number>(word);
  if (value == 0) throw Damage{"a number is 0"};
  if (value > most) throw Damage{std::string(word) + " is more than " + std::to_string(most)};
  return value;
}
double measured(std::string_view word) { return static_cast<double>(positive(word)); }

class Reader {
 public:
  PlanFile plan;

  void read(std::string_view line, std::size_t line_number) {
    const std::string_view key = take(line, ' ');
    line_ = line_number;
    if (key == "run") return;
    if (key == "driver") return read_driver(line);
    if (key == "gpu") return read_gpu(line);
    if (key == "path") return read_path(line);
    if (key == "method") return read_method(line);
    if (key == "row") return read_row(line);
    throw Damage{"unknown line '" + std::string(key) + "'"};
  }

  void end() {
    end_path();
    if (plan.release.empty()) throw Damage{"it names no driver"};
  }

 private:
  // What a method, or a path, must have by its end.
  void end_method() const {
    if (plan.paths.empty() || plan.paths.back().grids.empty()) return;
    if (plan.paths.back().grids.back().rows.empty()) throw Damage{"a method without rows", method_line_};
  }
  void end_path() const {
    end_method();
    if (!plan.paths.empty() && plan.paths.back().grids.empty())
      throw Damage{"a path without methods", path_line_};
  }

  void read_driver(std::string_view line) {
    if (!plan.release.empty()) throw Damage{"the driver is named twice"};
    plan.vendor = take(line, ' ');
    plan.version = take(line, ' ');
    plan.release = take(line, ' ');
    if (plan.release.empty()) throw Damage{"vendor, version and release are expected"};
  }

  void read_gpu(std::string_view line) {
    if (number<std::size_t>(take(line, ' ')) != plan.gpus.size()) throw Damage{"GPUs are not in order"};
    PlanGpu gpu;
    gpu.uuid = take(line, ' ');
    gpu.pci_address = take(line, ' ');
    if (gpu.pci_address.empty()) throw Damage{"UUID and PCI address are expected"};
    for (const PlanGpu& other : plan.gpus)
      if (other.uuid == gpu.uuid) throw Damage{"two GPUs have one UUID"};
    plan.gpus.push_back(std::move(gpu));
  }

  int place(std::string_view word) const {
    if (word == "host") return kHost;
    if (!word.starts_with("gpu")) throw Damage{"'" + std::string(word) + "' is no place"};
    const auto gpu = number<unsigned>(word.substr(3));
    if (gpu >= plan.gpus.size()) throw Damage{"the plan has no " + std::string(word)};
    return static_cast<int>(gpu);
  }

  void read_path(std::string_view line) {
    end_path();
    Path path;
    path.from = place(take(line, ' '));
    path.to = place(take(line, ' '));
    if (take(line, ' ') != "by") throw Damage{"'by' is expected"};
    path.by = place(line);
    if (path.by == kHost) throw Damage{"copies are by a GPU's stream"};
    for (const Path& other : plan.paths)
      if (other.from == path.from && other.to == path.to && other.by == path.by)
        throw Damage{"the path is in the plan already"};
    plan.paths.push_back(std::move(path));
    path_line_ = line_;
  }

  void read_method(std::string_view line) {
    if (plan.paths.empty()) throw Damage{"a method without a path"};
    end_method();
    Path& path = plan.paths.back();
    Grid grid;
    const std::string name(take(line, ' '));
    while (grid.method < BW_METHODS && name != bw_method_name(grid.method)) ++grid.method;
    if (grid.method == BW_METHODS) throw Damage{"unknown method '" + name + "'"};
    if (path.grids.empty() != (grid.method == BW_METHOD_DEFAULT))
      throw Damage{"the default comes first, once"};
    while (!line.empty()) {
      std::string_view value = take(line, ' ');
      const std::string_view option = take(value, '=');
      if (option == "blocks") {
        grid.blocks = positive<unsigned>(value, kMostBlocks);
      } else if (option == "threads") {
        grid.threads = positive<unsigned>(value, kMostThreads);
      } else if (option == "chunk_bytes") {
        grid.chunk_bytes = positive<unsigned>(value);
      } else if (option == "stages") {
        grid.stages = positive<unsigned>(value, kBulkMostStages);
      } else if (option == "piece") {
        grid.piece_bytes = positive<std::size_t>(value);
      } else if (option == "depth") {
        grid.depth = positive<unsigned>(value, kMostDepth);
      } else if (option == "via") {
        while (!value.empty()) grid.via.push_back(place(take(value, ',')));
      } else {
        throw Damage{"unknown option '" + std::string(option) + "'"};
      }
    }
    check_shape(grid);
    if (grid.method == BW_METHOD_RELAY) check_relay(path, grid);
    path.grids.push_back(std::move(grid));
    method_line_ = line_;
  }

  static void check_shape(const Grid& grid) {
    if (grid.threads % kWarp != 0) throw Damage{"threads are multiples of " + std::to_string(kWarp)};
    if (grid.chunk_bytes % kBulkGrainBytes != 0) throw Damage{"chunks are multiples of 16 bytes"};
    const std::uint64_t shared_bytes = std::uint64_t{grid.chunk_bytes} * std::max(grid.stages, 1u);
    if (shared_bytes > kMostSharedBytes)
      throw Damage{"no GPU has the shared memory for its chunks, " + std::to_string(shared_bytes) + " bytes"};
  }

  static void check_relay(const Path& path, const Grid& grid) {
    if (grid.via.empty() || grid.piece_bytes == 0 || grid.depth == 0)
      throw Damage{"a relay needs via, piece and depth"};
    if (grid.piece_bytes > kMostStagingBytes / grid.depth)
      throw Damage{"a relay needs more than 4 GiB of staging memory"};
    for (auto gpu = grid.via.begin(); gpu != grid.via.end(); ++gpu) {
      if (*gpu == kHost || *gpu == path.from || *gpu == path.to)
        throw Damage{"an end of the path is no relay"};
      if (std::find(grid.via.begin(), gpu, *gpu) != gpu) throw Damage{"a relay is named twice"};
    }
  }

  void read_row(std::string_view line) {
    if (plan.paths.empty() || plan.paths.back().grids.empty()) throw Damage{"a row without a method"};
    Grid& grid = plan.paths.back().grids.back();
    Row row;
    row.bytes = measured(take(line, ' '));
    row.log_bytes = std::log(row.bytes);
    if (!grid.rows.empty() && row.bytes <= grid.rows.back().bytes) throw Damage{"rows are not in order"};
    while (!line.empty()) {
      std::string_view word = take(line, ' ');
      if (word.starts_with("parts=")) {
        word.remove_prefix(6);
        while (!word.empty()) row.parts.push_back(positive<std::uint32_t>(take(word, ','), Row::kWhole));
        continue;
      }
      const double count = measured(take(word, ':'));
      const bool spares = word.ends_with('*'), leads = spares || word.ends_with('+');
      if (leads) word.remove_suffix(1);
      const double ns = measured(word);
      const Cell cell{count, ns, std::log(count), std::log(ns), leads, spares};
      if (!row.cells.empty() && cell.count <= row.cells.back().count) throw Damage{"counts are not in order"};
      row.cells.push_back(cell);
    }
    if (row.cells.empty()) throw Damage{"a row without times"};
    check_parts(grid, row);
    grid.rows.push_back(std::move(row));
  }

  static void check_parts(const Grid& grid, const Row& row) {
    if (grid.method != BW_METHOD_RELAY) return;
    if (row.cells.size() != 1 || row.cells[0].count != 1)
      throw Damage{"relays copy one block: 1:NANOSECONDS"};
    std::uint64_t whole = 0;
    for (const std::uint32_t part : row.parts) whole += part;
    if (row.parts.size() != grid.via.size() + 1 || whole != Row::kWhole)
      throw Damage{"parts of the direct path and of each relay are expected, whose sum is 1000000"};
  }

  std::size_t line_ = 0, path_line_ = 0, method_line_ = 0;
};

// The cells of a row around a count: `high` is nullptr beyond the largest.
struct Neighbours {
  const Row* row = nullptr;
  const Cell *low = nullptr, *high = nullptr;

  bool lead() const { return low->leads && (high == nullptr || high->leads); }
  bool spare() const { return low->spares && (high == nullptr || high->spares); }
  double log_ns(const Amount& amount) const {
    if (low == high) return low->log_ns;
    if (high == nullptr) return low->log_ns + amount.log_count - low->log_count;  // each takes as long
    const double share = (amount.log_count - low->log_count) / (high->log_count - low->log_count);
    return low->log_ns + share * (high->log_ns - low->log_ns);
  }
};

// Nothing where the row says nothing of the count.
std::optional<Neighbours> neighbours(const Row& row, double count) {
  const auto after = std::lower_bound(row.cells.begin(), row.cells.end(), count,
                                      [](const Cell& cell, double wanted) { return cell.count < wanted; });
  if (after != row.cells.end() && after->count == count) return Neighbours{&row, &*after, &*after};
  if (after == row.cells.begin()) return std::nullopt;
  const Cell* low = &*(after - 1);
  if (after == row.cells.end())
    return low->count == 1 ? std::nullopt : std::optional(Neighbours{&row, low, nullptr});
  if (after->count > kMostApart * low->count) return std::nullopt;
  return Neighbours{&row, low, &*after};
}

}  // namespace

std::optional<PlanFile> parse_plan(std::string_view text, std::string& error) {
  Reader reader;
  std::string_view rest = text;
  for (std::size_t line_number = 1;; ++line_number) {
    const auto at = static_cast<std::size_t>(rest.data() - text.data());
    const bool whole = rest.find('\n') != std::string_view::npos;
    std::string_view line = take(rest, '\n');
    try {
      if (line_number == 1 && line != kFirstLine)
        throw Damage{"'" + std::string(kFirstLine) +
                     "' is expected; is this another file, or of another version?"};
      if (!whole) throw Damage{"the file ends here, without its last line: it was cut"};
      if (line.starts_with("end ")) {
        char sum[17];
        std::snprintf(sum, sizeof sum, "%016llx", static_cast<unsigned long long>(hash(text.substr(0, at))));
        if (line.substr(4) != sum) throw Damage{"the checksum differs: the file was changed"};
        reader.end();
        if (!rest.empty()) throw Damage{"the file goes on behind its last line", line_number + 1};
        return std::move(reader.plan);
      }
      if (line_number > 1) reader.read(line, line_number);
    } catch (const Damage& damage) {
      error = "line " + std::to_string(damage.line == 0 ? line_number : damage.line) + ": " + damage.what;
      return std::nullopt;
    }
  }
}

Amount::Amount(double block_bytes, double blocks)
    : bytes(block_bytes), count(blocks), log_bytes(std::log(block_bytes)), log_count(std::log(blocks)) {}

std::optional<Estimate> estimate(const Grid& grid, const Amount& amount) {
  std::optional<Neighbours> low, high;
  for (const Row& row : grid.rows) {
    if (high) break;
    const std::optional<Neighbours> found = neighbours(row, amount.count);
    if (!found) continue;
    if (row.bytes <= amount.bytes) low = found;
    if (row.bytes >= amount.bytes) high = found;
  }
  if (!low) return std::nullopt;
  double log_ns = low->log_ns(amount);
  if (low->row->bytes == amount.bytes)
    return Estimate{std::exp(log_ns), low->lead(), low->spare(), low->row, false};
  const double beyond = amount.log_bytes - low->row->log_bytes;
  if (!high) {  // a single copy above the largest one: as many bytes a second
    if (amount.count != 1) return std::nullopt;
    return Estimate{std::exp(log_ns + beyond), low->lead(), low->spare(), low->row, true};
  }
  if (high->row->bytes > kMostApart * low->row->bytes) return std::nullopt;
  log_ns += beyond / (high->row->log_bytes - low->row->log_bytes) * (high->log_ns(amount) - log_ns);
  return Estimate{std::exp(log_ns), low->lead() && high->lead(), low->spare() && high->spare(), low->row,
                  false};
}

}  // namespace byteways::copy_library
