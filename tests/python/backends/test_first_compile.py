"""The surroundings of a compile: the garbage collector's thresholds, and templates of Inductor's that are never rendered."""

import gc
import os
import threading
from collections.abc import Iterator

import jinja2
import pytest

from minidynamo.backends._collector import few_collections
from minidynamo.backends._inductor_import import templates_parsed_when_used


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield 700, 10, 10
    gc.set_threshold(*before)


def test_collections_are_rare_until_the_last_compiler_ends(thresholds: tuple[int, int, int]) -> None:
    with few_collections():
        rare = gc.get_threshold()
        assert rare[0] > 100 * thresholds[0]
        with few_collections():
            assert gc.get_threshold() == rare
        assert gc.get_threshold() == rare
    assert gc.get_threshold() == thresholds


def test_an_error_ends_it(thresholds: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="refused"), few_collections():
        raise ValueError("refused")
    assert gc.get_threshold() == thresholds


@pytest.mark.parametrize("own", [(0, 10, 10), (5_000_000, 5, 5)])
def test_a_collector_that_is_off_or_rarer_stays(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with few_collections():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_what_the_program_sets_meanwhile_stays() -> None:
    with few_collections():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


def test_threads(thresholds: tuple[int, int, int]) -> None:
    """The first that began is not the last that ends."""
    second_began, first_ended = threading.Event(), threading.Event()
    seen = []

    def first() -> None:
        with few_collections():
            second_began.wait(10)
        first_ended.set()

    def second() -> None:
        with few_collections():
            second_began.set()
            first_ended.wait(10)
            seen.append(gc.get_threshold())

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0][0] > thresholds[0]
    assert gc.get_threshold() == thresholds


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_forked_child_compiles_nothing(thresholds: tuple[int, int, int]) -> None:
    with few_collections():
        child = os.fork()
        if child == 0:
            os._exit(gc.get_threshold() != thresholds)
        assert os.waitpid(child, 0)[1] == 0


def test_templates_are_parsed_when_they_are_used() -> None:
    environment = jinja2.Environment()
    others = []
    with templates_parsed_when_used():
        template = environment.from_string("{{ a }} and {{ b }}")
        wrong = environment.from_string("{% endif %}")
        other = threading.Thread(target=lambda: others.append(environment.from_string("{{ a }}")))
        other.start()
        other.join()
    assert not isinstance(template, jinja2.Template)
    assert template.render(a=1, b=2) == "1 and 2"
    with pytest.raises(jinja2.TemplateSyntaxError):
        wrong.render()
    assert isinstance(others[0], jinja2.Template), "another thread's are as ever"
    assert isinstance(environment.from_string("{{ a }}"), jinja2.Template)
