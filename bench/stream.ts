/** The rows of DESIGN 12 on the client pipeline, history, long answers and compaction, against the published client. */
import {
  HttpAgent,
  compactEvents,
  defaultApplyEvents,
  enforceEvents,
  transformChunks,
  verifyEvents,
} from "@ag-ui/client";
import type { Message as PeerMessage, RunAgentInput as PeerInput } from "@ag-ui/core";
import { parseEvent } from "heddle/protocol";
import type { Event, Message } from "heddle/protocol";
import {
  compact,
  createExpandState,
  createReduceState,
  createVerifyState,
  expand,
  reduce,
  verify,
  view,
} from "heddle/stream";
import type { ReduceState } from "heddle/stream";
import { from } from "rxjs";
import { compare, comparePerUnit, comparePrepared } from "./compare.ts";
import type { Effort, Row } from "./compare.ts";
import { agenticLog, history, stateLog, w1, w2 } from "./workloads.ts";

type PeerEvent = Parameters<typeof compactEvents>[0][number];
const asPeer = (events: readonly Event[]): PeerEvent[] => JSON.parse(JSON.stringify(events)) as PeerEvent[];

const PEER = "@ag-ui/client, whole pipeline";

export async function streamRows(effort: Effort): Promise<readonly Row[]> {
  const none = history(0);
  const some = history(200);
  const long = history(2_000);
  // The peer's price per event does not depend on how many there are, only on the history: a part of W3 tells it.
  const part = effort.quick ? 100 : 300;
  const agentic = agenticLog(effort.quick ? 10_000 : 100_000);
  return [
    await pipeline("W1, a view per event", w1(), w1(2_000), none, 1, 40, effort),
    await pipeline("W2, a view per event", w2(), w2(), some, 1, 300, effort),
    await pipeline("W3, a view per event", w1(), w1(part), long, 1, 1_000, effort),
    await pipeline("W1, batches of 64", w1(), w1(2_000), none, 64, 150, effort),
    await pipeline("W2, batches of 64", w2(), w2(), some, 64, 500, effort),
    await pipeline("W3, batches of 64", w1(), w1(part), long, 64, 10_000, effort),
    historyIndependence(effort),
    await longAnswer(effort),
    compaction("100,000 text deltas", w1(100_000), 2, effort),
    compaction("20 kB of state, 1,000 deltas", stateLog(1_000), 50, effort),
    compaction(`an agentic log of ${Math.round(agentic.length / 1000)}k events`, agentic, 10, effort),
  ];
}

/** Everything between the wire and the application, a view for every batch; `onView` is what the application does. */
function ours(events: readonly unknown[], held: readonly Message[], batch: number, onView = touch): number {
  return pump(events, createReduceState({ messages: held, state: {} }), batch, onView);
}

function pump(events: readonly unknown[], folding: ReduceState, batch: number, onView: typeof touch): number {
  const expanding = createExpandState();
  const verifying = createVerifyState();
  let sum = 0;
  for (let index = 0; index < events.length; index++) {
    const { value } = parseEvent(events[index]);
    if (value === undefined) continue;
    for (const event of expand(expanding, value)) {
      verify(verifying, event);
      reduce(folding, event);
    }
    if ((index + 1) % batch === 0) sum += onView(view(folding).messages);
  }
  return sum + onView(view(folding).messages);
}

const touch = (messages: readonly Message[]): number => messages.length;

/** Reads the whole text of the newest message, as a page that shows it does. */
function readText(messages: readonly Message[]): number {
  const content = messages.at(-1)?.content;
  return typeof content === "string" && content.length > 0 ? content.charCodeAt(content.length - 1) : 0;
}

async function theirs(
  events: readonly PeerEvent[],
  held: readonly Message[],
  onMessages: (messages: readonly PeerMessage[]) => void = () => undefined,
) {
  const messages = JSON.parse(JSON.stringify(held)) as PeerMessage[];
  const agent = new HttpAgent({ url: "http://127.0.0.1/", threadId: "thread-1", initialMessages: messages });
  const input: PeerInput = { threadId: "thread-1", runId: "run", messages, state: {}, tools: [], context: [] };
  const subscriber = { onEvent: () => undefined };
  let count = 0;
  await new Promise<void>((resolve, reject) => {
    const stream = from(events).pipe(enforceEvents(), transformChunks(), verifyEvents());
    defaultApplyEvents(input, stream, agent, [subscriber]).subscribe({
      next: (mutation) => {
        count++;
        if (mutation.messages !== undefined) onMessages(mutation.messages);
      },
      error: reject,
      complete: resolve,
    });
  });
  return count;
}

async function pipeline(
  name: string,
  events: readonly Event[],
  peerEvents: readonly Event[],
  held: readonly Message[],
  batch: number,
  target: number,
  effort: Effort,
): Promise<Row> {
  const own: unknown[] = asPeer(events);
  const peers = asPeer(peerEvents);
  return comparePerUnit(
    { what: `pipeline, ${name}`, peer: PEER, kind: "faster", target },
    { units: own.length, work: () => ours(own, held, batch) },
    { units: peers.length, work: () => theirs(peers, held) },
    effort,
  );
}

/** W3 against W1, both ours, the whole pipeline in batches; the index of the history is made before the clock starts. */
function historyIndependence(effort: Effort): Row {
  const events: unknown[] = asPeer(w1());
  const run = (held: readonly Message[]) => () => {
    const folding = createReduceState({ messages: held, state: {} });
    view(folding);
    return () => pump(events, folding, 64, touch);
  };
  return comparePrepared(
    { what: "pipeline, W3, batches of 64", peer: "our own pipeline of W1", kind: "cost", target: 2 },
    run(history(2_000)),
    run([]),
    effort,
  );
}

async function longAnswer(effort: Effort): Promise<Row> {
  const tokens = effort.quick ? 10_000 : 50_000;
  const own: unknown[] = asPeer(w1(tokens));
  const peers = asPeer(w1(tokens));
  return comparePerUnit(
    { what: `an answer of ${tokens / 1000}k tokens, read in full`, peer: PEER, kind: "faster", target: 50 },
    { units: own.length, work: () => ours(own, [], 64, readText) },
    {
      units: peers.length,
      work: () =>
        theirs(peers, [], (messages) => {
          const content = messages.at(-1)?.content;
          if (typeof content === "string" && content.charCodeAt(content.length - 1) < 0) throw new Error("unreachable");
        }),
    },
    { ...effort, rounds: 1 },
  );
}

/** Reads a character of every text, so that one that was only promised is built: the peer's are built already. */
function readDeltas(events: readonly object[]): number {
  let sum = 0;
  for (const event of events)
    if ("delta" in event && typeof event.delta === "string") sum += event.delta.charCodeAt(0) || 0;
  return sum;
}

function compaction(name: string, events: readonly Event[], target: number, effort: Effort): Row {
  const peers = asPeer(events);
  return compare(
    { what: `compaction, ${name}`, peer: "compactEvents", kind: "faster", target },
    () => readDeltas(compact(events, { mode: "events" })),
    () => readDeltas(compactEvents(peers)),
    effort,
  );
}
