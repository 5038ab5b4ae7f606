/**
 * What an agent is: a name and a function that speaks while it runs.
 *
 * Agents carry a mark of ours, so that the command line can tell them from whatever else a file exports, also where
 * the file found another copy of this package.
 */
import { HeddleError } from "../protocol/index.ts";
import type { AgentCapabilities, Event, RunAgentInput } from "../protocol/index.ts";
import type { ServerTool } from "./define-tool.ts";
import type { Emit } from "./emit.ts";
import type { Log } from "./log.ts";
import type { Schema } from "./schema.ts";
import { stateChecker } from "./state-writer.ts";
import type { TraceHeaders } from "./trace-headers.ts";

/** What an agent's `run` is given. `S` is the shared state. */
export interface RunContext<S = unknown> {
  /** What the client sent: messages, tools, state, answers, forwarded properties. */
  readonly input: RunAgentInput;
  /** How the agent speaks. */
  readonly emit: Emit<S>;
  /** The agent's own tools. */
  readonly tools: readonly ServerTool[];
  /** Aborts when the run is to stop; pass it on to whatever takes time. */
  readonly signal: AbortSignal;
  /** For whoever runs the agent; keeps nothing unless they ask for it. */
  readonly log: Log;
  /** Headers for requests that are made for this run, where it belongs to a trace. */
  readonly trace?: TraceHeaders | undefined;
}

/** What `defineAgent` is given. */
export interface AgentDefinition<S = unknown> {
  /** Name in URLs: letters, digits, `.`, `_` and `-`, beginning with a letter or digit. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** What it says that it can do. Its name, description and tools are added. */
  readonly capabilities?: AgentCapabilities;
  /** Tools that run here, on the server. */
  readonly tools?: readonly ServerTool[];
  /** What the shared state has to look like: a state that does not fit is refused when the agent sends it. */
  readonly stateSchema?: Schema<S>;
  /**
   * Does the work. Returning ends the run, throwing fails it; what is open is closed either way. It may also return, or
   * be, an async iterable of events: those are sent, put right where they break a rule, and their own frame is dropped.
   */
  run(context: RunContext<S>): AsyncIterable<Event> | Promise<unknown> | void;
}

/** An agent that can be run and served. Made by `defineAgent`. */
export interface Agent {
  /** Name in URLs. */
  readonly name: string;
  /** What it is for. */
  readonly description?: string;
  /** What it can do, in AG-UI's shape. */
  readonly capabilities: AgentCapabilities;
  /** Tools that run here, on the server. */
  readonly tools: readonly ServerTool[];
  /** What the shared state has to look like. */
  readonly stateSchema?: Schema;
  /** Does the work. Call `runAgent` instead, which gives it the frame of a run. */
  run(context: RunContext): AsyncIterable<Event> | Promise<unknown> | void;
  /** Tells agents from other values. */
  readonly [MARK]: true;
}

const MARK: unique symbol = Symbol.for("heddle.agent");

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Makes an agent. Throws `config-invalid` where its name cannot stand in a URL, or two tools have one name. */
export function defineAgent<S = unknown>(definition: AgentDefinition<S>): Agent {
  const { name, description, stateSchema, tools = [] } = definition;
  if (!NAME.test(name)) {
    const expected = "1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit";
    throw refuse("name", `The agent's name is ${JSON.stringify(name)}`, expected, JSON.stringify(name));
  }
  const twice = tools.find((tool, index) => tools.some((other, place) => place < index && other.name === tool.name));
  if (twice !== undefined) {
    throw refuse("tools", `Two tools of ${name} are called ${twice.name}`, "a name for each tool", twice.name);
  }
  // A schema that cannot be read is the author's to know, not the reader's of a run.
  if (stateSchema !== undefined) stateChecker(stateSchema);
  const agent: Agent = {
    name,
    ...(description === undefined ? {} : { description }),
    capabilities: capabilitiesOf(definition),
    tools,
    ...(stateSchema === undefined ? {} : { stateSchema }),
    // The state's type is the author's word for it: a schema checks what is sent, and nothing checks what comes in.
    run: (context) => definition.run(context as RunContext<S>),
    [MARK]: true,
  };
  return Object.freeze(agent);
}

function capabilitiesOf<S>({
  name,
  description,
  capabilities = {},
  tools = [],
}: AgentDefinition<S>): AgentCapabilities {
  const identity = { name, ...(description === undefined ? {} : { description }), ...capabilities.identity };
  if (tools.length === 0) return { ...capabilities, identity };
  const items = tools.map((tool) => ({ name: tool.name, description: tool.description, parameters: tool.parameters }));
  return { ...capabilities, identity, tools: { supported: true, items, ...capabilities.tools } };
}

function refuse(setting: string, what: string, expected: string, received: string): HeddleError {
  return new HeddleError("config-invalid", `${what}: expected ${expected}.`, { setting, expected, received });
}

/** Whether a value was made by `defineAgent`. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === "object" && value !== null && MARK in value;
}
