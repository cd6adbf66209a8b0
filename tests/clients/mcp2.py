"""PyPI `mcp` 2.x."""
import asyncio
import os

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from order import HEADERS, ORDER, report


def transport():
    if ORDER["way"] == "stdio":
        program, *arguments = ORDER["command"]
        return StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    if ORDER["way"] == "sse":
        return sse_client(ORDER["url"], headers=HEADERS)
    return streamable_http_client(ORDER["url"], http_client=httpx2.AsyncClient(headers=HEADERS, timeout=30))


async def main():
    async with Client(transport(), mode=ORDER["mode"]) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool(ORDER["tool"], ORDER["arguments"])
        try:
            await client.call_tool("no_such_tool", {})
            refused = False
        except Exception as error:
            refused = "no_such_tool" in str(error)
        report(client.protocol_version, tools, result.is_error, refused)


asyncio.run(main())
