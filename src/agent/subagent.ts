/** Subagents: an invocation that speaks under a name of its own, inside the run. */
import { HeddleError, subagentError, subagentFinished, subagentStarted } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import type { Emit } from "./emit.ts";
import { mintId } from "./mint-id.ts";
import type { Scope } from "./scope.ts";

/** What a subagent may be told beforehand. */
export interface SubagentOptions {
  /** Id of the invocation, used once in a run. Default: a new one. */
  readonly id?: string;
  /** What it is for. */
  readonly description?: string;
  /** The tool call that started it. */
  readonly parentToolCallId?: string;
  /** The message that started it. */
  readonly parentMessageId?: string;
}

/** One invocation of a subagent. What it leaves open is closed when it ends. */
export interface Subagent {
  /** Id of the invocation. */
  readonly id: string;
  /** How it speaks. Rejects once it has ended. */
  readonly emit: Emit;
  /** It is done. Not needed at the end of a run that succeeds. */
  end(result?: unknown): Promise<void>;
  /** It failed; the run may go on. */
  fail(error: unknown): Promise<void>;
}

/** Announces a subagent. */
export function createSubagent(
  scope: Scope,
  name: string,
  { id: subagentRunId = mintId("sub"), ...options }: SubagentOptions,
  emitOf: (scope: Scope) => Emit,
): Subagent {
  const { channel } = scope.run;
  const parent = scope.subagentRunId === undefined ? {} : { parentSubagentRunId: scope.subagentRunId };
  const started = subagentStarted({ ...options, ...parent, name, subagentRunId, timestamp: Date.now() });
  channel.refuseSubagent(subagentRunId);
  void (scope.ended ? scope.refusal() : channel.send(started));
  const own = scope.subagent(subagentRunId);

  function close(last: Event, closeBelow: (id: string) => Event): Promise<void> {
    if (own.ended || !channel.accepts) return channel.room();
    channel.closeWithin(subagentRunId, closeBelow);
    own.end();
    return channel.send(last);
  }

  if (scope.ended) own.end();
  return {
    id: subagentRunId,
    emit: emitOf(own),
    end(result) {
      const fields = result === undefined ? {} : { result };
      return close(subagentFinished({ subagentRunId, ...fields, timestamp: Date.now() }), (id) =>
        subagentFinished({ subagentRunId: id, timestamp: Date.now() }),
      );
    },
    fail(error) {
      const failure = failureOf(error);
      return close(failed(subagentRunId, failure), (id) => failed(id, failure));
    },
  };
}

/** What readers are told of a failure. */
export interface Failure {
  /** What went wrong, for people. */
  readonly message: string;
  /** What went wrong, for programs. */
  readonly code?: string;
}

/** The event that ends a subagent which failed. */
export const failed = (subagentRunId: string, failure: Failure): Event =>
  subagentError({ subagentRunId, ...failure, timestamp: Date.now() });

/** What readers are told of an error: its message and its code, never its stack. */
export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof HeddleError ? error.code : "agent-failed";
  return { message: message === "" ? "The agent failed." : message, code };
}
