/**
 * Want 21. Agents that change their state at random, by `emit` and by deltas of their own, of which many cannot be applied:
 * to paths that are not there, below what is no object, with keys that need escapes and keys that nobody may write to. Three
 * clients watch: the stock one from the beginning, the stock one that joins in the middle, and fast-json-patch, which throws where an
 * operation fails, over the bytes of both ways. All end with the state that the log folds to.
 */
import { HttpAgent } from "@ag-ui/client";
import fc from "fast-check";
import jsonPatch from "fast-json-patch";
import type { Event } from "heddle/protocol";
import { reduceAll } from "heddle/stream";
import { expect, test, vi } from "vitest";
import { startGates } from "../gate.ts";
import type { Gates } from "../gate.ts";
import { startServer } from "../server-process.ts";
import { attachTo, framesOf } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";
import { connectTo, eventsIn, readLog } from "./thread-log.ts";

const SCALE = Number(process.env["HEDDLE_TEST_SCALE"] ?? 1);
const TIMEOUT_MS = 120_000 * Math.max(1, SCALE);

const KEYS = ["a", "b", "a/b", "m~n", "~1", "~0", "/", "~", "", "0", "-", "é"] as const;
const scalar = fc.constantFrom<unknown>(null, true, 0, 1.5, "", "text", "~/");
const { value, record } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, scalar, tie("record"), fc.array(tie("value"), { maxLength: 3 })),
  record: fc.dictionary(fc.constantFrom(...KEYS), tie("value"), { maxKeys: 4 }),
}));

const token = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...KEYS).map((key) => key.replaceAll("~", "~0").replaceAll("/", "~1")) },
  { weight: 1, arbitrary: fc.constantFrom("1", "01", "99", "__proto__", "constructor", "toString") },
);
const path = fc.oneof(
  { weight: 9, arbitrary: fc.array(token, { minLength: 1, maxLength: 3 }).map((tokens) => `/${tokens.join("/")}`) },
  { weight: 1, arbitrary: fc.constant("") },
);
const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant("add"), path, value }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("replace"), path, value }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("remove"), path }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom("move", "copy"), path, from: path }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("test"), path, value }) },
);
const patch = fc.array(operation, { minLength: 1, maxLength: 3 });
const activity = { messageId: "plan", activityType: "PLAN" };
const said = fc.oneof(
  { weight: 6, arbitrary: patch.map((delta) => ({ type: "STATE_DELTA", delta })) },
  { weight: 1, arbitrary: value.map((snapshot) => ({ type: "STATE_SNAPSHOT", snapshot })) },
  { weight: 1, arbitrary: record.map((content) => ({ type: "ACTIVITY_SNAPSHOT", ...activity, content })) },
  { weight: 2, arbitrary: patch.map((delta) => ({ type: "ACTIVITY_DELTA", ...activity, patch: delta })) },
);

/** A run: which agent, what it is told, and where others join. */
interface Run {
  readonly agent: string;
  readonly script: readonly object[];
  readonly joinAt: number;
}
const joinAt = fc.nat(8);
const run: fc.Arbitrary<Run> = fc.oneof(
  fc.record({ agent: fc.constant("scripted"), script: fc.array(said, { maxLength: 8 }), joinAt }),
  fc.record({ agent: fc.constant("stateful"), script: fc.array(record, { maxLength: 5 }), joinAt }),
);

/** Deltas that users have reported: first writes into `{}`, and writes to what is not there. */
const REPORTED = [
  [{ op: "add", path: "/a", value: 1 }],
  [
    { op: "add", path: "/a~1b", value: { "m~n": 1 } },
    { op: "replace", path: "/a~1b/m~0n", value: 2 },
  ],
  [{ op: "replace", path: "/status", value: "streaming" }],
  [{ op: "add", path: "/list/-", value: 1 }],
];
const reportedRun = (delta: readonly object[]): Run => ({
  agent: "scripted",
  script: [{ type: "STATE_DELTA", delta }],
  joinAt: 0,
});

