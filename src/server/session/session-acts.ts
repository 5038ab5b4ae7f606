/**
 * What an application does with sessions: create, ask, look at and end them. Names and parts are the seed's in our idiom: no
 * suffixes, signals to stop, iteration in place of callbacks.
 */
import type { Agent } from "../../agent/index.ts";
import type { Message } from "../../protocol/index.ts";
import type { SessionEvent, SessionRunInput } from "../../protocol/session/index.ts";
import type { ToolCallState } from "../index.ts";
import type { SessionSettings } from "./session-options.ts";

/** A message of a conversation, and when it was first heard of. */
export interface SessionEntry {
  /** The message. */
  readonly message: Message;
  /** ISO 8601; undefined where the log does not say. */
  readonly timestamp: string | undefined;
}

/** A session that lives. */
export interface Session {
  /** Its id, which is its thread's. */
  readonly sessionId: string;
  /** Name of its endpoint. */
  readonly endpoint: string;
  /** The agent that answers. */
  readonly agent: Agent;
  /** Its rules. */
  readonly options: SessionSettings;
  /** When it began: where it was continued, its thread. */
  readonly createdAt: Date;
  /** When something was last sent or received. */
  readonly lastActivityAt: Date;
  /** What the application keeps with it: the metadata of its thread. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** What was said, oldest first: read from the log. */
  conversationHistory(): Promise<readonly SessionEntry[]>;
  /** Its tool calls with their times, also those of the run that is under way. */
  toolCalls(): Promise<readonly ToolCallState[]>;
}

/** How a session is created. */
export interface CreateSessionOptions {
  /** Name of the endpoint. May be left out where there is only one. */
  readonly endpoint?: string | undefined;
  /** What the application keeps with it. */
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** What somebody does with sessions. Those of others are not there for them. */
export interface SessionActs {
  /** Creates a session and gives its id, a GUID. It lives until it is ended, or idle for too long. */
  createSession(options?: CreateSessionOptions): Promise<string>;
  /**
   * Answers a request in a session, event by event. Aborting stops the run, which then ends as cancelled; leaving the loop
   * does not. Throws `thread-unknown` where no such session lives, `rate-limited`, and what starting a run throws.
   */
  processRequest(
    sessionId: string,
    request: SessionRunInput,
    options?: { readonly signal?: AbortSignal | undefined },
  ): AsyncIterable<SessionEvent>;
  /** Ends a session; what was said stays. One that has ended, or never was, is left as it is. */
  endSession(sessionId: string): Promise<void>;
  /** The session that lives; else one that goes on with the thread of this id; else a new one under it. */
  getOrCreate(sessionId: string, options?: CreateSessionOptions): Promise<Session>;
  /** The session that lives, or undefined. */
  get(sessionId: string): Promise<Session | undefined>;
  /** Keeps metadata with a session, for good: with its thread, as soon as there is one. Throws `thread-unknown`. */
  update(sessionId: string, change: { readonly metadata: Readonly<Record<string, unknown>> }): Promise<Session>;
  /** Ends a session and deletes its thread, with all that was said. */
  remove(sessionId: string): Promise<void>;
  /** What was said in a session, whether it lives or has ended. Throws `thread-unknown`. */
  conversationHistory(sessionId: string): Promise<readonly SessionEntry[]>;
}
