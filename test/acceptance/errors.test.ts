/**
 * Want 20. A model that refuses its key, and agents behind the gateway that fail in every way that agents do. Whoever runs
 * them sees a run that failed, with a reason that says what is wrong, at once and after a reload; nobody sees an empty success. A
 * stop is not one of these.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { RequestListener, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HttpAgent as Agent59 } from "@ag-ui/client-0.0.59";
import type { Event } from "heddle/protocol";
import { reduceAll } from "heddle/stream";
import { expect, onTestFinished, test } from "vitest";
import { startGates } from "../gate.ts";
import { startServer } from "../server-process.ts";
import { stockClient } from "./stock-client.ts";
import { connectTo, eventsOf, readLog, runState, verifyAll } from "./thread-log.ts";

const KEY = "sk-test-0123456789abcdef";

async function listening(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port }: AddressInfo = Object(server.address());
  return `http://127.0.0.1:${port}`;
}

/** A server of the outside world, until the test has finished. */
async function outside(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return listening(server);
}

/** Where a server was. */
async function gone(): Promise<string> {
  const server = createServer();
  const url = await listening(server);
  server.close();
  await once(server, "close");
  return url;
}

const refusing: RequestListener = (_, response) => {
  const error = {
    message: `Incorrect API key provided: ${KEY}.`,
    type: "invalid_request_error",
    code: "invalid_api_key",
  };
  response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ error }));
};

const STREAM = { "content-type": "text/event-stream" };
const STARTED = { type: "RUN_STARTED", threadId: "far", runId: "far" };
const SAID = [
  { type: "TEXT_MESSAGE_START", messageId: "m1", role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: "Half of " },
];
const sse = (...events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

/** A way to fail: what the agent does, and what is said about it. */
interface Failure {
  readonly answer: (response: ServerResponse) => void;
  readonly code: string;
  readonly reason: RegExp;
}

const FAILURES: Readonly<Record<string, Failure>> = {
  broken: {
    answer: (response) => response.writeHead(500).end("Traceback (most recent call last): …"),
    code: "agent-unreachable",
    reason: /broken answered with HTTP status 500/,
  },
  page: {
    answer: (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>"),
    code: "agent-response-invalid",
    reason: /page did not answer with an event stream/,
  },
  garbage: {
    answer: (response) => response.writeHead(200, STREAM).end(`${sse(STARTED, ...SAID)}data: {"type":\n\n`),
    code: "agent-response-invalid",
    reason: /garbage sent a frame that is no AG-UI event/,
  },
  wrong: {
    answer: (response) => response.writeHead(200, STREAM).end(sse(STARTED, { ...SAID[1], delta: 7 })),
    code: "event-invalid",
    reason: /delta/,
  },
  cut: {
    answer: (response) => {
      response.writeHead(200, STREAM).write(sse(STARTED, ...SAID), () => response.destroy());
    },
    code: "agent-stream-cut",
    reason: /cut broke off before its run had ended/,
  },
  unfinished: {
    answer: (response) => response.writeHead(200, STREAM).end(sse(STARTED, ...SAID)),
    code: "agent-stream-cut",
    reason: /unfinished stopped before its run had ended/,
  },
  empty: {
    answer: (response) => response.writeHead(200, STREAM).end(),
    code: "agent-stream-cut",
    reason: /empty stopped before its run had ended/,
  },
  sorry: {
    answer: (response) =>
      response
        .writeHead(200, STREAM)
        .end(sse(STARTED, ...SAID, { type: "RUN_ERROR", message: "No seats.", code: "full" })),
    code: "full",
    reason: /^No seats\.$/,
  },
};

/** Those who said something before. */
const SAID_HALF = ["garbage", "cut", "unfinished", "sorry"];

test("Errors. When the model returns 401 the UI shows that reason as a failed run, never as an empty success, and Stop is never shown as an error.", async () => {
  const gates = await startGates();
  const model = await outside(refusing);
  const agents = await outside((request, response) => {
    request.resume().on("end", () => FAILURES[request.url?.slice(1) ?? ""]?.answer(response));
  });
  const args = Object.keys(FAILURES).flatMap((name) => ["--agent", `${name}=${agents}/${name}`]);
  const server = await startServer({
    files: ["test/acceptance/scripted-agents.ts"],
    args: [...args, "--agent", `down=${await gone()}`],
    env: { OPENAI_BASE_URL: `${model}/v1`, OPENAI_API_KEY: KEY, OPENAI_MODEL: "gpt-test" },
  });
  const { url } = server;

  /** Runs an agent with the stock client, which has to show this failure, now and after a reload. */
  async function fails(agent: string, code: string, reason: RegExp): Promise<readonly Event[]> {
    const client = stockClient(`${url}/agents/${agent}`, agent);
    await client.send("Hello", { runId: "r1" }).catch(() => undefined);
    expect([agent, client.outcomes]).toEqual([agent, []]);
    expect(client.errors[0]).toMatch(new RegExp(`^${code}: `));
    const log = await readLog(url, agent);
    verifyAll(log);
    for (const events of [log, await eventsOf(await connectTo(url, agent, agent))]) {
      const end = events.at(-1);
      expect(end).toMatchObject({ type: "RUN_ERROR", code, message: expect.stringMatching(reason) });
      expect(JSON.stringify(end)).not.toContain(new URL(agents).port);
      expect(JSON.stringify(end)).not.toContain(KEY);
    }
    expect(await runState(url, agent, "r1")).toMatchObject({ status: "failed", error: { code } });
    return log;
  }

  await fails("assistant", "model-unauthorised", /Incorrect API key/);
  await fails("down", "agent-unreachable", /down cannot be reached \(ECONNREFUSED\)/);
  for (const [agent, { code, reason }] of Object.entries(FAILURES)) {
    const { messages } = reduceAll(await fails(agent, code, reason));
    const said = messages.flatMap(({ role, content }) => (role === "assistant" ? [content] : []));
    expect([agent, said]).toEqual([agent, SAID_HALF.includes(agent) ? ["Half of "] : []]);
  }

  // A stop, from elsewhere, in the middle of a text.
  const script = [...SAID, { gate: `${gates.url}/middle` }];
  const stopping = async (threadId: string, run: () => Promise<unknown>, times: number): Promise<void> => {
    const ran = run();
    await gates.reached("middle", times);
    await fetch(`${url}/threads/${threadId}/runs/r1/cancel`, { method: "POST" });
    await ran;
    expect(await runState(url, threadId, "r1")).toMatchObject({ status: "cancelled" });
  };
  const parameters = { runId: "r1", forwardedProps: { script } };
  const current = stockClient(`${url}/agents/scripted`, "stop-1");
  await stopping("stop-1", () => current.send("Go", parameters), 1);
  expect(current.errors).toEqual([]);
  expect(current.outcomes).toEqual(["cancelled"]);
  expect(current.agent.messages.at(-1)).toMatchObject({ content: "Half of " });

  // Older ones have no such outcome. Their word for a stop is a code, on which they show nothing as failed.
  const older = new Agent59({ url: `${url}/agents/scripted`, threadId: "stop-2" });
  const shown: unknown[] = [];
  const run = (): Promise<unknown> =>
    older.runAgent(parameters, {
      onRunErrorEvent: ({ event }) => void shown.push(event.code),
      onRunFailed: ({ error }) => void shown.push(error),
    });
  await stopping("stop-2", run, 2);
  expect(shown).toEqual(["abort"]);
  expect(older.messages.at(-1)).toMatchObject({ content: "Half of " });
});
