/** What a server tells of a thread: its whole log, where it stands, how a run stands; read and judged as events. */
import { parseEvent } from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { throughArray, verifying } from "heddle/stream";
import { attachTo, framesOf } from "../sse-client.ts";
import type { Frame } from "../sse-client.ts";

/** Frames as events. Throws where one is none. */
export const eventsIn = (frames: readonly Frame[]): readonly Event[] =>
  frames.map(({ event }) => {
    const { value, warnings } = parseEvent(event);
    if (value === undefined || warnings.length > 0) throw new Error(`Not quite an event: ${JSON.stringify(event)}`);
    return value;
  });

/** The events of an answer, to its end. */
export async function eventsOf(answer: Response): Promise<readonly Event[]> {
  const frames: Frame[] = [];
  for await (const frame of framesOf(answer)) frames.push(frame);
  return eventsIn(frames);
}

/** Resolves when the log of a run holds this delta, while it goes on. Rejects where it ends without. */
export async function deltaLogged(url: string, threadId: string, runId: string, delta: string): Promise<void> {
  for await (const { event } of framesOf(await attachTo(url, threadId, runId))) if (event["delta"] === delta) return;
  throw new Error(`The run ended without ${delta}.`);
}

/** Everything that a thread's log holds, of all its branches, with what is usually hidden. */
export async function readLog(url: string, threadId: string): Promise<readonly Event[]> {
  const query = "all=true&follow=false&raw=true&meta=true";
  return eventsOf(await fetch(`${url}/threads/${encodeURIComponent(threadId)}/events?${query}`));
}

/** Where a thread stands, for who has nothing. */
export const connectTo = (url: string, agent: string, threadId: string): Promise<Response> =>
  fetch(`${url}/agents/${agent}/connect`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ threadId, runId: crypto.randomUUID(), messages: [], protocolVersion: "1.0" }),
  });

/** How a run stands. */
export async function runState(url: string, threadId: string, runId: string): Promise<object> {
  const answer = await fetch(`${url}/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}`);
  return Object(await answer.json());
}

/** Throws where events are not whole and valid runs, one behind the other. */
export const verifyAll = (events: readonly Event[]): void => void throughArray(verifying(), events);

/** The ids of the runs that events begin. */
export const runsIn = (events: readonly Event[]): readonly string[] =>
  events.flatMap((event) => (event.type === "RUN_STARTED" ? [event.runId] : []));
