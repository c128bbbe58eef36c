// Argument block of the ping-pong.
#pragma once

namespace byteways {

// "ping_pong": one side of two that send each other a number, each over a word that only it writes. In round
// k the side that leads writes first + k + 1 into *writes and waits until *polls has it; the other waits
// first, then writes. Stores release and loads acquire at system scope. A side that has looked in vain for
// `patience_ns` gives up, so that no device hangs; *rounds_done tells how far it came.
struct PingPongArguments {
  unsigned long long* writes;
  const unsigned long long* polls;
  unsigned long long first;
  unsigned long long rounds;
  unsigned long long patience_ns;
  unsigned long long leads;  // 0 or 1
  unsigned long long* rounds_done;
};

}  // namespace byteways
