/** What a client made of a thread, held against what the server has. */
import { expect } from "vitest";
import { connect } from "../src/client/index.ts";
import type { ConnectionState, Thread } from "../src/client/index.ts";
import type { Event } from "../src/protocol/index.ts";

/** Waits until something is so of a thread. */
export function until(thread: Thread, isSo: (thread: Thread) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSo(thread)) return;
      stop();
      resolve();
    };
    const stop = thread.subscribe(look);
    look();
  });
}

/** The text of the newest message. */
export const lastText = ({ messages }: Thread): unknown => messages.at(-1)?.content;

/** Every connection state of a thread from now on, in order. */
export function statesOf(thread: Thread): readonly ConnectionState[] {
  const states: ConnectionState[] = [thread.connection];
  thread.subscribe(() => {
    if (thread.connection !== states.at(-1)) states.push(thread.connection);
  });
  return states;
}

/** All events of an iterable. */
export async function eventsOf(events: AsyncIterable<Event>): Promise<readonly Event[]> {
  const all: Event[] = [];
  for await (const event of events) all.push(event);
  return all;
}

/** The thread holds what the server has, and what was seen of its newest run is that run's log. */
export async function expectExact(
  thread: Thread,
  server: string,
  seen?: readonly Event[],
  token?: string,
): Promise<void> {
  const fresh = connect(server, { token });
  const there = fresh.thread(thread.id);
  const { messages, state } = await there.snapshotAt();
  expect(thread.messages).toEqual(messages);
  expect(thread.state).toEqual(state);
  const { runs } = await there.details();
  const log: Event[] = [];
  for await (const { event } of there.history({ run: runs.at(-1)?.runId ?? "" })) log.push(event);
  if (seen !== undefined) expect(seen).toEqual(log);
  fresh.close();
}
