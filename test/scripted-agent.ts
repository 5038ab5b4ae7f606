/** An agent endpoint for clients under test: answers every POST with the given values as Server-Sent Events. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface ScriptedAgent extends AsyncDisposable {
  readonly url: string;
  /** Bodies of the requests so far. */
  readonly requests: readonly unknown[];
}

export async function scriptedAgent(
  answer: (input: { threadId: string; runId: string }) => readonly unknown[],
): Promise<ScriptedAgent> {
  const requests: unknown[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const input = JSON.parse(body) as { threadId: string; runId: string };
      requests.push(input);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        answer(input)
          .map((value) => `data: ${JSON.stringify(value)}\n\n`)
          .join(""),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    requests,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
