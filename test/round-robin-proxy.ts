/**
 * A load balancer as small as can be: every request goes to the next server, whoever sent it. One that cannot be reached, or
 * says 503, is passed over, as nginx does with `proxy_next_upstream error http_503 non_idempotent`. It keeps nobody on one server.
 */
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A balancer at work. */
export interface RoundRobinProxy {
  /** Where it answers. */
  readonly url: string;
  /** The servers, which the test changes as they come and go. */
  readonly targets: string[];
  /** How often a server was passed over. */
  readonly passedOver: () => number;
}

/** Answers of servers that have nothing to say now. */
const UNAVAILABLE = 503;

/** Starts a balancer until the test has finished. */
export async function roundRobinProxy(servers: readonly string[]): Promise<RoundRobinProxy> {
  const targets = [...servers];
  let turn = 0;
  let passedOver = 0;

  /** The answer of the next server that has one; undefined where none has. */
  async function ask(asked: IncomingMessage, body: Buffer): Promise<IncomingMessage | undefined> {
    const first = turn++;
    for (let attempt = 0; attempt < targets.length; attempt++) {
      const target = targets[(first + attempt) % targets.length] ?? "";
      const headers = { ...asked.headers, host: new URL(target).host };
      const sent = send(target + asked.url, { method: asked.method, headers, agent: false }).end(body);
      const [answer]: (IncomingMessage | undefined)[] = await once(sent, "response").catch(() => []);
      if (answer !== undefined && answer.statusCode !== UNAVAILABLE) return answer;
      answer?.resume();
      passedOver += 1;
    }
    return undefined;
  }

  const server = createServer((asked, response) => void relay(asked, response, ask));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  return { url: `http://127.0.0.1:${port}`, targets, passedOver: () => passedOver };
}

async function relay(
  asked: IncomingMessage,
  response: ServerResponse,
  ask: (asked: IncomingMessage, body: Buffer) => Promise<IncomingMessage | undefined>,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of asked) chunks.push(chunk);
  const answer = await ask(asked, Buffer.concat(chunks));
  if (answer === undefined) return void response.writeHead(502).end();
  const { connection: _, "keep-alive": _alive, "transfer-encoding": _coding, ...headers } = answer.headers;
  response.writeHead(answer.statusCode ?? 502, headers).flushHeaders();
  // Whichever side breaks takes the other along.
  answer.on("error", () => response.destroy());
  response.on("close", () => answer.destroy());
  answer.pipe(response);
}