/** State and activities as fast-json-patch makes them. Throws where an operation cannot be applied. */
class StrictReader {
  state: unknown = {};
  readonly activities = new Map<string, unknown>();

  read(events: readonly Event[]): void {
    for (const event of events) {
      if (event.type === "STATE_SNAPSHOT") this.state = event.snapshot;
      if (event.type === "STATE_DELTA") this.state = applied(this.state, event.delta);
      if (event.type === "ACTIVITY_SNAPSHOT") this.activities.set(event.messageId, event.content);
      if (event.type === "ACTIVITY_DELTA") {
        this.activities.set(event.messageId, applied(this.activities.get(event.messageId), event.patch));
      }
      if (event.type === "MESSAGES_SNAPSHOT") {
        for (const message of event.messages) {
          if (message.role === "activity") this.activities.set(message.id, message.content);
        }
      }
    }
  }
}

const applied = (document: unknown, operations: readonly object[]): unknown =>
  jsonPatch.applyPatch(document, operations as jsonPatch.Operation[], true, false).newDocument;

const activitiesIn = (
  messages: readonly { role: string; id: string; content?: unknown }[],
): ReadonlyMap<string, unknown> =>
  new Map(messages.flatMap(({ role, id, content }) => (role === "activity" ? [[id, content] as const] : [])));

/** Reads frames to their end; `onFirst` is called when there are some. */
async function framesFrom(answer: Response, onFirst: () => void): Promise<readonly Event[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(answer)) {
    frames.push(frame);
    onFirst();
  }
  return eventsIn(frames);
}

test(
  "State. No delta the server sends can fail to apply on a conforming client, including first writes into `{}` and keys containing `/` or `~`.",
  async () => {
    // The stock client warns where a delta does not apply.
    const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const gates: Gates = await startGates();
    const { url } = await startServer({ files: ["test/acceptance/scripted-agents.ts"] });
    let threads = 0;

    async function check(runs: readonly Run[]): Promise<void> {
      const threadId = `t${threads++}`;
      const stock = new HttpAgent({ url: "", threadId });
      const strict = new StrictReader();
      for (const [index, { agent, script, joinAt: at }] of runs.entries()) {
        const [runId, gate] = [`r${index}`, `${threadId}-${index}`];
        stock.url = `${url}/agents/${agent}`;
        const forwardedProps = { script: script.toSpliced(at, 0, { gate: `${gates.url}/${gate}` }) };
        const ran = stock.runAgent({ runId, forwardedProps });
        await Promise.race([gates.reached(gate), ran]);

        const late = new HttpAgent({ url: stock.url, threadId });
        const joining = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
        const joined = late.runAgent({ runId }, { onEvent: () => joining[0].resolve() });
        const connected = framesFrom(await connectTo(url, agent, threadId), joining[1].resolve);
        await Promise.race([Promise.all(joining.map(({ promise }) => promise)), joined, connected]);
        gates.open(gate);
        await Promise.all([ran, joined]);

        const log = await readLog(url, threadId);
        expect(log.at(-1)?.type).toBe("RUN_FINISHED");
        const { state = {}, messages } = reduceAll(log);
        const activities = activitiesIn(messages);
        const restored = new StrictReader();
        restored.read(await connected);
        strict.read(await framesFrom(await attachTo(url, threadId, runId), () => undefined));
        for (const reader of [strict, restored]) {
          expect(reader.state).toEqual(state);
          expect(reader.activities).toEqual(activities);
        }
        for (const client of [stock, late]) {
          expect(client.state).toEqual(state);
          expect(activitiesIn(client.messages)).toEqual(activities);
        }
        expect(warned).not.toHaveBeenCalled();
      }
    }
    const examples = REPORTED.map((delta): [Run[]] => [[reportedRun(delta)]]);
    const runsOfThread = fc.array(run, { minLength: 1, maxLength: 2 });
    await fc.assert(fc.asyncProperty(runsOfThread, check), { numRuns: Math.ceil(40 * SCALE), examples });
  },
  TIMEOUT_MS,
);
