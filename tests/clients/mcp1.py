"""PyPI `mcp` 1.x."""
import asyncio
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from order import HEADERS, ORDER, report


def transport():
    if ORDER["way"] == "stdio":
        program, *arguments = ORDER["command"]
        return stdio_client(StdioServerParameters(command=program, args=arguments, env=dict(os.environ)))
    if ORDER["way"] == "sse":
        return sse_client(ORDER["url"], headers=HEADERS)
    return streamablehttp_client(ORDER["url"], headers=HEADERS)


async def main():
    async with transport() as streams:
        async with ClientSession(streams[0], streams[1]) as session:
            hello = await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            result = await session.call_tool(ORDER["tool"], ORDER["arguments"])
            try:
                await session.call_tool("no_such_tool", {})
                refused = False
            except Exception as error:
                refused = "no_such_tool" in str(error)
            report(hello.protocolVersion, tools, result.isError, refused)


asyncio.run(main())
