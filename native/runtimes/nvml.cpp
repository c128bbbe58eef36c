// See nvml.hpp.
#include <unistd.h>

#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "runtimes/cuda/nvml_types.hpp"
#include "runtimes/gpu/function_table.hpp"
#include "runtimes/host/locality.hpp"
#include "runtimes/management.hpp"

namespace byteways {
namespace {

// Generation by nvmlNvlinkVersion_t: none, 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0, 6.0.
constexpr int kLinkGenerations[] = {0, 1, 2, 2, 3, 3, 4, 5, 6};

}  // namespace

namespace {

// Temperature and power are read no more often: each call takes about a millisecond.
constexpr std::chrono::milliseconds kSlowEvery{500};
constexpr std::size_t kFieldRoom = 32;  // entries of a call for one field

// Where calls are announced; -1: nowhere.
std::atomic<int> announced_to = -1;

// A function of NVML, announced before each call.
template <class Signature>
class Announced;

template <class Result, class... Arguments>
class Announced<Result(Arguments...)> : public gpu::Function<Result(Arguments...)> {
  using Base = gpu::Function<Result(Arguments...)>;

 public:
  using Base::Base;
  Result operator()(Arguments... arguments) const {
    if (announced_to >= 0) {
      const std::string line = std::string("{\"call\": \"") + this->symbol() + "\"}\n";
      // Nothing is lost with an announcement: the process that reads them may have ended.
      [[maybe_unused]] const auto written = ::write(announced_to, line.data(), line.size());
    }
    return Base::operator()(arguments...);
  }
};

}  // namespace

void announce_management_calls(int descriptor) { announced_to = descriptor; }

struct Management::Table : cuda::NvmlTypes {
  // A field of nvmlDeviceGetFieldValues, and the number of which it is a part.
  struct Wanted {
    const char* name;
    unsigned which, scope;
    std::optional<std::int64_t>* sum;
  };

#define BYTEWAYS_FUNCTION(member, symbol, introduced_in, requirement, signature) \
  Announced<signature> member{#symbol};
#include "runtimes/cuda/nvml.def"
#undef BYTEWAYS_FUNCTION

  void bind(const Library& library, LibraryReport& report) {
#define BYTEWAYS_FUNCTION BYTEWAYS_BIND
#include "runtimes/cuda/nvml.def"
#undef BYTEWAYS_FUNCTION
  }

  // The value written by a query, if the function exists and succeeded.
  template <class Value, class Function, class... Before>
  static std::optional<Value> ask(const Function& function, Before... before) {
    Value value{};
    if (!function || function(before..., &value) != 0) return std::nullopt;
    return value;
  }
  template <class Function, class... Before>
  static int number(const Function& function, Before... before) {
    return static_cast<int>(ask<unsigned>(function, before...).value_or(0));
  }
  template <class Function>
  static std::string text(const Function& function, Device device) {
    char words[96] = {};
    return function(device, words, static_cast<unsigned>(sizeof words)) == 0 ? words : "";
  }

  // Why a query has no value: "nvmlDeviceGetPowerUsage: Not Supported".
  template <class Function>
  std::string refusal(const Function& function, int code) const {
    return std::string(function.symbol()) +
           (function ? ": " + std::string(error_string(code)) : " is missing");
  }

  // What a device does not support, by name of the number: asking again takes as long as an answer.
  using Unsupported = std::map<std::string, std::string>;
  // By UUID, so that a device is searched for once.
  struct Known {
    Device device = nullptr;
    Unsupported unsupported;
    // The latest numbers that change slowly and of which nothing warns, why one is missing, and when they
    // were read.
    std::optional<std::int64_t> temperature_c, power_mw;
    std::map<std::string, std::string> slow_unknown;
    std::optional<std::chrono::steady_clock::time_point> read_at;
  };
  std::map<std::string, Known> known;

  // Reads numbers of a device, and keeps why one is missing.
  struct Reader {
    const Table& table;
    Device device;
    Unsupported& unsupported;
    std::map<std::string, std::string>& unknown;

    template <class Value, class Function, class... Before>
    std::optional<std::int64_t> call(const char* name, const Function& function, Before... before) {
      if (unsupported.contains(name)) {
        unknown[name] = unsupported.at(name);
        return std::nullopt;
      }
      Value value{};
      const int code = function ? function(device, before..., &value) : kFunctionNotFound;
      if (code == 0) return static_cast<std::int64_t>(value);
      unknown[name] = table.refusal(function, code);
      if (code == kNotSupported) unsupported[name] = unknown[name];
      return std::nullopt;
    }
    // Reads fields. A sum of several has the last one's reason if none has a value.
    void fields(std::vector<Wanted> wanted);
  };
  // Reads temperature and power, unless that was done a moment ago.
  void read_slow(Known& of) const;

  int (*simulated_domain)(const char* pci_address) =
      nullptr;  // from the simulator; nullptr: query the system

  std::optional<std::int64_t> field(Device device, unsigned which, unsigned scope) const;
  static std::optional<std::int64_t> number_of(const FieldValue& answer);
  ManagementDevice describe(unsigned index) const;
  void describe_hardware(Device device, ManagementDevice& found) const;
  std::vector<FabricLink> links(Device device) const;
  std::string remote_kind(Device device, unsigned link) const;
  int processes(Device device) const;
  bool list(bool computing, Device device, std::vector<ManagementProcess>& found) const;
  static std::string address_of(const PciInfo& info);
};

namespace {

std::string compute_mode_name(std::optional<int> mode) {
  constexpr const char* kNames[] = {"default", "exclusive-thread", "prohibited", "exclusive-process"};
  return mode && *mode >= 0 && *mode < 4 ? kNames[*mode] : "unknown";
}

template <class Number>
std::int64_t or_unknown(const std::optional<Number>& value) {
  return value ? static_cast<std::int64_t>(*value) : -1;
}

}  // namespace

// "0000:3b:00.0": sysfs uses four digits for the domain, NVML eight.
std::string Management::Table::address_of(const PciInfo& info) {
  char text[32];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", info.domain, info.bus, info.device);
  return text;
}

std::optional<std::int64_t> Management::Table::field(Device device, unsigned which, unsigned scope) const {
  FieldValue request{};
  request.field = which;
  request.scope = scope;
  int code = kFunctionNotFound;
  if (field_values) code = field_values(device, 1, &request);
  if (code == 0) code = request.status;
  return code == 0 ? number_of(request) : std::nullopt;
}

std::optional<std::int64_t> Management::Table::number_of(const FieldValue& answer) {
  switch (answer.type) {
    case 0:
      return static_cast<std::int64_t>(answer.value.real);
    case 1:
      return answer.value.narrow;
    case 2:  // unsigned long: 64 bits on Linux
    case 3:
      return static_cast<std::int64_t>(answer.value.wide);
    case 4:
      return answer.value.signed_wide;
    default:
      return std::nullopt;
  }
}

void Management::Table::read_slow(Known& of) const {
  const auto now = std::chrono::steady_clock::now();
  if (of.read_at && now - *of.read_at < kSlowEvery) return;
  of.read_at = now;
  of.slow_unknown.clear();
  Reader read{*this, of.device, of.unsupported, of.slow_unknown};
  of.temperature_c = read.call<unsigned>("temperature_c", temperature, kTemperatureGpu);
  of.power_mw = read.call<unsigned>("power_mw", power);
}

void Management::Table::Reader::fields(std::vector<Wanted> wanted) {
  const auto key = [](const Wanted& one) { return std::to_string(one.which); };
  std::erase_if(wanted, [&](const Wanted& one) {
    const auto found = unsupported.find(key(one));
    if (found != unsupported.end()) unknown[one.name] = found->second;
    return found != unsupported.end();
  });
  for (const Wanted& one : wanted) {
    // A call for each, with room behind. With one call for all, 10 of 13 workers on machines with several
    // H100 (driver 580.159) ended with a damaged heap; with a call for each none of 4 in 2,163 cases. The
    // driver was not seen to write behind the entries while the GPUs were idle, so what damages the heap is
    // not known.
    std::array<FieldValue, kFieldRoom> answers{};
    answers[0].field = one.which;
    answers[0].scope = one.scope;
    int code = table.field_values ? table.field_values(device, 1, answers.data()) : kFunctionNotFound;
    if (code == 0) code = answers[0].status;
    if (code != 0) {
      unknown[one.name] = table.refusal(table.field_values, code);
      if (code == kNotSupported) unsupported[key(one)] = unknown[one.name];
    } else if (const auto value = number_of(answers[0])) {
      *one.sum = *value + one.sum->value_or(0);
    } else {
      unknown[one.name] = "its type " + std::to_string(answers[0].type) + " is unknown";
    }
  }
  for (const Wanted& one : wanted)
    if (*one.sum) unknown.erase(one.name);
}

int Management::Table::processes(Device device) const {
  unsigned count = 0;  // no space: the call returns the number of processes
  const auto& function = compute_processes ? compute_processes : compute_processes_v2;
  if (!function) return -1;
  const int code = function(device, &count, nullptr);
  return code == 0 || code == kInsufficientSize ? static_cast<int>(count) : -1;
}

// Appends the processes of one kind; returns false if the driver does not provide them.
bool Management::Table::list(bool computing, Device device, std::vector<ManagementProcess>& found) const {
  const auto& newer = computing ? compute_processes : graphics_processes;
  const auto& function = newer ? newer : computing ? compute_processes_v2 : graphics_processes_v2;
  if (!function) return false;
  constexpr unsigned kRoom = 256;  // contexts per GPU
  // Twice the space: drivers 535.43 to 535.86 write entries of 32 bytes; only the first is then usable.
  std::vector<ProcessInfo> entries(2 * static_cast<std::size_t>(kRoom));
  unsigned count = kRoom;
  if (function(device, &count, entries.data()) != 0) return false;
  for (unsigned index = 0; index < count && index < kRoom; ++index) {
    const ProcessInfo& entry = entries[index];
    const bool known = entry.used_memory != kNoMemory;
    found.push_back({entry.pid, computing ? "compute" : "graphics",
                     known ? static_cast<std::int64_t>(entry.used_memory) : -1});
  }
  return true;
}

std::string Management::Table::remote_kind(Device device, unsigned link) const {
  constexpr const char* kNames[] = {"gpu", "cpu", "switch"};  // NVML_NVLINK_DEVICE_TYPE_GPU, IBMNPU, SWITCH
  const auto kind = ask<int>(nvlink_remote_kind, device, link);
  return kind && *kind >= 0 && *kind < 3 ? kNames[*kind] : "unknown";
}

std::vector<FabricLink> Management::Table::links(Device device) const {
  std::vector<FabricLink> found;
  for (unsigned index = 0; index < kMostLinks; ++index) {
    const auto state = ask<int>(nvlink_state, device, index);
    if (!state) continue;  // the link does not exist
    FabricLink link;
    link.index = static_cast<int>(index);
    link.active = *state != 0;
    link.remote_kind = "unknown";
    if (link.active) {
      const auto version = ask<unsigned>(nvlink_version, device, index).value_or(0);
      link.version = version < std::size(kLinkGenerations) ? kLinkGenerations[version] : 0;
      link.remote_kind = remote_kind(device, index);
      if (const auto remote = ask<PciInfo>(nvlink_remote_pci, device, index))
        link.remote_pci_address = address_of(*remote);
      auto speed = field(device, kFieldSpeed, index);
      if (!speed || *speed <= 0) speed = field(device, kFieldSpeedCommon, 0);
      link.signalling_bytes_per_s = 1'000'000 * speed.value_or(0);
    }
    found.push_back(link);
  }
  return found;
}

void Management::Table::describe_hardware(Device device, ManagementDevice& found) const {
  if (const auto memory = ask<MemoryInfo>(memory_info, device))
    found.memory_bytes = static_cast<std::int64_t>(memory->total);
  found.memory_clock_mhz = number(max_clock, device, kClockMemory);
  found.memory_bus_bits = number(memory_bus_width, device);
  found.pcie_generation = number(pcie_generation, device);
  found.pcie_width = number(pcie_width, device);
  found.pcie_generation_max = number(pcie_generation_max, device);
  found.pcie_width_max = number(pcie_width_max, device);
}

ManagementDevice Management::Table::describe(unsigned index) const {
  ManagementDevice found;
  found.index = static_cast<int>(index);
  found.compute_mode = "unknown";
  Device device = nullptr;
  const int code = device_by_index(index, &device);
  if (code != 0) {
    found.name = error_string(code);
    return found;
  }
  found.name = text(name, device);
  found.uuid = text(uuid, device);
  if (const auto pci = ask<PciInfo>(pci_info, device)) found.pci_address = address_of(*pci);
  found.numa_domain = simulated_domain != nullptr ? simulated_domain(found.pci_address.c_str())
                                                  : numa_domain_of(found.pci_address);
  describe_hardware(device, found);
  found.fabric_links = links(device);
  unsigned current = 0, pending = 0;
  found.mig_enabled = mig_mode && mig_mode(device, &current, &pending) == 0 && current != 0;
  found.compute_mode = compute_mode_name(ask<int>(compute_mode, device));
  found.compute_processes = processes(device);
  return found;
}

Management::Management(const std::string& simulator) : table_(std::make_unique<Table>()) {
  report_.library = "nvml";
  const Library library =
      Library::open({"libnvidia-ml.so.1", "libnvidia-ml.so"}, {}, "BYTEWAYS_LIBNVML", simulator, report_);
  if (!library) {
    if (report_.hint.empty())
      report_.hint = "it comes with NVIDIA's driver; without it links and health are unknown";
    return;
  }
  table_->bind(library, report_);
  if (!simulator.empty())
    table_->simulated_domain = reinterpret_cast<int (*)(const char*)>(library.symbol("bwsim_gpu_domain"));
  if (!gpu::complete(report_)) {
    report_.hint = "update NVIDIA's driver: 450 or later has everything";
    return;
  }
  const int code = table_->initialize();
  if (code != 0) {
    report_.reason = std::string("nvmlInit_v2: ") + table_->error_string(code);
    report_.hint = "nvidia-smi tells whether the driver works";
    return;
  }
  report_.usable = true;
  char version[96] = {};
  if (table_->driver_version(version, sizeof version) == 0)
    report_.version = std::string("driver ") + version;
}

Management::~Management() {
  if (report_.usable) table_->shut_down();
}

std::vector<ManagementDevice> Management::devices() const {
  std::vector<ManagementDevice> found;
  if (!report_.usable) return found;
  const auto count = Table::ask<unsigned>(table_->device_count).value_or(0);
  for (unsigned index = 0; index < count; ++index) found.push_back(table_->describe(index));
  return found;
}

void* Management::device_of(const std::string& uuid) const {
  if (!report_.usable) throw Unsupported("health", "NVML", report_.reason);
  if (const auto found = table_->known.find(uuid); found != table_->known.end()) return found->second.device;
  Table::Device device = nullptr;
  const int code = table_->device_by_uuid(uuid.c_str(), &device);
  if (code != 0) throw Error("nvmlDeviceGetHandleByUUID", uuid, table_->error_string(code));
  table_->known[uuid].device = device;
  return device;
}

std::int64_t Management::energy_mj(const std::string& uuid) const {
  const auto device = static_cast<Table::Device>(device_of(uuid));
  return or_unknown(Table::ask<unsigned long long>(table_->energy, device));
}

ManagementUse Management::use(const std::string& uuid, bool with_utilisation) const {
  const auto device = static_cast<Table::Device>(device_of(uuid));
  ManagementUse use;
  use.processes_known = table_->list(true, device, use.processes);
  table_->list(false, device, use.processes);
  if (!with_utilisation) return use;
  if (const auto rates = Table::ask<Table::Utilisation>(table_->utilisation, device))
    use.utilisation_percent = rates->gpu;
  return use;
}

ManagementLinkBytes Management::link_bytes(const std::string& uuid) const {
  const auto device = static_cast<Table::Device>(device_of(uuid));
  ManagementLinkBytes bytes;
  std::map<std::string, std::string> reasons;
  Table::Reader read{*table_, device, table_->known[uuid].unsupported, reasons};
  std::optional<std::int64_t> sent_kib, received_kib;
  read.fields({{"sent", Table::kFieldDataTx, Table::kAllLinks, &sent_kib},
               {"received", Table::kFieldDataRx, Table::kAllLinks, &received_kib},
               {"pcie_sent", Table::kFieldPcieTx, 0, &bytes.pcie_tx_bytes},
               {"pcie_received", Table::kFieldPcieRx, 0, &bytes.pcie_rx_bytes}});
  if (sent_kib) bytes.fabric_tx_bytes = 1024 * *sent_kib;
  if (received_kib) bytes.fabric_rx_bytes = 1024 * *received_kib;
  return bytes;
}

ManagementHealth Management::health(const std::string& uuid) const {
  const auto device = static_cast<Table::Device>(device_of(uuid));
  ManagementHealth health;
  Table::Known& known = table_->known[uuid];
  Table::Reader read{*table_, device, known.unsupported, health.unknown};
  health.sm_clock_mhz = read.call<unsigned>("sm_clock_mhz", table_->clock, Table::kClockSm);
  health.memory_clock_mhz = read.call<unsigned>("memory_clock_mhz", table_->clock, Table::kClockMemory);
  table_->read_slow(known);
  health.temperature_c = known.temperature_c;
  health.power_mw = known.power_mw;
  health.unknown.insert(known.slow_unknown.begin(), known.slow_unknown.end());
  const auto& reasons = table_->clock_reasons ? table_->clock_reasons : table_->throttle_reasons;
  health.throttle_reasons = read.call<unsigned long long>("throttle_reasons", reasons);
  health.pcie_replays = read.call<unsigned>("pcie_replays", table_->pcie_replays);
  std::optional<std::int64_t> sent_kib, received_kib;
  std::vector<Table::Wanted> fields{
      {"nvlink_data_tx_bytes", Table::kFieldDataTx, Table::kAllLinks, &sent_kib},
      {"nvlink_data_rx_bytes", Table::kFieldDataRx, Table::kAllLinks, &received_kib}};
  // A generation of links has some of these counters only.
  for (unsigned field : Table::kErrorFields)
    fields.push_back({"nvlink_errors", field, 0, &health.nvlink_errors});
  read.fields(std::move(fields));
  if (sent_kib) health.nvlink_data_tx_bytes = 1024 * *sent_kib;
  if (received_kib) health.nvlink_data_rx_bytes = 1024 * *received_kib;
  return health;
}

}  // namespace byteways
