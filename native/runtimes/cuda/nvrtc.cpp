// See nvrtc.hpp.
#include "runtimes/cuda/nvrtc.hpp"

#include <algorithm>
#include <utility>

namespace byteways::cuda {
namespace {

// The CUDA version of the NVRTC that the extra `cuda` brings; `cuda12` brings the one before.
constexpr int kExtraMajor = 13;

// A driver of an earlier CUDA loads no code of a later compiler.
std::string hint_for(int driver_major) {
  const bool earlier = driver_major > 0 && driver_major < kExtraMajor;
  return std::string("pip install 'byteways[") + (earlier ? "cuda12" : "cuda") +
         "]' brings NVRTC, or set BYTEWAYS_LIBNVRTC to its file";
}

// Sonames by CUDA major version; 11.2 is used by all later 11.x.
const std::pair<int, const char*> kSonames[] = {
    {13, "libnvrtc.so.13"}, {12, "libnvrtc.so.12"}, {11, "libnvrtc.so.11.2"}};

// A driver loads code from compilers of its own or an earlier major version. Such a compiler in any folder is
// better than a newer one, or one of unknown version, in the first.
Library open_library(const std::vector<std::string>& directories, int driver_major,
                     const std::string& simulator, LibraryReport& report) {
  constexpr int kOldest = 11;  // the driver that is required; an older one is refused elsewhere
  std::vector<std::string> suitable, others = {"libnvrtc.so"};
  for (const auto& [major, name] : kSonames)
    (driver_major > 0 && major > std::max(driver_major, kOldest) ? others : suitable).push_back(name);
  const char* variable = "BYTEWAYS_LIBNVRTC";
  Library library = Library::open(suitable, directories, variable, simulator, report);
  // A hint: the variable was set, and is the only place to search.
  if (library || !simulator.empty() || !report.hint.empty()) return library;
  LibraryReport second = report;
  library = Library::open(others, directories, variable, simulator, second);
  report.searched = second.searched;
  if (!library) return library;
  report = second;
  report.reason.clear();
  return library;
}

int architecture_number(const std::string& architecture) {
  constexpr std::size_t kPrefix = 3;  // "sm_"
  if (architecture.rfind("sm_", 0) != 0 || architecture.size() == kPrefix ||
      architecture.find_first_not_of("0123456789", kPrefix) != std::string::npos)
    throw Unsupported("architecture", architecture, "an NVIDIA architecture looks like sm_90");
  return std::stoi(architecture.substr(kPrefix));
}

}  // namespace

Nvrtc::Nvrtc(const std::vector<std::string>& directories, int driver_major, const std::string& simulator)
    : RuntimeCompiler("nvrtc", "NVRTC") {
  const Library library = open_library(directories, driver_major, simulator, report_);
  if (!library) {
    if (report_.hint.empty()) report_.hint = hint_for(driver_major);
    return;
  }
  table_.bind(library, report_);
  int major = 0, minor = 0;
  if (table_.get_version && table_.get_version(&major, &minor) == 0)
    report_.version = std::to_string(major) + "." + std::to_string(minor);
  report_.usable = gpu::complete(report_);
  if (!report_.usable || (driver_major > 0 && major > driver_major)) report_.hint = hint_for(driver_major);
}

std::vector<int> Nvrtc::architectures() const {
  int count = 0;
  if (!table_.count_architectures || !table_.list_architectures) return {};
  check(table_.count_architectures.symbol(), table_.count_architectures(&count));
  std::vector<int> numbers(static_cast<std::size_t>(count));
  if (count > 0) check(table_.list_architectures.symbol(), table_.list_architectures(numbers.data()));
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string Nvrtc::compile(const std::string& file, const std::string& architecture) {
  const int wanted = architecture_number(architecture);
  const std::vector<int> known = architectures();
  if (known.empty() || std::binary_search(known.begin(), known.end(), wanted))
    return compile_for(file, architecture, table_.get_cubin_size, table_.get_cubin);
  const auto later = std::upper_bound(known.begin(), known.end(), wanted);
  if (later == known.begin())
    throw Unsupported("NVRTC", architecture,
                      "NVRTC " + report_.version + " compiles for sm_" + std::to_string(known.front()) +
                          " and later, this GPU is " + architecture + "; an earlier NVRTC helps");
  // The device is newer than the compiler: its driver compiles the PTX of the nearest earlier architecture.
  return compile_for(file, "compute_" + std::to_string(*(later - 1)), table_.get_ptx_size, table_.get_ptx);
}

std::string Nvrtc::ptx(const std::string& file, const std::string& architecture) {
  return compile_for(file, "compute_" + std::to_string(architecture_number(architecture)),
                     table_.get_ptx_size, table_.get_ptx);
}

std::string Nvrtc::compile_for(const std::string& file, const std::string& target, const Size& size,
                               const Get& get) const {
  const std::string architecture = "--gpu-architecture=" + target;
  return build(file, target, {architecture.c_str(), kNvrtcOption}, size, get);
}

std::map<std::string, std::string> compile_kernels(const std::string& architecture,
                                                   const std::vector<std::string>& library_directories) {
  Nvrtc compiler(library_directories, 0);
  gpu::require(compiler, "NVRTC");
  std::map<std::string, std::string> texts;
  for (const auto& source : embedded_kernels())
    if (source.first.ends_with(".cu"))
      texts[source.first] = compiler.ptx(source.first, architecture).c_str();  // without the terminating zero
  return texts;
}

}  // namespace byteways::cuda
