// See faults.hpp.
#include "simulator/machine/faults.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <stdexcept>

namespace byteways::sim {
namespace {

using enum Fault::Kind;

struct FaultShape {
  const char* name;
  Fault::Kind kind;
  char between;        // separator of the two devices: '>' one way, '-' both; 0: one device
  const char* option;  // "word=", "=" for a bare number, "" for none
  bool needed;
};
constexpr FaultShape kShapes[] = {
    {"corrupt", corrupt, '>', "word=", true},
    {"hang", hang, '>', "", false},
    {"skip", skip, '>', "", false},
    {"no-memory", no_memory, 0, "above=", false},
    {"no-kernels", no_kernels, 0, "", false},
    {"lost", lost, 0, "after=", false},
    {"slow", slow, '-', "=", true},
    {"down", down, '-', "", false},
    {"link-fails", link_fails, '-', "after=", true},
    {"false-peer", false_peer, '>', "", false},
    {"lapse", lapse, '>', "after=", true},
    {"overrun", overrun, '>', "", false},
    {"stall", stall, 0, "after=", true},
    {"early-return", early_return, '>', "", false},
    {"serialise", serialise, 0, "", false},
    {"throttle", throttle, 0, "=", true},
    {"rank-throws", rank_throws, 0, "call=", true},
    {"rank-never-enters", rank_never_enters, 0, "", false},
    {"rank-dies", rank_dies, 0, "call=", true},
    {"rank-late", rank_late, 0, "ns=", true},
};

[[noreturn]] void refuse(const std::string& spec, const std::string& why) {
  throw std::invalid_argument("fault '" + spec + "': " + why);
}

double number_of(const std::string& spec, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0)) refuse(spec, "'" + text + "' is no number");
  return value;
}

void set_option(Fault& fault, const FaultShape& shape, const std::string& spec, std::string option) {
  const std::string word = shape.option;
  if (word.empty()) refuse(spec, std::string(shape.name) + " takes no '" + option + "'");
  if (word != "=") {
    if (!option.starts_with(word)) refuse(spec, "expected " + word + "NUMBER instead of '" + option + "'");
    const double number = number_of(spec, option.substr(word.size()));
    if (number != std::floor(number) || number > 1e18) refuse(spec, "a whole number belongs behind " + word);
    fault.number = static_cast<std::uint64_t>(number);
    return;
  }
  fault.part = number_of(spec, option);
  if (fault.part <= 0 || fault.part > 1) refuse(spec, "a part is above 0 and at most 1");
}

Fault parse(const std::string& spec) {
  const std::size_t first = spec.find(':');
  const std::string name = spec.substr(0, first);
  for (const FaultShape& shape : kShapes) {
    if (name != shape.name) continue;
    if (first == std::string::npos) refuse(spec, "it names no device");
    const std::size_t second = spec.find(':', first + 1);
    const std::string devices = spec.substr(first + 1, second - first - 1);
    Fault fault{shape.kind, devices, {}, 1, 0};
    if (shape.between != 0) {
      const std::size_t middle = devices.find(shape.between);
      if (middle == std::string::npos)
        refuse(spec, std::string("it names no pair with '") + shape.between + "'");
      fault.a = devices.substr(0, middle);
      fault.b = devices.substr(middle + 1);
    }
    if (second != std::string::npos)
      set_option(fault, shape, spec, spec.substr(second + 1));
    else if (shape.needed)
      refuse(spec, std::string(shape.name) + " needs a number at its end");
    return fault;
  }
  refuse(spec, "there is no fault of that name");
}

bool names_two(Fault::Kind kind) {
  return std::any_of(std::begin(kShapes), std::end(kShapes),
                     [kind](const FaultShape& shape) { return shape.kind == kind && shape.between != 0; });
}

bool is_of_rank(Fault::Kind kind) {
  return kind == rank_throws || kind == rank_never_enters || kind == rank_dies || kind == rank_late;
}

bool is_one_of(const std::string& device, const std::string& kind, int count) {
  for (int index = 0; index < count; ++index)
    if (device == kind + std::to_string(index)) return true;
  return false;
}

void check_device(const Model& model, const std::string& spec, const Fault& fault,
                  const std::string& device) {
  if (is_of_rank(fault.kind)) {
    const bool number = !device.empty() && device.find_first_not_of("0123456789") == std::string::npos;
    if (!number) refuse(spec, "'" + device + "' is no rank");
    const bool counts_calls = fault.kind == rank_throws || fault.kind == rank_dies;
    if (counts_calls && fault.number == 0) refuse(spec, "calls are counted from 1");
    return;
  }
  const bool of_link = fault.kind == slow || fault.kind == down || fault.kind == link_fails;
  const bool gpus_only = fault.kind == lost || fault.kind == stall || fault.kind == serialise ||
                         fault.kind == throttle || fault.kind == false_peer || fault.kind == no_kernels;
  if (is_one_of(device, "gpu", model.gpu.count)) return;
  if (!gpus_only && is_one_of(device, "cpu", model.cpu.domains)) return;
  if (of_link) return;  // an end may be a switch: links are checked where they are used
  refuse(spec, "this machine has no " + std::string(gpus_only ? "GPU" : "device") + " '" + device + "'");
}

}  // namespace

Faults::Faults(const Model& model) {
  for (const std::string& spec : model.faults) {
    const Fault& fault = faults_.emplace_back(parse(spec));
    check_device(model, spec, fault, fault.a);
    if (names_two(fault.kind)) check_device(model, spec, fault, fault.b);
  }
}

const Fault* Faults::find(Fault::Kind kind, const std::string& a, const std::string& b) const {
  for (const Fault& fault : faults_)
    if (fault.kind == kind && fault.a == a && fault.b == b) return &fault;
  return nullptr;
}

}  // namespace byteways::sim
