"""Launch mode `single`: one thread calls for all ranks, each with a GPU of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byteways import _core
from byteways.measuring.shared.request import CaseRequest
from byteways.measuring.work.answer import WorkerAnswer
from byteways.measuring.work.failures import failed_by, skipped
from byteways.measuring.work.measurer import open_session
from byteways.measuring.work.outcome import outcome_of, warnings_of
from byteways.measuring.work.outcome_fields import Outcome
from byteways.measuring.work.rank_ends import device_of, own_ends
from byteways.measuring.work.rank_measuring import MeasurerOfRanks, is_direct

if TYPE_CHECKING:
    from byteways._core import PeerCommunicator, Session, Xccl, XcclCommunicator


class SingleThreadMeasurer(MeasurerOfRanks):
    """Owns the buffers of all ranks."""

    def __init__(self, session: Session, simulator: str = "") -> None:
        super().__init__(session, 1, simulator)
        self._vendors: dict[tuple[str, ...], list[XcclCommunicator]] = {}  # by the GPUs of a case
        self._peers: dict[tuple[str, ...], list[PeerCommunicator]] = {}  # the same

    @classmethod
    def open(cls, simulator: str = "", machine: str = "") -> SingleThreadMeasurer:
        """Opens every runtime of this machine, or of the simulated one that sheet `machine` describes."""
        return cls(open_session(simulator, machine), simulator)

    def measure(self, request: CaseRequest) -> WorkerAnswer:
        return WorkerAnswer(self._outcome(request))

    def _outcome(self, request: CaseRequest) -> Outcome:
        case = request.case
        if request.fresh:
            self._arena.renew()
        ends = [own_ends(case, rank) for rank in case.members]
        devices = tuple(device_of(each) for each in ends)
        try:
            if reason := self._refusal(case, devices[0]):
                return skipped(reason)
            buffers = self._take(case, ends)
            library = self._library(case, devices[0])
            numbers = _core.ThreadRanks.make(len(devices))
            vendors = [None] * len(devices) if library is None else self._vendor_ranks(library, devices)
            peers = self._peer_ranks(devices) if is_direct(case) else [None] * len(devices)
            of_ranks = list(zip(devices, buffers, numbers, vendors, peers, strict=True))
            others = [self._flow(case, *of_rank) for of_rank in of_ranks[1:]]
            flow = self._flow(case, *of_ranks[0], others=others)
            measurement = self.session.measure([flow], self._options_of(request, case.members[0]))
            newness = self._newness(case, self._arena.all_new)
            outcome = outcome_of(case, measurement, buffers[:1], newness=newness)
            outcome["warnings"] += warnings_of(peers[0].obstacle if peers[0] is not None else "")
            return outcome
        except _core.Error as error:
            return failed_by(error, members=case.members)

    def _vendor_ranks(self, library: Xccl, devices: tuple[str, ...]) -> list[XcclCommunicator]:
        if not all(rank.usable for rank in self._vendors.get(devices, ())) or devices not in self._vendors:
            made = _core.XcclCommunicator.all(library, self.session, list(devices))
            self._vendors[devices] = made
        return self._vendors[devices]

    def _peer_ranks(self, devices: tuple[str, ...]) -> list[PeerCommunicator]:
        if devices not in self._peers:
            self._peers[devices] = _core.PeerCommunicator.all(self.session, list(devices))
        return self._peers[devices]
