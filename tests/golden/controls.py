"""Find what a visitor can operate on a page of Streamlit's test harness, and make the state that a browser sends for it.

The harness has no clicks on charts, rows of tables, drawers and our own views. Their states are made here as a browser makes them.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Widget

TYPED = "a tender, dull song"  # a sentence of words that the small runs know
NUMBERED = re.compile(r"-*[0-9a-f]{10,}")  # parts of keys that differ from process to process
Send = Callable[[WidgetState], None]


@dataclass(frozen=True)
class Control:
    """Something that a visitor can operate.

    Attributes:
        name: its kind, and its key or label, with a number if there are several of them.
        node: its element or block.
        id: by which the browser sends its state.
    """

    name: str
    node: Any
    id: str
    proto: Any


def controls(app: AppTest) -> Iterator[Control]:
    """Yield all that can be operated, in the order of the page: widgets, drawers, and charts, tables and views that take clicks."""
    seen: Counter[str] = Counter()
    for node in app._tree:
        proto = getattr(node, "proto", None)
        if isinstance(node, Block) and proto is not None and node.type in ("popover", "flex_container"):
            proto = getattr(proto, node.type, proto)
        own = str(getattr(proto, "id", "") or "")
        takes = isinstance(node, Widget) or (isinstance(node, Block) and node.type == "expander")
        if not own or getattr(proto, "disabled", False):
            continue
        if not takes and not (node.type == "bidi_component" or list(getattr(proto, "selection_mode", ())) or editable(node)):
            continue
        name = f"{node.type} {NUMBERED.sub('…', key_of(own)).replace(str(Path.cwd()), '') or getattr(node, 'label', '')}"
        seen[name] += 1
        yield Control(name if seen[name] == 1 else f"{name} ({seen[name]})", node, own, proto)


def editable(node: Any) -> bool:
    """Return whether a table can be edited."""
    return node.type == "dataframe" and node.editing_mode != "read_only"


def key_of(id: str) -> str:
    """Return the key that the page gave an element; "" if it gave none."""
    key = id.split("-", 2)[-1] if id.startswith("$$ID-") else ""
    return "" if key == "None" else key


# ---- what a click sends


def operate(control: Control) -> Iterator[tuple[str, Send]]:
    """Yield what a visitor can do first with a control: words for it, and what fills the state that the browser sends."""
    node, proto = control.node, control.proto
    match node.type:
        case "button":
            yield "pressed", lambda state: setattr(state, "trigger_value", True)
        case "checkbox" | "toggle":
            yield f"{not node.value}", lambda state: setattr(state, "bool_value", not node.value)
        case "expander":
            yield "opened" if not proto.expanded else "closed", lambda state: setattr(state, "bool_value", not proto.expanded)
        case "selectbox" | "radio":
            options = list(proto.options)
            now = options.index(state_of(node).string_value) if state_of(node).string_value in options else -1
            if options and (word := options[(now + 1) % len(options)]) != state_of(node).string_value:
                yield word, lambda state: setattr(state, "string_value", word)
        case "button_group" | "multiselect":
            yield from pills(node)
        case "select_slider" | "slider":
            yield from slide(node, proto)
        case "number_input":
            step = proto.step or 1
            value = node.value if node.value is not None else (proto.min if proto.has_min else 0)
            up = value - step if proto.has_max and value + step > proto.max else value + step
            yield f"{up:g}", lambda state: setattr(state, "double_value", up)
        case "text_input" | "text_area":
            yield f"“{TYPED}”", lambda state: setattr(state, "string_value", TYPED)
        case "file_uploader":
            yield "a file", lambda state: None
        case "dataframe":
            yield from table(node, proto)
        case "plotly_chart":
            for words, point in points(json.loads(proto.spec)):
                chosen = {"selection": {"points": [point], "point_indices": [point["point_number"]], "box": [], "lasso": []}}
                yield words, lambda state, chosen=chosen: setattr(state, "string_value", json.dumps(chosen))
        case "bidi_component":
            for event, answer in EVENTS.get(proto.component_name.rpartition(".")[2], lambda data: {})(sent_to(proto)).items():
                text = json.dumps({event: answer})
                yield event, lambda state, text=text: setattr(state, "json_value", text)


def state_of(node: Any) -> Any:
    """Return the state of a widget as the browser has it."""
    return node._widget_state


def pills(node: Any) -> Iterator[tuple[str, Send]]:
    """Yield the choice of the next option, or of one more or one less if several can be chosen."""
    options = [each if isinstance(each, str) else each.content for each in node.proto.options]
    now = list(state_of(node).string_array_value.data)
    if node.type == "multiselect" or not node._is_single_select:
        free = [each for each in options if each not in now]
        new = [*now, free[0]] if free else now[:-1]
    elif options:
        new = [options[(options.index(now[0]) + 1 if now and now[0] in options else 0) % len(options)]]
    else:
        return
    if new != now:
        yield ", ".join(new) or "nothing", lambda state: state.string_array_value.data.extend(new)


def slide(node: Any, proto: Any) -> Iterator[tuple[str, Send]]:
    """Yield one step up, or down from the end, of the last handle of a slider."""
    if node.type == "select_slider":
        now = list(state_of(node).string_array_value.data)
        options = list(proto.options)
        place = options.index(now[-1])
        new = [*now[:-1], options[place + 1 if place + 1 < len(options) else max(0, place - 1)]]
        yield ", ".join(new), lambda state: state.string_array_value.data.extend(new)
        return
    values = list(state_of(node).double_array_value.data)
    last = values[-1] + proto.step if values[-1] + proto.step <= proto.max else values[-1] - proto.step
    yield f"{last:g}", lambda state: state.double_array_value.data.extend([*values[:-1], last])


def table(node: Any, proto: Any) -> Iterator[tuple[str, Send]]:
    """Yield the choice of the second row, or the change of the last text of the first row."""
    frame = node.value
    if not len(frame):
        return
    if editable(node):
        column = str(frame.columns[-1])
        edits = {"edited_rows": {"0": {column: "tender"}}, "added_rows": [], "deleted_rows": []}
        yield f"“{column}” edited", lambda state: setattr(state, "string_value", json.dumps(edits))
        return
    row = min(1, len(frame) - 1)
    chosen = {"selection": {"rows": [row], "columns": [], "cells": []}}
    yield f"row {row}", lambda state: setattr(state, "string_value", json.dumps(chosen))


def points(figure: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the second point of the first trace whose points say what they are, as a browser describes it.

    Cells take no clicks: the invisible marks in their middles do.
    """
    marks_first = sorted(enumerate(figure["data"]), key=lambda pair: pair[1].get("marker", {}).get("opacity") != 0)
    for place, trace in marks_first:
        custom = plain(trace.get("customdata")) or plain(trace.get("ids"))
        if not custom and not trace.get("z"):
            continue
        x, y, at = plain(trace.get("x")), plain(trace.get("y")), 1
        if trace.get("type") == "heatmap":
            grid = plain(trace["z"])
            row, column = min(1, len(grid) - 1), 0
            where = {"x": x[column] if x else column, "y": y[row] if y else row, "point_index": [row, column]}
            own = custom[row][column] if custom else None
        else:
            at = min(1, len(custom) - 1)
            where = {"x": x[at] if x else None, "y": y[at] if y else None, "point_index": at}
            own = custom[at]
        yield f"point {where['x']}, {where['y']}", {"curve_number": place, "point_number": at, "customdata": own} | where
        return


