/**
 * SSE and WebSocket viewers of one run, mixed and switching: whoever changes transport at whatever cursor, and however often,
 * ends with the same events under the same cursors. Cursors that only move, past what a view hides, count too.
 */
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serve } from "../src/server/fastify/index.ts";
import type { Served } from "../src/server/fastify/index.ts";
import { pacedAgent } from "./paced-agent.ts";
import { openSocket } from "./ws-client.ts";

const KEYS = {
  owner: { key: "the-key-of-the-owner", user: "owner" },
  watcher: { key: "the-key-of-the-watcher", user: "watcher" },
} as const;
type Who = keyof typeof KEYS;
const bearer = (who: Who): Record<string, string> => ({ authorization: `Bearer ${KEYS[who].key}` });

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const paced = pacedAgent();
let server: Served;
beforeAll(async () => {
  server = await serve({
    agents: [paced.agent],
    port: 0,
    host: "127.0.0.1",
    auth: { keys: KEYS },
    views: { observer: { reasoning: false, hiddenState: ["/secret"] } },
  });
});
afterAll(() => server.close());

/** One thing that came: an event under its cursor, or a cursor that moved. */
interface Seen {
  readonly id: string;
  readonly event?: unknown;
}

/** Takes what comes; false to leave. */
type Take = (seen: Seen) => boolean;

const isTerminal = ({ event }: Seen): boolean => /^RUN_(FINISHED|ERROR)$/.test(String(Object(event).type));

/** Follows a run over SSE until it is left. */
async function overSse(who: Who, thread: string, after: string | undefined, take: Take): Promise<void> {
  const gone = new AbortController();
  const headers = { ...bearer(who), ...(after !== undefined && { "last-event-id": after }) };
  const answer = await fetch(`${server.url}/threads/${thread}/events?run=r1`, { headers, signal: gone.signal });
  let rest = "";
  for await (const text of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const frames = (rest + text).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const [, id] = /^id: (.*)$/m.exec(frame) ?? [];
      const [, data] = /^data: (.*)$/m.exec(frame) ?? [];
      if (id === undefined) continue;
      // What came with it is lost to whoever leaves here.
      if (!take({ id, ...(data !== undefined && { event: JSON.parse(data) }) })) return gone.abort();
    }
  }
}

/** Follows a run over a socket until it is left. */
async function overSocket(who: Who, thread: string, after: string | undefined, take: Take): Promise<void> {
  const { socket } = await openSocket(server.url, bearer(who));
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  socket.on("message", (data) => {
    const { type, id, event }: { type: string; id: string; event?: unknown } = JSON.parse(String(data));
    if (type === "ended" || type === "error") leave();
    if (id === undefined || socket.readyState !== socket.OPEN) return;
    if (take({ id, ...(event !== undefined && { event }) })) return;
    leave();
    socket.close();
  });
  socket.on("close", () => leave());
  socket.send(JSON.stringify({ type: "attach", thread, run: "r1", after }));
  await left;
  socket.terminate();
}

/** A viewer that changes transport whenever it has seen so many more, and begins with the one or the other. */
async function roam(
  who: Who,
  thread: string,
  stays: readonly number[],
  socketFirst: boolean,
): Promise<readonly Seen[]> {
  const all: Seen[] = [];
  for (let stretch = 0; !all.some(isTerminal); stretch++) {
    let stay = stays[stretch] ?? Infinity;
    const follow = (stretch % 2 === 0) === socketFirst ? overSocket : overSse;
    await follow(who, thread, all.at(-1)?.id, (seen) => {
      all.push(seen);
      return --stay > 0;
    });
  }
  return all;
}

/** What an agent does: says something, thinks, or changes what is hidden of its state or what is not. */
const deed = fc.constantFrom("say", "think", "hide", "show");
const viewer = fc.record({
  who: fc.constantFrom<Who>("owner", "watcher"),
  stays: fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 5 }),
  socketFirst: fc.boolean(),
});

function act(thread: string, kind: string, index: number): void {
  const pace = paced.in(thread);
  if (kind === "say") pace.say(`word ${index}`);
  if (kind === "think") pace.do((emit) => emit.reasoning().write(`thought ${index}`));
  if (kind === "hide") pace.do((emit) => emit.state.set({ secret: index }));
  if (kind === "show") pace.do((emit) => emit.state.set({ secret: 0, open: index }));
}

test("WS-ATT-4: viewers over SSE and WebSocket, mixed and switching, see the same events with the same cursors", async () => {
  let count = 0;
  const property = fc.asyncProperty(
    fc.array(deed, { minLength: 3, maxLength: 15 }),
    fc.array(viewer, { minLength: 2, maxLength: 4 }),
    async (deeds, viewers) => {
      const thread = `t${++count}`;
      const starter = await openSocket(server.url, bearer("owner"));
      await starter.ask({
        type: "run",
        agent: "paced",
        input: { threadId: thread, runId: "r1", messages: [], forwardedProps: { go: 1 } },
        attach: false,
      });
      await fetch(`${server.url}/threads/${thread}/members/watcher`, {
        method: "PUT",
        headers: { ...bearer("owner"), "content-type": "application/json" },
        body: '{"role":"observer"}',
      });
      const roaming = viewers.map(({ who, stays, socketFirst }) => roam(who, thread, stays, socketFirst));
      // Live: each deed is committed, and on its way, before the next.
      for (const [index, kind] of deeds.entries()) {
        act(thread, kind, index);
        await starter.ask({ type: "ping" });
      }
      paced.in(thread).end();
      const seen = await Promise.all(roaming);
      const whole = { owner: await roam("owner", thread, [], false), watcher: await roam("watcher", thread, [], true) };
      for (const [index, { who }] of viewers.entries()) {
        const mine = seen[index] ?? [];
        expect(mine.filter(hasEvent)).toEqual(whole[who].filter(hasEvent));
        // Every cursor is there once, and in order, those that only moved too.
        const ids = mine.map(({ id }) => id);
        expect(ids).toEqual([...new Set(ids)].toSorted());
      }
      starter.socket.terminate();
    },
  );
  await fc.assert(property, { numRuns: 25 * SCALE });
});

const hasEvent = ({ event }: Seen): boolean => event !== undefined;
