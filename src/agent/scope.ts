/**
 * Whose voice an `emit` has: the agent itself, or one of its subagents. Everything that is written through it carries
 * the owner's name, and ends with the owner.
 */
import { HeddleError } from "../protocol/index.ts";
import type { Channel } from "./channel.ts";
import { refused } from "./event-queue.ts";
import { Forwarder } from "./forwarder.ts";
import type { Interrupts, ToolWork } from "./interrupts.ts";

/** Members that every event of one owner has. */
export interface Stamp {
  /** When the event is made. */
  readonly timestamp: number;
  /** The subagent that it belongs to; absent for the agent itself. */
  readonly subagentRunId?: string;
}

/** What the emits of one run have in common. */
export interface RunParts {
  /** The way out. */
  readonly channel: Channel;
  /** Questions and answers. */
  readonly interrupts: Interrupts;
  /** Judges states; undefined where any will do. */
  readonly checkState: ((state: unknown) => void) | undefined;
}

/** One owner within a run. */
export class Scope {
  /** What all owners share. */
  readonly run: RunParts;
  /** The subagent; undefined for the agent itself. */
  readonly subagentRunId: string | undefined;
  /** The tool call that speaks, where it is one. */
  readonly toolCallId: string | undefined;
  /** What the tool call does, where the end of the run waits for it. */
  readonly work: ToolWork | undefined;
  /** How many questions without a name the tool call has asked. */
  asked = 0;
  /** Takes in events that were made elsewhere. */
  readonly forwarder = new Forwarder(this);
  #ended = false;
  readonly #children = new Set<Scope>();

  constructor(run: RunParts, subagentRunId?: string, call?: { readonly toolCallId: string; readonly work: ToolWork }) {
    this.run = run;
    this.subagentRunId = subagentRunId;
    this.toolCallId = call?.toolCallId;
    this.work = call?.work;
  }

  /** The scope of a subagent below this one, which ends with it. */
  subagent(subagentRunId: string): Scope {
    return this.#with(new Scope(this.run, subagentRunId));
  }

  /** The same owner, speaking for a tool call. */
  toolCall(toolCallId: string, work: ToolWork): Scope {
    return this.#with(new Scope(this.run, this.subagentRunId, { toolCallId, work }));
  }

  #with(child: Scope): Scope {
    this.#children.add(child);
    return child;
  }

  /** Whether the owner has ended. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Marks the owner, and whatever is below it, as ended. */
  end(): void {
    this.#ended = true;
    for (const child of this.#children) child.end();
    this.#children.clear();
  }

  /** What an event made now carries. */
  stamp(): Stamp {
    const { subagentRunId } = this;
    return subagentRunId === undefined ? { timestamp: Date.now() } : { timestamp: Date.now(), subagentRunId };
  }

  /** What whoever writes after the owner's end is told. */
  refusal(): Promise<never> {
    return over(`The subagent ${this.subagentRunId}`);
  }
}

/** The rejection of whatever is written to something that has ended. Nobody has to await it. */
export function over(what: string): Promise<never> {
  return refused(new HeddleError("run-ended", `${what} has ended; nothing can be written to it.`, {}));
}
