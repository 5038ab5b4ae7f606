/** A careless agent of another make: a small HTTP server that answers with whatever events the message asks for. */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { sloppyEvents } from "./sloppy-runs.ts";

/** Starts it until the test has finished; gives its address. */
export async function sloppyServer(): Promise<string> {
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const input = JSON.parse(await text(request));
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of sloppyEvents(input)) response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end();
    };
    answer().catch((error: unknown) => response.destroy(error instanceof Error ? error : new Error(String(error))));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  return `http://127.0.0.1:${port}/`;
}
