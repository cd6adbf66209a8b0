// npm `@modelcontextprotocol/sdk` 1.x.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { options, order, work } from './order.mjs';

function transport() {
  if (order.way === 'stdio') return new StdioClientTransport({ command: order.command[0], args: order.command.slice(1), env: process.env });
  const Kind = order.way === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Kind(new URL(order.url), options);
}

const line = transport();
await work(new Client({ name: 'deskhand-test', version: '1' }), line, () => line.protocolVersion);
