"""Verbs for strangers: requests from their signatures, runs by name, limits, and a queue. HTTP and agents ask through it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin

from sentviz.errors import InputError, RunError, SentvizError, Stopped
from sentviz.io.arguments import Arg, Argument, bind
from sentviz.io.numbers import plain
from sentviz.models.loading import load
from sentviz.runs import store
from sentviz.runs.store import Run
from sentviz.verbs import VERBS, OptionError, Verb
from sentviz.verbs.sources import StoredRun

try:
    from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, create_model
except ImportError:
    raise RunError("Serving needs the packages fastapi and uvicorn: `python -m pip install 'sentviz[serve]'`.") from None

if TYPE_CHECKING:
    from sentviz.models.model import Model

Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """Limits of the size, time and number of requests."""

    size: int = 1 << 20  # bytes of the body
    seconds: float = 30.0  # time limit of each step: sending the body, computing, and reading the response
    head: float = 10.0  # seconds to send the headers
    connections: int = 64  # open connections; with one more, the client that the server has waited for longest is disconnected
    at_once: int = 2  # requests that are computed in parallel
    waiting: int = 16  # requests that may wait; further ones get status 503


LIMITS = Limits()


class RequestError(Exception):
    """A request that is rejected, with its HTTP status."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def remote_verbs() -> tuple[Verb, ...]:
    """Return the verbs that strangers may ask for."""
    return tuple(verb for verb in VERBS.values() if verb.remote)


@cache
def request_of(verb: Verb) -> type[BaseModel]:
    """Return the class of a verb's requests: its arguments, except those that name files or packages, with the limits of `Arg`."""
    named = {each.name: _field(each) for each in verb.arguments if not each.about.local}
    config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)
    about = verb.help.partition("Raises:")[0].strip()
    created: type[BaseModel] = create_model(f"{verb.name.capitalize()}Request", __config__=config, __doc__=about, **named)  # type: ignore[call-overload]
    return created


def _field(each: Argument) -> tuple[Any, Any]:
    """Return the type and the limits of an argument, as pydantic reads them."""
    about = each.about
    kind: Any = _kind(each.kind, about)
    if each.many:
        kind = Annotated[list[kind], Field(min_length=int(each.required), max_length=about.several)]
    more: dict[str, Any] = {"description": about.help, "examples": None if about.example is None else [about.example]}
    if about.also:
        more["validation_alias"] = AliasChoices(each.name, *about.also)
    if each.required or (about.run and not each.many):
        return kind, Field(**more)
    default = list(each.default) if isinstance(each.default, tuple) else each.default
    return (kind if default is not None else kind | None), Field(default, **more)


def _kind(kind: Any, about: Arg) -> Any:
    if kind is str:
        return Annotated[str, Field(max_length=about.size)]
    if kind is int or kind is float:
        return Annotated[kind, Field(ge=about.least, le=about.most)]
    if get_origin(kind) is tuple:
        parts = get_args(kind)
        element = _kind(parts[0], about) if len(set(parts)) == 1 else Any
        return Annotated[list[element], Field(min_length=len(parts), max_length=len(parts))]  # type: ignore[valid-type]
    return Any if kind is object else kind


class RunPool:
    """Runs by name with a cache of loaded models, and a thread pool with a limited queue. Thread-safe."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self._pool, self._open = ThreadPoolExecutor(LIMITS.at_once, "serve"), 0
        self._loading, self._counting = threading.Lock(), threading.Lock()
        self._load = lru_cache(maxsize=4)(lambda folder, digest: load(folder))
        if missing := sorted(self.names - self.runs().keys()):
            raise RunError(f"There is no run {missing[0]!r} with weights. `sentviz catalog` lists the runs.")

    def runs(self) -> dict[str, Run]:
        """Return the runs with weights by name: all available ones, or those that the server was started with."""
        with_weights = {name: run for name, run in store.runs().items() if isinstance(run, Run) and run.has_weights}
        return {name: run for name, run in with_weights.items() if not self.names or name in self.names}

    def run(self, name: str) -> Run:
        """Return a run. Raises RequestError if there is no run of this name."""
        if (run := self.runs().get(name)) is None:
            raise RequestError(404, "There is no run of this name. GET /runs lists the runs.")
        return run

    def open(self, name: str) -> tuple[Run, Model]:
        """Return a run and its model. Raises RequestError if there is no run of this name."""
        run = self.run(name)
        with self._loading:
            return run, self._load(Run(run.name, run.folder), run.digest)

    async def ask(self, verb: Verb, request: BaseModel) -> dict[str, Any]:
        """Return what a verb answers to a request, as plain numbers and texts, with name and digest of its run."""

        def compute(check: Callable[[], None]) -> dict[str, Any]:
            return self.answer(verb, request.model_dump(exclude_unset=True), check)

        return await self.do(compute)

    def answer(self, verb: Verb, values: dict[str, Any], check: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Return what a verb answers; `check` is called while it works, and may raise Stopped.

        Raises:
            RequestError: there is no such run.
        """
        values = {name: tuple(value) if isinstance(value, list) and name != "scores" else value for name, value in values.items()}
        call, about = bind(verb.function, values), dict[str, Any]()
        for each in (each for each in verb.arguments if each.about.run and each.name in values):
            if each.many:
                runs = [self.run(name) for name in values[each.name]]
                about["digests"] = {run.name: run.digest for run in runs}
            elif isinstance(source := call[each.path[0]], StoredRun):
                run, model = self.open(values[each.name])
                call[each.path[0]] = replace(source, opened=(run, model.stoppable(check)))
                about |= {"run": run.name, "digest": run.digest}
        if verb.progress:
            call["progress"] = lambda done, total: check()
        try:
            result = verb.function(**call)
        except OptionError as error:
            raise SentvizError(str(error).replace("--", "")) from None
        numbers = plain(result.json())
        if verb.name == "catalog" and self.names:
            numbers["rows"] = [row for row in numbers["rows"] if row["run"] in self.names]
        remarks = {"remarks": list(result.remarks)} if result.remarks else {}
        return about | ({"results": numbers} if isinstance(numbers, list) else numbers) | remarks

    async def do(self, work: Callable[[Callable[[], None]], Result]) -> Result:
        """Run `work` on a thread, within the limits. Its argument raises Stopped if the client no longer waits for the result."""
        with self._counting:
            if self._open >= LIMITS.at_once + LIMITS.waiting:
                raise RequestError(503, "The server is busy. Please try again in a moment.")
            self._open += 1
        left = threading.Event()

        def check() -> None:
            if left.is_set():
                raise Stopped

        future = self._pool.submit(work, check)
        future.add_done_callback(lambda _: self._done())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), LIMITS.seconds)
        except TimeoutError:
            raise RequestError(504, f"This took more than {LIMITS.seconds:g} seconds. Please send less in one request.") from None
        finally:
            left.set()

    def _done(self) -> None:
        with self._counting:
            self._open -= 1


def checked(verb: Verb, values: Any) -> BaseModel:
    """Return the request for a verb. Raises InputError, whose sentence names the first fault."""
    try:
        return request_of(verb).model_validate(values)
    except ValidationError as error:
        raise InputError(first_fault(error)) from None


def first_fault(error: Any, *, below: int = 0) -> str:
    """Return the first fault of a request as a sentence, without the data that was sent.

    Args:
        below: number of parts of its place that people did not write.
    """
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"][below:])[:80]
    return f"{field or 'The body'}: {first['msg'][:1].lower()}{first['msg'][1:200]}."
