/**
 * Middleware: functions around an agent. Each takes an agent and gives an agent, so any number of them can be composed,
 * in the order in which the settings list them; the first is the outermost.
 */
import { defineAgent } from "heddle/agent";
import type { Agent, RunContext } from "heddle/agent";

/** Something that stands around an agent. */
export type Middleware = (agent: Agent) => Agent;

type Work = (context: RunContext) => Promise<void>;

/** The same agent with other work around its own. */
const around = (agent: Agent, work: (inner: Work) => Work): Agent => {
  const inner: Work = async (context) => {
    const result = await agent.run(context);
    // An agent may also give its events one by one: those are passed on.
    if (isStream(result)) for await (const event of result) await context.emit.forward(event);
  };
  return defineAgent({ ...agent, run: work(inner) });
};

const isStream = (value: unknown): value is AsyncIterable<Parameters<RunContext["emit"]["forward"]>[0]> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

/** Tells the client how long the agent took. */
const timing: Middleware = (agent) =>
  around(agent, (inner) => async (context) => {
    const startMs = performance.now();
    await inner(context);
    await context.emit.custom("sample.timing", { durationMs: Math.round(performance.now() - startMs) });
  });

/** Hides e-mail addresses and long numbers from the agent: it never sees them, so it cannot repeat them. */
const redact: Middleware = (agent) =>
  around(agent, (inner) => async (context) => {
    const messages = context.input.messages.map((message) =>
      message.role === "user" && typeof message.content === "string"
        ? { ...message, content: hidden(message.content) }
        : message,
    );
    await inner({ ...context, input: { ...context.input, messages } });
  });

const hidden = (text: string): string =>
  text
    .replaceAll(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g, "[e-mail hidden]")
    .replaceAll(/(?:\d[ -]?){12,19}\b/g, "[number hidden]");

/** Writes a line to the server's log when a run begins and when it ends. */
const log: Middleware = (agent) =>
  around(agent, (inner) => async (context) => {
    context.log.info(`${agent.name} begins`, { messages: context.input.messages.length });
    try {
      await inner(context);
    } finally {
      context.log.info(`${agent.name} ends`);
    }
  });

const MIDDLEWARE = { timing, redact, log } as const satisfies Record<string, Middleware>;

/** Name of a middleware in the settings. */
export type MiddlewareName = keyof typeof MIDDLEWARE;

/** All of them. */
export const MIDDLEWARE_NAMES: readonly MiddlewareName[] = ["timing", "redact", "log"];

/** Puts middleware around an agent; the first name is the outermost. */
export const withMiddleware = (agent: Agent, names: readonly MiddlewareName[]): Agent =>
  names.reduceRight((inner, name) => MIDDLEWARE[name](inner), agent);
