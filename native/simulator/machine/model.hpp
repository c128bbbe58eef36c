// A machine model as the simulator reads it. Its input is a sheet: one `key<TAB>value` line a number, the
// machine file (src/byteways/models/*.toml) without sources and with tables flattened by dots,
// so that a key here is the path of the same number in the file. Units are in the names. A key that is
// missing or that nothing reads is an error: a typing mistake must not become a default. Every key is there,
// with 0 where the file may leave it out; truth is 1 or 0; a list of one kind has its index as the last part.
#pragma once
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace byteways::sim {

// A device: NUMA domain or GPU number `index`.
struct Place {
  enum class Kind { cpu, gpu } kind = Kind::cpu;
  int index = 0;
  auto operator<=>(const Place&) const = default;
};

#define BYTEWAYS_SECTION(Section) struct Section {
#define BYTEWAYS_KEY(type, name) type name{};
#define BYTEWAYS_CODE(...) __VA_ARGS__
#define BYTEWAYS_END \
  }                  \
  ;
#include "simulator/machine/model.def"

struct Model : WholeModel, FeatureModel {
  std::vector<LinkModel> links;
  std::map<std::string, RateModel, std::less<>> rates;
  GpuModel gpu;
  CpuModel cpu;
  ManagedModel managed;
  std::vector<StagingStep> staging_to, staging_from;
  CallModel calls;
  MemoryModel memory;
  MpiModel mpi;
  XcclModel xccl;

  int host_of(Place place) const {
    const int each = (place.kind == Place::Kind::cpu ? cpu.domains : gpu.count) / hosts;
    return each > 0 ? place.index / each : 0;
  }
  LinkModel const* link_between(const std::string& a, const std::string& b) const;
  // The NUMA domain of a GPU's memory, behind those of the CPUs, if there are any.
  int memory_domain(int index) const { return cpu.domains + index; }

  // Throws std::invalid_argument with the key and what is wrong with it.
  static Model from_sheet(std::string_view sheet);
};

}  // namespace byteways::sim
