"""Autocast regions of a graph, in the form in which other front ends give them to a backend.

Entering `torch.autocast` is four calls that set the thread's state, and leaving it four or five; a trace records these, and they run
fast. A backend that traces the graph again (`make_fx(..., pre_dispatch=True)`, as torch.export does) sees none of them, though: it
knows `torch.amp.autocast_mode._enter_autocast` and `_exit_autocast`, and would compute in the dtypes of no autocast at all.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch.amp import autocast_mode
from torch.fx import Graph, GraphModule, Node

__all__ = ["name_regions"]

_ENTER = (
    torch.set_autocast_enabled,
    torch.set_autocast_dtype,
    torch.autocast_increment_nesting,
    torch.set_autocast_cache_enabled,
)
_LEAVE = (
    torch.autocast_decrement_nesting,
    torch.set_autocast_enabled,
    torch.set_autocast_dtype,
    torch.set_autocast_cache_enabled,
)


@dataclasses.dataclass(frozen=True)
class _State:
    """The settings of autocast on a device."""

    device: str
    enabled: bool
    dtype: torch.dtype
    cache_enabled: bool


@dataclasses.dataclass
class _Region:
    enter: list[Node]
    inside: _State
    before: _State


def name_regions(graph_module: GraphModule) -> None:
    """Replaces the calls that enter and leave a region by `_enter_autocast` and `_exit_autocast`, in the graph itself.

    Regions that a graph enters or leaves only (a graph break lies in between) stay as they are. The thread's state has to be the one
    that the graph begins with.
    """
    graph = graph_module.graph
    if not graph.find_nodes(op="call_function", target=torch.autocast_increment_nesting):
        return
    nodes = list(graph.nodes)
    states = _States()
    open_regions: list[_Region] = []
    changed = False
    at = 0
    while at < len(nodes):
        if (inside := _set_by(nodes, at, _ENTER)) is not None:
            open_regions.append(_Region(nodes[at : at + 4], inside, states.of(inside.device)))
            states.set(inside)
            at += 4
        elif nodes[at].target is torch.autocast_decrement_nesting:
            leave = [nodes[at]]
            if at + 1 < len(nodes) and nodes[at + 1].target is torch.clear_autocast_cache:
                leave.append(nodes.pop(at + 1))
            after = _set_by(nodes, at, _LEAVE)
            if after is not None and open_regions and open_regions[-1].before == after:
                leave += nodes[at + 1 : at + 4]
                _name(graph, open_regions.pop(), leave)
                changed = True
            else:
                open_regions.clear()
            if after is not None:
                states.set(after)
            at += 4 if after is not None else 1
        else:
            states.follow(nodes[at])
            at += 1
    if changed:
        graph_module.recompile()


class _States:
    """The state of each device, from one node of the graph to the next."""

    def __init__(self) -> None:
        self._cache_enabled = torch.is_autocast_cache_enabled()
        self._known: dict[str, tuple[bool, torch.dtype]] = {}

    def of(self, device: str) -> _State:
        if device not in self._known:
            self._known[device] = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
        return _State(device, *self._known[device], self._cache_enabled)

    def set(self, state: _State) -> None:
        self._known[state.device] = state.enabled, state.dtype
        self._cache_enabled = state.cache_enabled

    def follow(self, node: Node) -> None:
        """Follows a call that sets a state by itself."""
        if node.target is torch.set_autocast_enabled and len(node.args) == 2:
            device, enabled = node.args
            self._known[str(device)] = bool(enabled), self.of(str(device)).dtype
        elif node.target is torch.set_autocast_dtype:
            device, dtype = node.args
            assert isinstance(dtype, torch.dtype)
            self._known[str(device)] = self.of(str(device)).enabled, dtype
        elif node.target is torch.set_autocast_cache_enabled:
            self._cache_enabled = bool(node.args[0])


def _set_by(nodes: Sequence[Node], at: int, targets: tuple[Any, ...]) -> _State | None:
    """The state that the calls from `at` on set, if they are those and all of one device."""
    calls = nodes[at : at + len(targets)]
    if [call.target for call in calls] != list(targets):
        return None
    arguments: dict[Any, tuple[Any, ...]] = {call.target: call.args for call in calls}
    by_device, dtypes = arguments[torch.set_autocast_enabled], arguments[torch.set_autocast_dtype]
    if len(by_device) != 2 or by_device[0] != dtypes[0]:
        return None
    return _State(str(by_device[0]), bool(by_device[1]), dtypes[1], bool(arguments[torch.set_autocast_cache_enabled][0]))


def _name(graph: Graph, region: _Region, leave: list[Node]) -> None:
    inside = region.inside
    with graph.inserting_before(region.enter[0]):
        entered = graph.call_function(autocast_mode._enter_autocast, (inside.device, inside.dtype, inside.enabled, inside.cache_enabled))
    with graph.inserting_before(leave[0]):
        left = graph.call_function(autocast_mode._exit_autocast, (entered,))
    entered.meta.update(region.enter[0].meta)
    left.meta.update(leave[0].meta)
    for node in (*region.enter, *leave):
        graph.erase_node(node)
