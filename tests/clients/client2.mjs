// npm `@modelcontextprotocol/client` 2.x.
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { options, order, work } from './order.mjs';

function transport() {
  if (order.way === 'stdio') return new StdioClientTransport({ command: order.command[0], args: order.command.slice(1), env: process.env });
  const Kind = order.way === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  return new Kind(new URL(order.url), options);
}

const mode = /^\d/.test(order.mode) ? { pin: order.mode } : order.mode;
const client = new Client({ name: 'deskhand-test', version: '1' }, { versionNegotiation: { mode } });
await work(client, transport(), () => client.getNegotiatedProtocolVersion?.());
