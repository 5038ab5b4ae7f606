/**
 * A client over its whole life: a server that is killed and comes back, WebSockets that are blocked, a server that tells
 * what cannot be applied, and an end that leaves nothing behind.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { connect } from "../src/client/index.ts";
import type { ConnectOptions, HeddleClient } from "../src/client/index.ts";
import { encodeSse } from "../src/protocol/index.ts";
import type { Event } from "../src/protocol/index.ts";
import { serve } from "../src/server/fastify/index.ts";
import { eventsOf, expectExact, lastText, statesOf, until } from "./client-witness.ts";
import { startGates } from "./gate.ts";
import { startServer } from "./server-process.ts";
import { SAID, WORDS, steppedAgent } from "./stepped-agent.ts";
import { frontend } from "./stock-client-agents.ts";

const clients: HeddleClient[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});
const clientOf = (url: string, options: ConnectOptions): HeddleClient => {
  const client = connect(url, { retry: { firstMs: 1, mostMs: 50 }, ...options });
  clients.push(client);
  return client;
};

describe.each(["sse", "websocket"] as const)("by %s", (transport) => {
  test("a server that is killed and comes back", async () => {
    const folder = mkdtempSync(join(tmpdir(), "heddle-client-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const how = { files: ["test/crash-agents.ts"], store: `sqlite:${join(folder, "heddle.db")}` };
    const gates = await startGates();
    const first = await startServer(how);
    const client = clientOf(first.url, { transport });
    const thread = client.thread("t1");
    const states = statesOf(thread);
    thread.attach();
    const run = thread.run("counts", { forwardedProps: { gates: gates.url } }, { runId: "r1" });
    const seen = eventsOf(run);
    await until(thread, () => String(lastText(thread)).includes("20 "));
    await first.kill();
    const second = await startServer({ ...how, port: Number(new URL(first.url).port) });
    expect(await run.finished).toMatchObject({ status: "failed", error: { code: "worker-lost" } });
    await expectExact(thread, second.url, await seen);
    expect(gates.visits("r1")).toBe(1);
    gates.open("r2");
    const again = thread.run("counts", { forwardedProps: { gates: gates.url } }, { runId: "r2" });
    expect((await again.finished).status).toBe("finished");
    await expectExact(thread, second.url);
    expect(states).toContain("reconnecting");
    expect(states).not.toContain("ended");
    client.close();
    await second.stop();
  }, 30_000);

  test("a client that was closed leaves nothing behind", async () => {
    const server = await serve({ agents: [frontend], port: 0, shutdownGraceMs: 10 });
    const child = spawn(process.execPath, ["test/client-child.ts", server.url, transport], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill());
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    while (!printed.includes("open")) await once(child.stdout, "data");
    const closedAtMs = performance.now();
    child.stdin.end("close\n");
    const [code] = await once(child, "close");
    expect(code).toBe(0);
    expect(printed).toContain("HeddleError");
    // Well below the seconds after which claims, silence and retries would have ended by themselves.
    expect(performance.now() - closedAtMs).toBeLessThan(3000);
    await server.close();
  }, 20_000);
});

test("where WebSockets are blocked, everything goes by Server-Sent Events", async () => {
  const { agent, step } = steppedAgent();
  const server = await serve({ agents: [agent], port: 0, shutdownGraceMs: 10 });
  let upgrades = 0;
  const blocking = createServer((incoming, outgoing) => {
    const { method, headers, url } = incoming;
    const onward = request(server.url + url, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  blocking.on("upgrade", (_request, socket) => {
    upgrades += 1;
    socket.end("HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n");
  });
  blocking.listen(0, "127.0.0.1");
  await once(blocking, "listening");
  const { port }: AddressInfo = Object(blocking.address());
  const client = clientOf(`http://127.0.0.1:${port}`, { transport: "websocket" });
  const thread = client.thread("t1");
  step(thread.id, WORDS.length);
  const run = thread.run("stepped", "Count");
  expect((await run.finished).status).toBe("finished");
  expect(lastText(thread)).toBe(SAID);
  thread.attach();
  await until(thread, () => thread.connection === "caught-up");
  expect(upgrades).toBe(1);
  client.close();
  blocking.closeAllConnections();
  blocking.close();
  await server.close();
});

const cursor = (seq: number): string => `log_${String(seq).padStart(16, "0")}`;

test("what cannot be applied is fetched anew, once", async () => {
  const started: Event = { type: "RUN_STARTED", threadId: "t1", runId: "r1", metadata: { heddle: { lineage: {} } } };
  const snapshot: Event = { type: "STATE_SNAPSHOT", snapshot: { count: 1 } };
  const wrong: Event = { type: "STATE_DELTA", delta: [{ op: "replace", path: "/nowhere/at/all", value: 1 }] };
  const right: Event = { type: "STATE_DELTA", delta: [{ op: "replace", path: "/count", value: 2 }] };
  const asked: string[] = [];
  const wrongServer = createServer((incoming, outgoing) => {
    const { searchParams } = new URL(incoming.url ?? "", "http://localhost");
    asked.push(searchParams.get("after") ?? (searchParams.get("prelude") === "true" ? "prelude" : "all"));
    outgoing.writeHead(200, { "content-type": "text/event-stream" });
    // A prelude, what does not fit it, and what does.
    outgoing.write(`${encodeSse(started)}${encodeSse(snapshot, cursor(2))}`);
    outgoing.write(`${encodeSse(wrong, cursor(3))}${encodeSse(right, cursor(4))}: caught-up\n\n`);
  }).listen(0, "127.0.0.1");
  await once(wrongServer, "listening");
  const { port }: AddressInfo = Object(wrongServer.address());
  const client = clientOf(`http://127.0.0.1:${port}`, { transport: "sse" });
  const thread = client.thread("t1");
  thread.attach();
  await until(thread, () => thread.connection === "caught-up");
  expect(thread.state).toEqual({ count: 2 });
  expect(asked).toEqual(["prelude", "prelude"]);
  client.close();
  wrongServer.closeAllConnections();
  wrongServer.close();
});
