/**
 * A reverse proxy as clients meet them: it cuts connections that are idle, cuts every connection at an age, and holds an
 * answer back until it is whole unless `X-Accel-Buffering: no` forbids that, as nginx does where nothing is configured.
 */
import { once } from "node:events";
import { createServer, request as send } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** When connections are cut. */
export interface CuttingProxyOptions {
  /** A connection on which nothing moved for so long is cut. */
  readonly idleMs: number;
  /** A connection that is as old as this is cut, whatever it does. */
  readonly ageMs: number;
}

/** A proxy at work. */
export interface CuttingProxy {
  /** The same server, through the proxy. */
  readonly url: string;
  /** How many connections were cut, and why. */
  readonly cuts: { idle: number; age: number };
  /** How many answers were held back until they were whole. */
  readonly held: () => number;
}

const HOP_BY_HOP: ReadonlySet<string> = new Set(["connection", "keep-alive", "transfer-encoding"]);

/** Puts a proxy in front of a server until the test has finished. */
export async function cuttingProxy(target: string, { idleMs, ageMs }: CuttingProxyOptions): Promise<CuttingProxy> {
  const cuts = { idle: 0, age: 0 };
  let held = 0;
  const server = createServer((request, response) => {
    const { host } = new URL(target);
    const { method, headers } = request;
    const sent = send(target + request.url, { method, headers: { ...headers, host }, agent: false });
    sent.on("response", (answer) => {
      if (answer.headers["x-accel-buffering"] !== "no") held++;
      passOn(answer, response);
    });
    // Whichever side breaks takes the other along.
    sent.on("error", () => response.destroy());
    response.on("close", () => sent.destroy());
    request.pipe(sent);
  });
  server.keepAliveTimeout = 0;
  server.setTimeout(idleMs, (socket) => {
    cuts.idle++;
    socket.destroy();
  });
  server.on("connection", (socket) => {
    const timer = setTimeout(() => {
      cuts.age++;
      socket.destroy();
    }, ageMs);
    socket.on("close", () => clearTimeout(timer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  return { url: `http://127.0.0.1:${port}`, cuts, held: () => held };
}

function passOn(answer: IncomingMessage, response: ServerResponse): void {
  const headers = Object.entries(answer.headers).filter(([name]) => !HOP_BY_HOP.has(name));
  response.writeHead(answer.statusCode ?? 502, Object.fromEntries(headers));
  answer.on("error", () => response.destroy());
  if (answer.headers["x-accel-buffering"] === "no") {
    response.flushHeaders();
    answer.pipe(response);
    return;
  }
  const chunks: Buffer[] = [];
  answer.on("data", (chunk: Buffer) => chunks.push(chunk));
  answer.on("end", () => response.end(Buffer.concat(chunks)));
}
