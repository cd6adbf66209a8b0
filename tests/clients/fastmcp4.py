"""PyPI `fastmcp`."""
import asyncio
import os

from fastmcp import Client
from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport
from order import HEADERS, ORDER, report


def transport():
    if ORDER["way"] == "stdio":
        program, *arguments = ORDER["command"]
        return StdioTransport(program, arguments, env=dict(os.environ))
    kind = SSETransport if ORDER["way"] == "sse" else StreamableHttpTransport
    return kind(ORDER["url"], headers=HEADERS)


async def main():
    async with Client(transport()) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool(ORDER["tool"], ORDER["arguments"], raise_on_error=False)
        try:
            await client.call_tool("no_such_tool", {})
            refused = False
        except Exception as error:
            refused = "no_such_tool" in str(error)
        report(getattr(client, "protocol_version", None) or "", tools, result.is_error, refused)


asyncio.run(main())
