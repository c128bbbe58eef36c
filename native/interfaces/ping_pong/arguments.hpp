// Argument block of the ping-pong.
#pragma once

namespace byteways {

// "ping_pong": one of two sides that send each other a number; each writes its own word. In round k the
// leading side stores first + k + 1 to *writes and polls *polls until it has that value; the other side polls
// first, then stores. Stores release and loads acquire at system scope. A side gives up after polling for
// `patience_ns`, so that no device hangs; *rounds_done is the number of completed rounds.
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
