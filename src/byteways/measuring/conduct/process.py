"""One worker process as the conductor sees it: started, queried, and ended in all circumstances.

The worker runs in its own session, so that Ctrl-C reaches only the conductor and everything the worker
started can be killed with it. Its output goes to a log file, never to the terminal.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from byteways.base import vendor_query
from byteways.base.private_folder import PrivateFolder
from byteways.base.safe_folders import NO_TEMPORARY, folder_of_children, temporary_folders
from byteways.base.settings import WORKER_ENVIRONMENT, worker_command
from byteways.base.system_errors import hint_for
from byteways.base.writing import open_appended
from byteways.measuring.conduct.rank_faults import ProcessFault, ProcessWatch, blamed, with_place
from byteways.measuring.shared.exit_status import describe_exit
from byteways.measuring.shared.protocol import Channel, ConnectionClosed
from byteways.measuring.shared.worker_clock import STEP_HINT, step_refusal
from byteways.record.blame import FailureBlame

#: Python on a cold network file system takes seconds to start; no healthy worker takes this long.
HELLO_TIMEOUT_S = 60.0
#: Seconds between SIGTERM and SIGKILL.
GRACE_S = 2.0
#: Seconds after SIGKILL. A process that still exists hangs in a driver and cannot be killed.
KILL_TIMEOUT_S = 5.0
#: Closing a GPU runtime with tens of GiB of pinned memory takes seconds.
STOP_TIMEOUT_S = 10.0
#: A batch system that ends a job signals the worker, its launcher and this process one after the other:
#: seconds until its signal to this process has surely come.
ENDED_TOGETHER_S = 1.0
#: Interval at which a waiting conductor checks for interruption and updates the progress display.
TICK_S = 0.25

#: Bytes of a worker's output that are read at its beginning and at its end, and lines quoted of each.
_LOG_PART = 4096
_WORDS_LINES = 3
#: sockaddr_un holds 108 bytes with the final zero (unix(7)).
SOCKET_PATH_LIMIT = 107


class WorkerLost(Exception):  # noqa: N818 - a state, not a mistake
    """The worker died or is unusable.

    Args:
        reason: What happened.
        status: Recorded for the current case: `lost` or `timeout`.
        hint: What to do if the worker could not start for a reason that is not its own.
        brief: The reason without ranks and what they printed; '': the whole reason.
        blame: The rank and the host that it is the fault of, if known.
        printed: The output of the worker, or of the launcher of ranks.
        lacks: What is missing here: `simulator`.
    """

    def __init__(
        self,
        reason: str,
        status: str = "lost",
        hint: str | None = None,
        brief: str = "",
        blame: FailureBlame | None = None,
        printed: str = "",
        lacks: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.hint = hint
        self.brief = brief or reason
        self.blame = blame
        self.printed = printed
        self.lacks = lacks


def process_state(pid: int) -> str | None:
    """Returns the state letter of a process (R, S, D, Z …) from /proc; None if it does not exist.

    kill(pid, 0) cannot distinguish a zombie from a running process.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return text.rpartition(")")[2].split()[0]  # the name before it may hold spaces and parentheses


