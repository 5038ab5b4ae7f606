/**
 * How an agent speaks: writers that open and close their events by themselves.
 *
 * Nothing that an author does here can make an invalid stream. A wrong value, or something said where it may not stand,
 * throws before anything is sent; whatever is left open is closed when its owner or the run ends, however that comes
 * about. What is written after that end rejects with `run-ended`, or with the reason for which the run was stopped.
 */
import { HeddleError, custom, messagesSnapshot, raw, stepFinished, stepStarted } from "../protocol/index.ts";
import type { ContentPart, Event, Message, TokenUsage } from "../protocol/index.ts";
import { createActivityWriter } from "./activity-writer.ts";
import type { ActivityContent, ActivityOptions, ActivityWriter } from "./activity-writer.ts";
import type { InterruptAnswer, InterruptRequest } from "./interrupts.ts";
import { createReasoningWriter } from "./reasoning-writer.ts";
import type { ReasoningOptions, ReasoningWriter } from "./reasoning-writer.ts";
import type { Scope } from "./scope.ts";
import { createStateWriter } from "./state-writer.ts";
import type { StateWriter } from "./state-writer.ts";
import { createSubagent } from "./subagent.ts";
import type { Subagent, SubagentOptions } from "./subagent.ts";
import { createTextWriter } from "./text-writer.ts";
import type { TextOptions, TextWriter } from "./text-writer.ts";
import { createToolCallWriter, sendToolResult } from "./tool-call-writer.ts";
import type { ToolCallOptions, ToolCallWriter, ToolResultOptions } from "./tool-call-writer.ts";

/** A step that is open. */
export interface StepWriter {
  /** Closes the step. Not needed at the end of a run. */
  end(): Promise<void>;
}

/** What an agent can say. */
export interface Emit<S = unknown> {
  /** A text message. Nothing is sent before its first write. */
  text(options?: TextOptions): TextWriter;
  /** What the agent thinks. Nothing is sent before its first write. */
  reasoning(options?: ReasoningOptions): ReasoningWriter;
  /** A tool call, opened at once. */
  toolCall(name: string, options?: ToolCallOptions): ToolCallWriter;
  /** What a tool returned: text, or parts. */
  toolResult(toolCallId: string, content: string | readonly ContentPart[], options?: ToolResultOptions): Promise<void>;
  /** A named step, opened at once. One of the same name must not be open. */
  step(name: string): StepWriter;
  /** A named step around some work. */
  step<T>(name: string, work: () => T | Promise<T>): Promise<T>;
  /** Something for people to see: a plan, a progress, a search. Shown at once. */
  activity<T extends ActivityContent>(type: string, content: T, options?: ActivityOptions): ActivityWriter<T>;
  /** The state that agent and application share. */
  readonly state: StateWriter<S>;
  /** Restates the conversation: messages that are not in the list are dropped. */
  messages(list: readonly Message[]): Promise<void>;
  /** An event of the application's own. Begin the name with a prefix of yours, such as `shop.`. */
  custom(name: string, value: unknown): Promise<void>;
  /** An event of another system, beside the events that say the same in AG-UI. */
  raw(event: unknown, source?: string): Promise<void>;
  /** Adds to the tokens that the run reports when it ends. */
  usage(usage: TokenUsage): void;
  /** A subagent, announced at once. */
  subagent(name: string, options?: SubagentOptions): Subagent;
  /**
   * Asks people. Where the input brings the answer it resolves at once. Else it never resolves: the run ends with the
   * question, and the next one starts the agent from its beginning. See interrupts.ts for what that asks of an author.
   */
  interrupt<T = unknown>(request: InterruptRequest<T>): Promise<InterruptAnswer<T>>;
  /**
   * Sends an event that was made elsewhere, put right where it breaks a rule. RUN_STARTED and RUN_FINISHED are not
   * passed on, but the questions of an interrupt outcome become questions of this run; RUN_ERROR throws `agent-failed`.
   */
  forward(event: Event): Promise<void>;
}

const scopes = new WeakMap<Emit, Scope>();

/** The scope that an emit speaks for; undefined where it is none of ours. */
export const scopeOf = (emit: Emit): Scope | undefined => scopes.get(emit);

/** How the owner of a scope speaks. */
export function createEmit(scope: Scope): Emit {
  const { channel, interrupts } = scope.run;
  const send = (event: Event): Promise<void> => (scope.ended ? scope.refusal() : channel.send(event));

  const emit: Emit = {
    text: (options = {}) => createTextWriter(scope, options),
    reasoning: (options = {}) => createReasoningWriter(scope, options),
    toolCall: (name, options = {}) => createToolCallWriter(scope, name, options),
    toolResult: (toolCallId, content, options = {}) => sendToolResult(scope, toolCallId, content, options),
    step: stepsOf(scope),
    activity: (type, content, options = {}) => createActivityWriter(scope, type, content, options),
    state: createStateWriter(scope),
    messages: (messages) => send(messagesSnapshot({ messages: [...messages], timestamp: Date.now() })),
    custom: (name, value) => send(custom({ name, value, ...scope.stamp() })),
    raw: (event, source) => send(raw({ event, ...(source === undefined ? {} : { source }), ...scope.stamp() })),
    usage: (usage) => channel.usage.add(usage),
    subagent: (name, options = {}) => createSubagent(scope, name, options, createEmit),
    interrupt: (request) => (scope.ended ? scope.refusal() : channel.refusal()) ?? interrupts.ask(scope, request),
    forward(event) {
      if (scope.ended) return scope.refusal();
      scope.forwarder.take(event);
      const { end } = scope.forwarder;
      if (end?.type === "RUN_ERROR") throw new HeddleError("agent-failed", end.message, { code: end.code });
      return channel.room();
    },
  };
  scopes.set(emit, scope);
  return emit;
}

function stepsOf(scope: Scope): Emit["step"] {
  const { channel } = scope.run;

  function step(name: string): StepWriter;
  function step<T>(name: string, work: () => T | Promise<T>): Promise<T>;
  function step<T>(stepName: string, work?: () => T | Promise<T>): StepWriter | Promise<T> {
    void (scope.ended ? scope.refusal() : channel.send(stepStarted({ stepName, ...scope.stamp() })));
    let ended = false;
    const end = (): Promise<void> => {
      if (ended || scope.ended) return channel.room();
      ended = true;
      return channel.send(stepFinished({ stepName, ...scope.stamp() }));
    };
    return work === undefined ? { end } : around(work, end);
  }
  return step;
}

async function around<T>(work: () => T | Promise<T>, end: () => Promise<void>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    void end();
    throw error;
  }
  // Where the run is over the step is closed, and the work is done all the same.
  await end().catch(() => {});
  return result;
}
