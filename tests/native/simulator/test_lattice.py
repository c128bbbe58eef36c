"""The data of application patterns: what ranks compute together is what one rank computes, in closed form."""

from __future__ import annotations

from .conftest import Play


def test_tiles_hold_what_one_rank_computes(play: Play) -> None:
    """Catches a face that is packed, unpacked or mirrored a cell too far, and corners that are left out."""
    told = play("tiles")["wrong"]
    assert len(told) == 6 and {wrong for *_, wrong in told} == {"0"}


def test_closed_form_after_any_number_of_steps(play: Play) -> None:
    """Catches a factor that is not the stencil's, or that vanishes modulo 2^64 after some steps."""
    told = dict(play("closed-form")["wrong"])
    assert told == dict.fromkeys(("0", "1", "2", "64", "500"), "0")


def test_symbolic_tiles_are_what_real_memory_holds(play: Play) -> None:
    """Catches a tile that changes when it is moved, and equal runs that are not joined."""
    assert play("symbolic-tile") == {"wrong": [["0"]]}
