// See kernel_cache.hpp. A cache file is one header line, "byteways-kernel <bytes> <hash of the image>", then
// the image.
#include "runtimes/gpu/kernel_cache.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

#include "runtimes/kernel_source.hpp"

namespace byteways::gpu {
namespace {

// FNV-1a, 64 bits (Fowler, Noll, Vo): tells texts apart, guards against truncation; nobody attacks this
// cache.
std::uint64_t hash(std::string_view text, std::uint64_t state = 0xCBF29CE484222325ull) {
  for (unsigned char byte : text) state = (state ^ byte) * 0x100000001B3ull;
  return state;
}

std::string hexadecimal(std::uint64_t value) {
  std::ostringstream text;
  text << std::hex << value;
  return text.str();
}

std::string header_of(const std::string& image) {
  return "byteways-kernel " + std::to_string(image.size()) + " " + hexadecimal(hash(image)) + "\n";
}

// Empty when the file is absent or not whole.
std::string read_image(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string header;
  if (!std::getline(file, header)) return {};
  std::string image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return header + "\n" == header_of(image) ? image : std::string();
}

// Written aside, then renamed: a reader sees a whole file or none.
void write_image(const std::string& path, const std::string& image) {
  static std::atomic<unsigned> serial{0};
  const std::filesystem::path target(path);
  std::error_code ignored;
  std::filesystem::create_directories(target.parent_path(), ignored);
  const std::string aside = path + "." + std::to_string(getpid()) + "." + std::to_string(serial++);
  std::ofstream file(aside, std::ios::binary);
  file << header_of(image) << image;
  file.close();
  if (file.good()) std::filesystem::rename(aside, target, ignored);
  if (!file.good() || ignored) std::filesystem::remove(aside, ignored);
}

}  // namespace

std::string KernelCache::path_of(const KernelCompiler& compiler, const std::string& file,
                                 const std::string& architecture) const {
  const auto& sources = embedded_kernels();
  std::uint64_t key = hash(sources.at(file));
  for (const char* included : kernel_headers().texts) key = hash(included, key);
  const std::string name = file.substr(0, file.rfind('.'));
  return folder_ + "/" + name + "-" + architecture + "-" + compiler.version() + "-" + hexadecimal(key) +
         ".bin";
}

std::string KernelCache::image(KernelCompiler& compiler, const std::string& file,
                               const std::string& architecture) const {
  if (folder_.empty()) return compiler.compile(file, architecture);
  const std::string path = path_of(compiler, file, architecture);
  std::string image = read_image(path);
  if (image.empty()) {
    image = compiler.compile(file, architecture);
    write_image(path, image);
  }
  return image;
}

}  // namespace byteways::gpu