def out_of_memory_kills() -> int:
    """Returns the number of out-of-memory kills since boot (/proc/vmstat, Linux 4.13); 0 if unknown."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


class WorkerProcess:
    """A started worker that has sent its hello message.

    Create it in the main thread: the worker is killed when the thread that started it ends.

    Args:
        log: File to which the worker's standard output and error are appended.
        environment: The case's variables, added to the user's environment.
        command: Program and first arguments; None: settings.worker_command(). `--socket PATH --parent PID` is
            appended.
        tick: Called about every TICK_S while waiting; an exception from it ends the wait.
        hello_s: Seconds for the worker to connect.
        look_elsewhere: Finds a rank of any host that is stopped, from the facts of all. Called when no answer
            comes.

    Raises:
        WorkerLost: The worker did not start.
    """

    def __init__(
        self,
        log: Path,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] | None = None,
        tick: Callable[[], None] = lambda: None,
        hello_s: float = HELLO_TIMEOUT_S,
        look_elsewhere: Callable[[Sequence[Mapping[str, Any]]], ProcessFault] = lambda _: ProcessFault(),
    ) -> None:
        self._log = log
        self._look_elsewhere = look_elsewhere
        self._tick = tick
        self._hello_s = hello_s
        self._log_start = self._log_size()
        self._kills_before = out_of_memory_kills()
        self._channel: Channel | None = None
        self.hello: dict[str, Any] = {}  # the worker's hello message
        self._asked = ""  # what the last request was
        self._dismissed = False
        folder, path = _socket_place()
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(str(path))
                listener.listen(1)
                words = [*(command or worker_command()), "--socket", str(path), "--parent", str(os.getpid())]
                self._process = self._spawn(words, environment)
                try:
                    self._greet(listener)
                except BaseException:
                    self.kill()
                    raise
        except OSError as error:  # no free descriptor, or no memory
            reason = f"worker did not start: {error.strerror or error}"
            raise WorkerLost(reason, hint=hint_for(error, writing=True)) from error
        finally:
            folder.remove()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(
        self, message: Mapping[str, Any], timeout_s: float, devices: Mapping[int, str] | None = None
    ) -> dict[str, Any]:
        """Sends a request and returns its answer.

        Args:
            message: The request.
            timeout_s: Seconds to wait for the answer; a process that is stopped is not waited for so long.
            devices: The device of each rank that takes part, to name a rank that fails.

        Raises:
            WorkerLost: The worker died, hung, or sent an invalid answer; it has been ended.
        """
        self.send(message, devices)
        return self.answer(timeout_s)

    def send(self, message: Mapping[str, Any], devices: Mapping[int, str] | None = None) -> None:
        """Sends a request, see ask(), whose answer is waited for later."""
        assert self._channel is not None
        for number, rank in enumerate(self.hello.get("ranks", ())):
            rank["device"] = (devices or {}).get(number)
        self._asked = message["do"]
        try:
            self._channel.send(message)
        except ConnectionClosed as error:
            raise self._lost() from error

    def answer(self, timeout_s: float) -> dict[str, Any]:
        """Returns the answer to the request that was sent last; see ask()."""
        assert self._channel is not None
        try:
            answer = self._receive(self._channel, timeout_s)
        except ConnectionClosed as error:
            raise self._lost() from error
        if answer.get("did") != self._asked:
            self.kill()
            raise WorkerLost(f"worker answered {_shortened(str(answer))} to '{self._asked}'")
        # What happens from now on, before the next request, is the reason if that one finds the worker dead.
        self._log_start = self._log_size()
        self._kills_before = out_of_memory_kills()
        if isinstance(outcome := answer.get("outcome"), dict):
            with_place(outcome, self.hello.get("ranks", ()))
        return answer

    def dismiss(self) -> None:
        """Asks the worker to exit without waiting: freeing locked memory takes seconds. stop() waits."""
        if self._channel is not None and not self._dismissed:
            with contextlib.suppress(ConnectionClosed):
                self._channel.send({"do": "stop"})
                self._dismissed = True

    def stop(self) -> None:
        """Lets the worker close its runtimes and exit; kills it if it does not."""
        self.dismiss()
        if self._dismissed:
            self._ended(STOP_TIMEOUT_S)
        self.kill()

    def kill(self) -> bool:
        """Ends the worker and its children: SIGTERM, grace period, SIGKILL. Returns False if that fails."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process.returncode is not None:
            return True
        if not self._ended(0):
            self._signal(signal.SIGTERM)
            self._ended(GRACE_S)
        self._signal(signal.SIGKILL)  # the whole group, even if its leader has exited
        if not self._ended(KILL_TIMEOUT_S):
            return False
        self._process.wait()
        return True

    def kill_at_once(self) -> None:
        """Sends SIGKILL without grace period or wait, for a conductor that exits immediately."""
        if self._process.returncode is None:
            self._signal(signal.SIGKILL)

    def _spawn(
        self, command: Sequence[str], environment: Mapping[str, str] | None
    ) -> subprocess.Popen[bytes]:
        with os.fdopen(open_appended(self._log), "ab") as log:
            try:
                return subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env={
                        **WORKER_ENVIRONMENT,
                        **os.environ,
                        **vendor_query.worker_environment(),
                        **(environment or {}),
                    },
                    start_new_session=True,
                    cwd=folder_of_children(),
                )
            except OSError as error:
                reason = f"worker did not start: {command[0]}: {error.strerror}"
                raise WorkerLost(reason, hint=hint_for(error)) from error

    def _greet(self, listener: socket.socket) -> None:
        listener.settimeout(TICK_S)
        deadline = time.monotonic() + self._hello_s
        while self._channel is None:
            try:
                self._channel = Channel(listener.accept()[0])
            except TimeoutError:
                self._tick()
                if self._ended(0):
                    raise self._lost() from None
                if time.monotonic() > deadline:
                    self.kill()
                    raise WorkerLost(
                        f"worker did not connect within {self._hello_s:.0f} s", "timeout"
                    ) from None
        try:
            hello = self._receive(self._channel, self._hello_s)
        except ConnectionClosed as error:
            raise self._lost() from error
        if hello.get("did") != "hello":
            raise WorkerLost(f"worker greeted with {_shortened(str(hello))}")
        if wrong := hello.get("error"):
            self.kill()
            raise WorkerLost(str(wrong))
        if "clock_step_ns" in hello and (coarse := step_refusal(hello["clock_step_ns"])):
            self.kill()
            raise WorkerLost(coarse, hint=STEP_HINT)
        self.hello = hello

    def _receive(self, channel: Channel, timeout_s: float) -> dict[str, Any]:
        """Returns the next message. Raises ConnectionClosed, or WorkerLost on invalid data or time-out."""
        deadline = time.monotonic() + timeout_s
        alone = [{"host": os.uname().nodename, "pid": self.pid}]
        watch = ProcessWatch(self.hello.get("ranks") or alone, process_state)
        while True:
            left = deadline - time.monotonic()
            try:
                message: Any = channel.receive(max(0.001, min(TICK_S, left)))
            except TimeoutError:
                self._tick()
                if out_of_action := watch.verdict():
                    words = self._last_words()
                    self.kill()
                    reason = f"no answer: {out_of_action.words}{words}"
                    raise WorkerLost(reason, blame=out_of_action.blame) from None
                if left > 0:
                    continue
                raise self._timed_out(timeout_s) from None
            except (ValueError, RecursionError) as error:  # not JSON, or not even text
                self.kill()
                raise WorkerLost(f"worker sent a malformed message: {error}") from error
            if not isinstance(message, dict):
                self.kill()
                raise WorkerLost(f"worker sent {_shortened(repr(message))}, which is not a message")
            return message

    def _timed_out(self, timeout_s: float) -> WorkerLost:
        who = self._blamed()  # while its processes still exist
        printed, words = self._printed(), self._last_words()  # before a launcher prints that it was ended
        stopped = ProcessFault() if who else self.look_elsewhere()
        if self.kill():
            status, fault = "lost" if stopped else "timeout", who or stopped
            brief = f"no answer within {timeout_s:.0f} s"
            return WorkerLost(
                f"{brief}{fault}{words}", status, brief=brief, blame=fault.blame, printed=printed
            )
        state = process_state(self.pid)
        return WorkerLost(
            f"no answer within {timeout_s:.0f} s, and worker {self.pid} cannot be killed (state {state})"
        )

    def look_elsewhere(self) -> ProcessFault:
        """Returns the rank of any host that is stopped."""
        ranks = self.hello.get("ranks", ())
        return self._look_elsewhere(ranks) if ranks else ProcessFault()

    def _lost(self) -> WorkerLost:
        """Returns what happened to a worker whose connection closed. What `tick` raises, such as an
        interruption, goes before it: a worker that was ended together with the run is no loss.
        """
        if not self._ended(GRACE_S):
            self.kill()
            self._tick()
            return WorkerLost(f"worker closed its connection without ending{self._last_words()}")
        self.kill()
        self._await_own_end()
        how = describe_exit(self._process.returncode)
        if how == "SIGKILL" and out_of_memory_kills() > self._kills_before:
            how += ", and the kernel killed a process for lack of memory"
        who = self._blamed()
        reason = f"worker ended by {how}{who}{self._last_words()}"
        return WorkerLost(reason, blame=who.blame, printed=self._printed())

    def _await_own_end(self) -> None:
        """Ticks; for a while if the worker, or its launcher's process, was ended as a whole job is."""
        asked = (-signal.SIGTERM, 128 + signal.SIGTERM)
        deadline = time.monotonic() + (ENDED_TOGETHER_S if self._process.returncode in asked else 0.0)
        self._tick()
        while time.monotonic() < deadline:
            time.sleep(TICK_S)
            self._tick()

    def _ended(self, timeout_s: float) -> bool:
        """Waits for the worker's exit without reaping it, so that its group id cannot be reused."""
        deadline = time.monotonic() + timeout_s
        while self._process.returncode is None:
            try:
                if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None:
                    return True
            except ChildProcessError:  # reaped elsewhere
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return True

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _log_size(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def _blamed(self) -> ProcessFault:
        """Returns the one of several ranks that failed."""
        return blamed(self.hello.get("ranks", ()), process_state, self._printed())

    def _printed(self) -> str:
        """Returns the worker's output since its last answer: of a long one its beginning and its end."""
        try:
            with self._log.open("rb") as log:
                log.seek(self._log_start)
                first = log.read(_LOG_PART)
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start + len(first), end - _LOG_PART))
                gap = b"\n" if log.tell() > self._log_start + len(first) else b""
                return (first + gap + log.read()).decode(errors="replace")
        except OSError:
            return ""

    def _last_words(self) -> str:
        """Returns the first and last lines printed since the last answer, for the reason of a loss.

        A library says first why it gives up; what it then tears down prints more.
        """
        said = [_shortened(line.strip()) for line in self._printed().split("\n") if line.strip()]
        if len(said) > 2 * _WORDS_LINES:
            said = [*said[:_WORDS_LINES], "…", *said[-_WORDS_LINES:]]
        return f"; it last printed: {' | '.join(said)}" if said else ""


def _shortened(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _socket_place() -> tuple[PrivateFolder, Path]:
    """Returns a new private folder and a socket path in it that is short enough."""
    why, hint = "none of XDG_RUNTIME_DIR, TMPDIR, /tmp and /var/tmp can be written", NO_TEMPORARY
    session = os.environ.get("XDG_RUNTIME_DIR", "")
    own = [session] if session.startswith("/") and os.access(session, os.W_OK | os.X_OK) else []
    for base in (*own, *temporary_folders()):
        try:
            folder = PrivateFolder(Path(base))
        except OSError as error:
            why, hint = f"{base}: {error.strerror}", hint_for(error, writing=True) or NO_TEMPORARY
            continue
        path = folder.path / "socket"
        if len(os.fsencode(path)) <= SOCKET_PATH_LIMIT:
            return folder, path
        folder.remove()
        why = f"a socket below {base} has a path of more than {SOCKET_PATH_LIMIT} bytes"
        hint = "set TMPDIR to a folder with a shorter path: export TMPDIR=FOLDER"
    raise WorkerLost(f"cannot create a folder for the socket: {why}", hint=hint)
