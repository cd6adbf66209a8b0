// What a JavaScript client is to do, from the environment, and how it tells what came of it; as order.py.
export const order = JSON.parse(process.env.ORDER);
export const options = { requestInit: { headers: { Authorization: `Bearer ${order.token}` } } };

export async function work(client, transport, revision) {
  try {
    await client.connect(transport);
    const tools = (await client.listTools()).tools.map(tool => tool.name);
    const result = await client.callTool({ name: order.tool, arguments: order.arguments });
    const refused = await client.callTool({ name: 'no_such_tool', arguments: {} }).then(
      () => false,
      error => error.code === -32602,
    );
    const report = { revision: String(revision() ?? ''), tools, failed: result.isError === true, unknown_refused: refused };
    console.log(JSON.stringify(report));
    await client.close();
    process.exit(0);
  } catch (error) {
    console.error(`${error.name}: ${error.message}`);
    process.exit(1);
  }
}
