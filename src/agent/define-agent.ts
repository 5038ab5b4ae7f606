/**
 * What an agent is: a name and a function that speaks while it runs.
 *
 * Agents carry a mark of ours, so that the command line can tell them from whatever else a file exports, also where
 * the file found another copy of this package.
 */
import { HeddleError } from "../protocol/index.ts";
import type { RunAgentInput } from "../protocol/index.ts";
import type { Emit } from "./emit.ts";

/** What an agent's `run` is given. */
export interface RunContext {
  /** What the client sent: messages, tools, state, forwarded properties. */
  readonly input: RunAgentInput;
  /** How the agent speaks. */
  readonly emit: Emit;
  /** Aborts when the run is to stop; pass it on to whatever takes time. */
  readonly signal: AbortSignal;
}

/** What `defineAgent` is given. */
export interface AgentDefinition {
  /** Name in URLs: letters, digits, `.`, `_` and `-`, beginning with a letter or digit. */
  readonly name: string;
  /** Does the work. Returning ends the run, throwing fails it; what is open is closed either way. */
  run(context: RunContext): Promise<void> | void;
}

/** An agent that can be run and served. Made by `defineAgent`. */
export interface Agent extends AgentDefinition {
  /** Tells agents from other values. */
  readonly [MARK]: true;
}

const MARK: unique symbol = Symbol.for("heddle.agent");

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

/** Makes an agent. Throws `config-invalid` where its name cannot stand in a URL. */
export function defineAgent(definition: AgentDefinition): Agent {
  const { name } = definition;
  if (!NAME.test(name)) {
    const expected = "1 to 100 letters, digits, '.', '_' or '-', beginning with a letter or digit";
    throw new HeddleError("config-invalid", `The agent's name is ${JSON.stringify(name)}: expected ${expected}.`, {
      setting: "name",
      expected,
      received: JSON.stringify(name),
    });
  }
  const agent: Agent = { name, run: (context) => definition.run(context), [MARK]: true };
  return Object.freeze(agent);
}

/** Whether a value was made by `defineAgent`. */
export function isAgent(value: unknown): value is Agent {
  return typeof value === "object" && value !== null && MARK in value;
}
