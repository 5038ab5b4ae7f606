/** A server in the process, and what its log holds: for tests of the core without a transport. */
import { defineAgent } from "../src/agent/index.ts";
import type { Agent } from "../src/agent/index.ts";
import type { Event } from "../src/protocol/index.ts";
import { createHeddle } from "../src/server/index.ts";
import type { AttachOptions, Encoding, Heddle, HeddleOptions, LoggedEvent } from "../src/server/index.ts";
import { memoryStore } from "../src/store/index.ts";
import type { Store } from "../src/store/index.ts";
import { createVerifyState, verify, verifyEnd } from "../src/stream/index.ts";

/** An agent named `test`. */
export const agentOf = (run: Agent["run"], name = "test"): Agent => defineAgent({ name, run });

/** An agent named `test` whose events come from elsewhere. They may be anything. */
export function sourceOf(...values: readonly unknown[]): Agent {
  return agentOf(async function* () {
    for (const value of values) yield value as Event;
  });
}

/** A body that asks for a run, of a current client. */
export const bodyOf = (runId = "r1", more: object = {}): object => ({
  threadId: "t1",
  runId,
  messages: [],
  forwardedProps: { runs: true },
  protocolVersion: "1.0",
  ...more,
});

/** A server with a store that tests can look into; what goes wrong in runs is expected. */
export function served(run: Agent | readonly Agent[], options: Partial<HeddleOptions> = {}): Heddle & { store: Store } {
  const store = options.store ?? memoryStore();
  const agents = "run" in run ? [run] : run;
  const heddle = createHeddle({ shutdownGraceMs: 10, onError: () => undefined, ...options, agents, store });
  return Object.assign(heddle, { store });
}

/** Everything that an attachment gives. */
export async function collect(heddle: Heddle, options?: AttachOptions, threadId = "t1"): Promise<LoggedEvent[]> {
  const seen: LoggedEvent[] = [];
  for await (const logged of (await heddle.attach(threadId, options)).events) seen.push(logged);
  return seen;
}

/** Whether an event is a note of the server on what it put right. */
export const isNote = (event: Event): boolean => event.type === "META" && event.metaType.startsWith("heddle.");

/** Starts a run and gives its events, without notes, when it has ended; they have to be a whole and valid stream. */
export async function runToEnd(heddle: Heddle, body: object = bodyOf(), agent = "test"): Promise<readonly Event[]> {
  const { threadId, runId } = await heddle.start(agent, body);
  const events = (await collect(heddle, { runId, raw: true, meta: true }, threadId)).map(({ event }) => event);
  checkStream(events);
  return events.filter((event) => !isNote(event));
}

/** Throws where events are not a whole and valid stream. */
export function checkStream(events: readonly Event[]): void {
  const state = createVerifyState();
  for (const event of events) verify(state, event);
  verifyEnd(state);
}

/** The frames of an attachment, as text. */
export async function framesOf(heddle: Heddle, encoding: Encoding, options?: AttachOptions): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const bytes of (await heddle.attach("t1", options)).frames(encoding)) chunks.push(bytes);
  return Buffer.concat(chunks).toString();
}
