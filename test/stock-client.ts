/**
 * The stock `@ag-ui/client`, as published, in the versions that people have: an `HttpAgent` on a server, and what it
 * took in. Tests that use it fail where a client warns about what it was sent; a rejection fails them by itself.
 */
import { HttpAgent as Agent100 } from "@ag-ui/client";
import { HttpAgent as Agent57 } from "@ag-ui/client-0.0.57";
import { HttpAgent as Agent59 } from "@ag-ui/client-0.0.59";
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { MockInstance } from "vitest";

/** A message as a client holds it. */
export interface HeldMessage {
  /** Its id. */
  readonly id: string;
  /** Who speaks. */
  readonly role: string;
  /** What is said. */
  readonly content?: unknown;
  /** Which call is answered. */
  readonly toolCallId?: string;
  /** What is called. */
  readonly toolCalls?: readonly { readonly id: string; readonly function: { readonly name: string } }[] | undefined;
}

/** An interrupt as a client holds it. */
export interface HeldInterrupt {
  /** Its id. */
  readonly id: string;
  /** What it is about. */
  readonly reason: string;
}

/** What all versions of `HttpAgent` have. */
export interface StockAgent {
  /** Where it posts to. */
  url: string;
  /** What it holds of the conversation. */
  readonly messages: readonly HeldMessage[];
  /** What it holds of the state. */
  readonly state: unknown;
  /** Questions that are open. */
  readonly pendingInterrupts: readonly HeldInterrupt[];
  /** Adds a message that the next run brings along. */
  addMessage(message: object): void;
  /** Replaces the state that the next run brings along. */
  setState(state: unknown): void;
  /** Posts, and reads the stream to its end. */
  runAgent(parameters?: object, subscriber?: object): Promise<unknown>;
  /** Goes away. */
  abortRun(): void;
}

/** How a client is made. */
interface StockConfig {
  readonly url: string;
  readonly threadId: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** The clients. One of 0.0.59 cannot say in its body how old it is; in its URL it can. */
const CLIENTS = {
  "1.0.0": (config: StockConfig): StockAgent => new Agent100(config),
  "0.0.59": (config: StockConfig): StockAgent => new Agent59(config),
  "0.0.59 that says so": ({ url, ...config }: StockConfig): StockAgent =>
    new Agent59({ ...config, url: `${url}?protocol=0.0.59` }),
  "0.0.57": (config: StockConfig): StockAgent => new Agent57(config),
} as const;

/** A kind of client. */
export type Version = keyof typeof CLIENTS;

/** Whether a client is shown who of the subagents speaks. */
export const seesSubagents = (version: Version): boolean => version === "1.0.0" || version === "0.0.59 that says so";

/** An event as a client saw it. */
export type SeenEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

/** A client on a thread, and what it saw. */
export interface Stock {
  /** The client. */
  readonly agent: StockAgent;
  /** Every event that it took in, of all its runs. */
  readonly events: readonly SeenEvent[];
  /** How its runs ended, as it was told. */
  readonly ends: readonly unknown[];
  /** Resolves when it was answered so often: the server has decided by then what it will send. Rejects as a run does. */
  answered(times?: number): Promise<void>;
  /** Resolves when it has taken in an event that fits. Rejects as a run does. */
  saw(fits: (event: SeenEvent) => boolean): Promise<void>;
  /** Posts what it holds. */
  run(parameters?: object): Promise<unknown>;
  /** Says something, and posts. */
  say(content: string, parameters?: object): Promise<unknown>;
}

/** A client on a thread of a server. `path` is behind the agent's own: `/connect`. */
export function stock(version: Version, server: string, agent: string, threadId: string, path = ""): Stock {
  const events: SeenEvent[] = [];
  const ends: unknown[] = [];
  let answers = 0;
  let failure: unknown;
  const watchers = new Set<() => void>();
  const changed = (): void => watchers.forEach((watcher) => watcher());
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (isSo()) resolve();
        else if (failure !== undefined) reject(failure);
        else return;
        watchers.delete(look);
      };
      watchers.add(look);
      look();
    });
  const client = CLIENTS[version]({
    url: `${server}/agents/${agent}${path}`,
    threadId,
    async fetch(url, init) {
      const response = await fetch(url, init);
      answers += 1;
      changed();
      return response.ok ? withoutLeftovers(response) : response;
    },
  });
  const subscriber = {
    onEvent({ event }: { event: SeenEvent }) {
      events.push(event);
      changed();
    },
    onRunFinishedEvent: ({ outcome, interrupts, pendingToolCallIds }: Record<string, unknown>) =>
      void ends.push({ outcome, interrupts, pendingToolCallIds }),
    onRunErrorEvent: ({ event }: { event: { code?: string; message: string } }) =>
      void ends.push({ outcome: "error", code: event.code, message: event.message }),
  };
  const run = async (parameters: object = {}): Promise<unknown> => {
    failure = undefined;
    try {
      return await client.runAgent(parameters, subscriber);
    } catch (error) {
      failure = error;
      changed();
      throw error;
    }
  };
  return {
    agent: client,
    events,
    ends,
    answered: (times = 1) => until(() => answers >= times),
    saw: (fits) => until(() => events.some(fits)),
    run,
    say(content, parameters) {
      client.addMessage({ id: crypto.randomUUID(), role: "user", content });
      return run(parameters);
    },
  };
}

/** Clients cancel a body that broke, and leave the rejection of that to nobody. They have rejected with it already. */
function withoutLeftovers(response: Response): Response {
  const reader = response.body?.getReader();
  const cancel = async (): Promise<void> => reader?.cancel.call(reader).catch(() => undefined);
  Object.assign(response.body ?? {}, { getReader: () => ({ read: () => reader?.read(), cancel }) });
  return response;
}

/** What a client holds. */
export const heldBy = ({ agent: { messages, state, pendingInterrupts } }: Stock): object =>
  JSON.parse(JSON.stringify({ messages, state, pendingInterrupts }));

/** The texts of a role, in order. */
export const textsOf = ({ agent: { messages } }: Stock, role = "assistant"): readonly unknown[] =>
  messages.filter((message) => message.role === role).map(({ content }) => content);

/** No message and no call is held twice. */
export function expectNothingDoubled({ agent: { messages } }: Stock): void {
  const ids = messages.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
  const calls = messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
  expect(calls).toEqual([...new Set(calls)]);
}

/** A fresh client that connects holds what this one holds. */
export async function expectSameOnConnect(
  one: Stock,
  version: Version,
  server: string,
  threadId: string,
): Promise<void> {
  const fresh = stock(version, server, "chat", threadId, "/connect");
  await fresh.run();
  expect(heldBy(fresh)).toEqual(heldBy(one));
}

/** What clients complain about, in the console. */
let warned: MockInstance<typeof console.warn>;

beforeEach(() => {
  warned = vi.spyOn(console, "warn");
});
afterEach(() => {
  const { calls } = warned.mock;
  vi.restoreAllMocks();
  if (calls.length > 0) throw new Error(`A client warned: ${JSON.stringify(calls)}`);
});