def plain(values: Any) -> Any:
    """Return an array of a chart's JSON as lists."""
    if isinstance(values, Mapping) and "bdata" in values:
        array = np.frombuffer(base64.b64decode(values["bdata"]), np.dtype(values["dtype"]))
        shape = [int(size) for size in str(values.get("shape", "")).split(",") if size.strip()]
        return (array.reshape(shape) if shape else array).tolist()
    return values


def sent_to(proto: Any) -> dict[str, Any]:
    """Return the data that a view of ours gets."""
    if proto.WhichOneof("data") == "bytes":
        size = int.from_bytes(proto.bytes[:4], "little")
        return dict(json.loads(proto.bytes[4 : 4 + size]))
    return dict(json.loads(proto.json)) if proto.json else {}


EVENTS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "canvas": lambda data: {"pick": {"at": [1, -1, 0]}, "silence": {"at": [0, 1]}, "pin": {"at": [1]}},
    "particles": lambda data: {"token": {"id": data["id"], "index": 0, "layer": 1}, "point": [0.5, -0.25]},
    "points": lambda data: {
        "layer": 0,
        "outline": {"picture": data["picture"], "layer": data["layer"], "corners": [[-1e3, -1e3], [1e3, -1e3], [0, 1e3]]},
    },
    "through": lambda data: {"row": {"row": 1}},
    "attention_map": lambda data: {"cell": {"id": data["id"], "at": [1, 0]}, "window": {"id": data["id"], "at": [0, 1, 0, 1]}},
    "claim_list": lambda data: {"pick": data["rows"][1]["verdicts"][0]["key"]},
}
"""What a browser answers after each event of a view of ours, by the view's name, for the data that the view got."""


def chosen(proto: Any, words: str) -> str:
    """Return the option of a control that begins with some words; the words themselves if it has no options."""
    options = [each if isinstance(each, str) else each.content for each in getattr(proto, "options", ())]
    return next(each for each in options if each.startswith(words)) if options else words


def put(kind: str, value: str, state: WidgetState) -> None:
    """Fill the state of a control that takes texts or options."""
    if kind in ("button_group", "multiselect", "select_slider"):
        state.string_array_value.data.append(value)
    elif kind == "number_input":
        state.double_value = float(value)
    else:
        state.string_value = value
