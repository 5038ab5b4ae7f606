/**
 * Tools that a client executes: a function and what describes it. A call that a run leaves to clients is claimed first, so
 * that one tab or device executes it; its result is posted, and the run that follows goes on with it. A call that was
 * answered waits for nobody, so replay executes nothing.
 *
 * Whoever executes keeps the claim; a page that goes away loses it after a few seconds, and the call is offered once more.
 */
import type { Tool } from "../protocol/index.ts";
import { pause } from "./retry.ts";
import type { Thread, ToolResult } from "./thread.ts";

/** A call that waits for a client. */
export interface PendingToolCall {
  /** The call. */
  readonly toolCallId: string;
  /** The tool. */
  readonly name: string;
  /** Its arguments, as a text of JSON. */
  readonly arguments: string;
}

/** A tool that this client executes. */
export interface FrontendTool<A = unknown> {
  /** Its name, as the model calls it. */
  readonly name: string;
  /** What it does, for the model. */
  readonly description: string;
  /** JSON Schema of its arguments. Default: any object. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** Executes it; what it gives is the result. What it throws is told as its failure. */
  readonly handler: (args: A, call: PendingToolCall & { readonly threadId: string }) => unknown;
}

/** How long a claim holds; it is renewed while the tool works. */
const LEASE_MS = 6000;

/** What a client executes. */
export class FrontendTools {
  readonly #tools = new Map<string, FrontendTool>();
  readonly #working = new Set<string>();
  readonly #holder: string;
  readonly #closing: AbortSignal;

  constructor(holder: string, closing: AbortSignal) {
    this.#holder = holder;
    this.#closing = closing;
  }

  /** Offers a tool; the function that it gives takes it back. */
  add<A>(tool: FrontendTool<A>): () => void {
    const known: FrontendTool = {
      ...tool,
      handler: (args, call) => Reflect.apply(tool.handler, undefined, [args, call]),
    };
    this.#tools.set(tool.name, known);
    return () => {
      if (this.#tools.get(tool.name) === known) this.#tools.delete(tool.name);
    };
  }

  /** The tools as a run is told of them. */
  offered(): readonly Tool[] {
    return Array.from(this.#tools.values(), ({ name, description, parameters = { type: "object" } }) => ({
      name,
      description,
      parameters,
    }));
  }

  /** Looks whether a thread waits for a tool that is here. */
  look(thread: Thread): void {
    const calls = thread.pendingToolCalls;
    if (this.#closing.aborted || calls.length === 0 || !this.#hasAll(calls)) return;
    const key = `${thread.id} ${calls.map(({ toolCallId }) => toolCallId).join(" ")}`;
    if (this.#working.has(key)) return;
    this.#working.add(key);
    void this.#answer(thread, calls).finally(() => this.#working.delete(key));
  }

  /** A thread goes on when all of its calls are answered: who cannot answer all of them leaves them alone. */
  #hasAll(calls: readonly PendingToolCall[]): boolean {
    return calls.every(({ name }) => this.#tools.has(name));
  }

  /** Never rejects: what fails for good is told as the result, and what somebody else does is theirs. */
  async #answer(thread: Thread, calls: readonly PendingToolCall[]): Promise<void> {
    const claim = (leaseMs: number): Promise<unknown> =>
      Promise.all(calls.map(({ toolCallId }) => thread.claim(toolCallId, this.#holder, leaseMs)));
    const closing = this.#closing;
    for (let isOurs = false; !isOurs;) {
      try {
        await claim(LEASE_MS);
        isOurs = true;
        // Meanwhile a tool may have been taken back.
        if (!this.#hasAll(calls)) return void (await claim(0));
      } catch (error) {
        if (!PASSING.has(Object(error).code)) return;
        await pause(LEASE_MS, closing);
      }
      if (closing.aborted) return;
    }
    // A call that was answered elsewhere is nobody's to keep.
    const renew = (): unknown => claim(LEASE_MS).catch(({ code }) => PASSING.has(code) || stop());
    const renewal = setInterval(renew, LEASE_MS / 3);
    const stop = (): void => clearInterval(renewal);
    closing.addEventListener("abort", stop);
    try {
      const results = await Promise.all(calls.map((call) => this.#execute(thread, call)));
      await (
        await thread.answer({ results })
      ).finished;
    } catch {
      // Not posted, or refused: the claim ends, and calls that are not answered wait as before.
    } finally {
      stop();
      closing.removeEventListener("abort", stop);
    }
  }

  async #execute({ id: threadId }: Thread, call: PendingToolCall): Promise<ToolResult> {
    const { toolCallId, name } = call;
    try {
      const value: unknown = await this.#tools
        .get(name)
        ?.handler(JSON.parse(call.arguments || "{}"), { ...call, threadId });
      return { toolCallId, content: typeof value === "string" ? value : (JSON.stringify(value) ?? "") };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return { toolCallId, content: message, error: message };
    }
  }
}

/** Why a claim may be had later: somebody else has it, or nobody answered. */
const PASSING: ReadonlySet<unknown> = new Set(["tool-call-taken", "server-unreachable"]);
