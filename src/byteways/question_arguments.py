"""Methods that take a question in words, with the parameters of plan.question.question(), told once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from byteways.plan.question import Question

Words = ParamSpec("Words")
Self = TypeVar("Self")
Found = TypeVar("Found")


def with_question_arguments(
    question: Callable[Words, Question],
) -> Callable[[Callable[[Self, Question], Found]], Callable[Concatenate[Self, Words], Found]]:
    """Returns a decorator that gives a method the parameters of a function that makes questions.

    Args:
        question: Makes a question of its arguments; the section `Args:` of its docstring, which ends it or is
            followed by `Raises:`, is inserted into the method's before `Raises:`.
    """

    def decorator(
        method: Callable[[Self, Question], Found],
    ) -> Callable[Concatenate[Self, Words], Found]:
        @functools.wraps(method)
        def asked(self: Self, /, *words: Words.args, **restrictions: Words.kwargs) -> Found:
            return method(self, question(*words, **restrictions))

        itself, _ = inspect.signature(method).parameters.values()
        taken = inspect.signature(question).parameters.values()
        returned = inspect.signature(method).return_annotation
        # Seen by help(), completion and `?` in a notebook.
        asked.__signature__ = inspect.Signature([itself, *taken], return_annotation=returned)  # type: ignore[attr-defined]
        asked.__doc__ = _with_arguments(inspect.getdoc(method) or "", inspect.getdoc(question) or "")
        return asked

    return decorator


def _with_arguments(told: str, question: str) -> str:
    """Returns a docstring with the arguments that another one explains."""
    arguments = question[question.index("Args:") :].partition("\n\n")[0]
    summary, raises, errors = told.partition("Raises:")
    return f"{summary.rstrip()}\n\n{arguments}\n\n{raises}{errors}".rstrip()
