"""Serve the verbs to agents by the Model Context Protocol, on standard input and output: `sentviz serve --mcp` (extra: serve).

The tools only read, and have the limits of requests over HTTP. A mistake in a call is answered with the sentence that says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sentviz.doors.asking import RequestError, RunPool, checked, remote_verbs, request_of
from sentviz.errors import RunError, SentvizError
from sentviz.io.files import version

try:
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool, ToolAnnotations
except ImportError:
    raise RunError("Serving agents needs the package mcp: `python -m pip install 'sentviz[serve]'`.") from None

ABOUT = (
    "sentviz says why a text classifier decides as it does. `catalog` lists the runs; `predict` and `explain` read texts; `compare`,"
    " `weak`, `labels` and `behave` judge runs on rows; `verdict` looks up claims of papers. Each answer names the run and its digest."
)


def server(names: Iterable[str] = ()) -> Server[Any]:
    """Return the server of the tools, one for each verb that strangers may ask for.

    Args:
        names: runs to serve; by default all runs with weights.
    Raises:
        RunError: there is no run with weights of one of the names.
    """
    pool, verbs = RunPool(names), {verb.name: verb for verb in remote_verbs()}
    tools = [
        Tool(
            name=verb.name,
            description=verb.help,
            input_schema=request_of(verb).model_json_schema(),
            annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        for verb in verbs.values()
    ]

    async def list_tools(context: Any, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=tools)

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        if (verb := verbs.get(params.name)) is None:
            return _told(f"There is no tool of this name. The tools are {', '.join(verbs)}.")
        try:
            answer = await pool.ask(verb, checked(verb, params.arguments or {}))
        except (SentvizError, RequestError) as error:
            return _told(str(error))
        return CallToolResult(content=[TextContent(text=json.dumps(answer, ensure_ascii=False))], structured_content=answer)

    return Server("sentviz", version=version(), instructions=ABOUT, on_list_tools=list_tools, on_call_tool=call_tool)


def _told(why: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=why)], is_error=True)


async def serve(names: Iterable[str] = ()) -> None:
    """Answer on standard input and output until the agent ends."""
    async with stdio_server() as (reading, writing):
        of_agents = server(names)
        await of_agents.run(reading, writing, of_agents.create_initialization_options())
