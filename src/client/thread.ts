/**
 * One thread as a client has it: what was said, the shared state, and everything that can be done with it.
 *
 * What is read here is immutable and shares what did not change with what was read before. While it is attached it follows
 * its branch; a run that is started is followed to its end either way. Nothing here has to be told of lost connections.
 */
import { PROTOCOL_VERSION } from "../protocol/index.ts";
import type { Event, Message, ResumeEntry, RunAgentInput, Tool, ToolMessage, UserMessage } from "../protocol/index.ts";
import type { RunView, ThreadView } from "../stream/index.ts";
import { Follower } from "./follower.ts";
import type { ConnectionState } from "./follower.ts";
import type { FrontendTools, PendingToolCall } from "./frontend-tools.ts";
import type { Http } from "./http.ts";
import { Notifier } from "./notifier.ts";
import { readLog } from "./read-log.ts";
import type { LogOptions, LoggedEvent } from "./read-log.ts";
import { randomId } from "./random-id.ts";
import { Replica } from "./replica.ts";
import type { Retry } from "./retry.ts";
import { FollowedRun } from "./run.ts";
import type { Run } from "./run.ts";
import type { RunSummary, ThreadDetails, ThreadSnapshot } from "./thread-info.ts";
import type { OnBusy, Transport } from "./transport.ts";

/** What a run is asked with: a text, or whatever is new. */
export type RunRequest = string | NewInput;

/** What is new, and what goes with it. */
export interface NewInput extends Partial<Pick<RunAgentInput, "context" | "forwardedProps" | "state" | "resume">> {
  /** New messages. */
  readonly messages?: readonly Message[];
  /** Tools that this client executes, beside those that it has registered. */
  readonly tools?: readonly Tool[];
}

/** How a run is started. */
export interface RunOptions {
  /** Its id. Default: a new one. The same id again joins the run that has it. */
  readonly runId?: string;
  /** The run that it hangs on, or `root`: the view goes there. Default: what is shown. */
  readonly parent?: string;
  /** What becomes of it while another run is under way. Default: the agent's rule. */
  readonly onBusy?: OnBusy;
}

/** Answers to what a thread waits for. */
export interface Answers {
  /** To its questions: all that are open. */
  readonly resume?: readonly ResumeEntry[];
  /** To calls that are left to the client. */
  readonly results?: readonly ToolResult[];
}

/** What came of a call. */
export interface ToolResult {
  /** The call. */
  readonly toolCallId: string;
  /** The result. */
  readonly content: ToolMessage["content"];
  /** Why it failed, where it did. */
  readonly error?: string;
}

/** What a thread is made of. */
export interface ThreadParts {
  /** The thread. */
  readonly threadId: string;
  /** Requests. */
  readonly http: Http;
  /** The way to the log. */
  readonly transport: Transport;
  /** A count of failures. */
  readonly retry: () => Retry;
  /** What this client executes itself. */
  readonly tools: FrontendTools;
}

/** A thread. */
export class Thread {
  /** Its id. */
  readonly id: string;
  readonly #parts: ThreadParts;
  readonly #replica = new Replica();
  readonly #follower: Follower;
  readonly #notifier = new Notifier();
  readonly #eventListeners = new Set<(event: Event) => void>();
  #agent: string | undefined;
  #isPinned = false;
  #draft: { readonly state: unknown } | undefined;
  /** The run that the draft was sent with. */
  #draftRun: string | undefined;
  /** The view with the draft in it, and the one that it was made of. */
  #drafted: { readonly of: ThreadView; readonly shown: ThreadView } | undefined;

  constructor(parts: ThreadParts) {
    const { threadId, transport, retry } = parts;
    this.id = threadId;
    this.#parts = parts;
    this.#follower = new Follower({
      threadId,
      transport,
      retry,
      replica: this.#replica,
      endOf: (runId) => this.#endOf(runId),
      onEvents: (events) => this.#taken(events),
      onChange: () => this.#notifier.changed(),
    });
  }

  /** All that is shown: the same object until something is new. */
  get view(): ThreadView {
    const { view } = this.#replica;
    if (this.#draft === undefined) return view;
    if (this.#drafted?.of !== view) this.#drafted = { of: view, shown: { ...view, ...this.#draft } };
    return this.#drafted.shown;
  }

  /** The messages. */
  get messages(): readonly Message[] {
    return this.view.messages;
  }

  /** The shared state, with what was set here and is not sent yet. */
  get state(): unknown {
    return this.view.state;
  }

  /** Calls that wait for this client, or for another. */
  get pendingToolCalls(): readonly PendingToolCall[] {
    return pendingCalls(this.#replica);
  }

  /** How it is connected. */
  get connection(): ConnectionState {
    return this.#follower.connection;
  }

  /** Why it is connected no more. */
  get error(): Error | undefined {
    return this.#follower.error;
  }

  /** The newest run that is shown. */
  get tip(): string | undefined {
    return this.#replica.tip;
  }

  /** Calls when something is new: once for all that came since. */
  subscribe(listener: () => void): () => void {
    return this.#notifier.subscribe(listener);
  }

  /** Calls for every event, as it is taken in. */
  onEvent(listener: (event: Event) => void): () => void {
    const own = (event: Event): void => listener(event);
    this.#eventListeners.add(own);
    return () => void this.#eventListeners.delete(own);
  }

  /** Follows the thread from now on, until the function that it gives is called. */
  attach(): () => void {
    return this.#follower.hold();
  }

  /** Fetches what the thread comes to, and resolves with it. A thread that does not exist is empty. */
  async restore(): Promise<ThreadView> {
    const release = this.attach();
    try {
      await this.#until(() => ["caught-up", "ended"].includes(this.connection));
      if (this.error !== undefined) throw this.error;
      return this.view;
    } finally {
      release();
    }
  }

  /** Tries at once what would be tried later: for who knows that the network is back. */
  reconnect(): void {
    this.#follower.nudge();
  }

  /** Lets go of everything. */
  close(): void {
    this.#follower.close();
  }

  /** Starts a run. It goes on whatever becomes of this client. */
  run(agent: string, request: RunRequest, options: RunOptions = {}): Run {
    const asked = typeof request === "string" ? { messages: [userMessage(request)] } : request;
    return this.#start(agent, asked, options, options.parent !== undefined);
  }

  /** Answers what the thread waits for, and goes on from there. */
  async answer(answers: Answers, options: RunOptions & { readonly agent?: string } = {}): Promise<Run> {
    const { resume, results = [] } = answers;
    const messages = results.map(resultMessage);
    const agent = options.agent ?? (await this.#agentOf());
    return this.#start(agent, { messages, ...(resume !== undefined && { resume }) }, options, false);
  }

  /** Goes on from another run than the newest, with something new. */
  fork(agent: string, runId: string, request: RunRequest): Run {
    return this.run(agent, request, { parent: runId });
  }

  /** Says a message of the user anew: what was said from there on stays, on its own branch. */
  edit(agent: string, messageId: string, content: UserMessage["content"]): Run {
    const before = this.#before(messageId, 0);
    const messages = [...before, { ...userMessage(""), content }];
    return this.#start(agent, { messages }, before.length === 0 ? { parent: "root" } : {}, true);
  }

  /** Has the agent answer a message of the user once more, the newest where none is named. */
  regenerate(agent: string, messageId?: string): Run {
    const asked = messageId ?? this.messages.findLast(({ role }) => role === "user")?.id ?? "";
    return this.#start(agent, { messages: this.#before(asked, 1) }, {}, true);
  }

  #before(messageId: string, more: number): readonly Message[] {
    const index = this.messages.findIndex(({ id }) => id === messageId);
    if (index === -1) throw new RangeError(`The thread shows no message ${messageId}.`);
    return this.messages.slice(0, index + more).filter(({ role }) => role !== "activity");
  }

  /** Stops the run that is under way, or another. Resolves when it has ended. */
  async cancel(runId: string | undefined = this.tip): Promise<void> {
    if (runId !== undefined) await this.#request(`/runs/${encodeURIComponent(runId)}/cancel`, "POST");
  }

  /** Shows another branch: that of a run. It is also what others find when they open the thread, unless `local`. */
  async switchTo(runId: string, { local = false }: { readonly local?: boolean } = {}): Promise<void> {
    this.#isPinned = local;
    this.#draft = undefined;
    this.#follower.moveTo(runId);
    if (!local) await this.#request("", "PATCH", { head: runId });
  }

  /** Changes the shared state: seen here at once, sent with the next run. */
  setState(change: unknown | ((state: unknown) => unknown)): void {
    this.#draft = { state: typeof change === "function" ? change(this.state) : change };
    this.#draftRun = undefined;
    this.#drafted = undefined;
    this.#notifier.changed();
  }

  /** Runs, branches, members and what else there is to know. */
  details(): Promise<ThreadDetails> {
    return this.#request("", "GET");
  }

  /** The thread at a moment: a run, or a cursor. Default: its head. */
  snapshotAt(at?: string): Promise<ThreadSnapshot> {
    return this.#parts.http.json(`${this.#path}/snapshot`, { query: { at } });
  }

  /** The log, event by event. */
  history(options: LogOptions = {}): AsyncIterable<LoggedEvent> {
    return readLog(this.#parts.http, this.id, options);
  }

  /** The branches: every run, and where they fork. */
  async branches(): Promise<{ readonly runs: readonly RunSummary[]; readonly heads: readonly string[] }> {
    const { runs, heads } = await this.details();
    return { runs, heads };
  }

  /** Notes something about a run, the newest where none is named: a thumbs up, a tag. */
  async annotate(metaType: string, payload?: unknown, runId: string | undefined = this.tip): Promise<void> {
    await this.#request("/annotations", "POST", { metaType, payload, runId });
  }

  /** Claims a call that is left to clients, for a while; 0 lets go of it. Throws `tool-call-taken` and `tool-call-closed`. */
  async claim(toolCallId: string, holder: string, leaseMs: number): Promise<void> {
    await this.#request(`/tool-calls/${encodeURIComponent(toolCallId)}/claim`, "POST", { holder, leaseMs });
  }

  get #path(): string {
    return `/threads/${encodeURIComponent(this.id)}`;
  }

  #request<T>(path: string, method: "GET" | "POST" | "PATCH", body?: object): Promise<T> {
    return this.#parts.http.json(this.#path + path, { method, body });
  }

  #start(agent: string, asked: NewInput, options: RunOptions, leavesBranch: boolean): Run {
    const { runId = randomId(), parent, onBusy } = options;
    this.#agent = agent;
    const place = parent ?? (this.#isPinned && !leavesBranch ? this.tip : undefined);
    const input = this.#input(runId, asked);
    this.#draftRun = runId;
    const run: FollowedRun = new FollowedRun({
      request: { agent, input, parent: place, onBusy, after: undefined },
      leavesBranch,
      cancel: () => this.cancel(run.loggedAs),
      events: () => this.#eventsOf(run.loggedAs),
    });
    this.#follower.start(run);
    return run;
  }

  #input(runId: string, { messages = [], tools = [], ...rest }: NewInput): RunAgentInput {
    const offered = [...this.#parts.tools.offered(), ...tools];
    return {
      threadId: this.id,
      runId,
      protocolVersion: PROTOCOL_VERSION,
      messages: [...messages],
      ...this.#draft,
      ...rest,
      ...(offered.length > 0 && { tools: offered }),
    };
  }

  async *#eventsOf(runId: string): AsyncGenerator<Event, void, undefined> {
    for await (const { event } of this.history({ run: runId, follow: true })) yield event;
  }

  /** The agent that was asked last: the thread's runs know, where this client does not. */
  async #agentOf(): Promise<string> {
    if (this.#agent !== undefined) return this.#agent;
    const { runs } = await this.details();
    const run = runs.find(({ runId }) => runId === this.tip) ?? runs.at(-1);
    return (this.#agent = run?.agent ?? "");
  }

  async #endOf(runId: string): Promise<RunView | undefined> {
    const run = await this.#request<RunSummary>(`/runs/${encodeURIComponent(runId)}`, "GET");
    const { status, error } = run;
    if (status === "queued" || status === "running") return undefined;
    return { status, threadId: this.id, runId, usage: [], ...(error !== undefined && { error }) };
  }

  #taken(events: readonly Event[]): void {
    for (const event of events) {
      // From here on the log says what became of it; somebody else's run says nothing about it.
      if (event.type === "RUN_STARTED" && event.runId === this.#draftRun) this.#draft = undefined;
      for (const listener of this.#eventListeners) listener(event);
    }
    this.#notifier.changed();
    if (this.#replica.pendingToolCallIds.length > 0) this.#parts.tools.look(this);
  }

  #until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return;
        stop();
        resolve();
      };
      const stop = this.subscribe(look);
      look();
    });
  }
}

const userMessage = (content: string): UserMessage => ({ id: randomId(), role: "user", content });

const resultMessage = ({ toolCallId, content, error }: ToolResult): ToolMessage => ({
  id: `result-${toolCallId}`,
  role: "tool",
  toolCallId,
  content,
  ...(error !== undefined && { error }),
});

function pendingCalls({ pendingToolCallIds, view }: Replica): readonly PendingToolCall[] {
  if (pendingToolCallIds.length === 0) return [];
  const wanted = new Set(pendingToolCallIds);
  return view.messages.flatMap((message) =>
    message.role !== "assistant"
      ? []
      : (message.toolCalls ?? []).flatMap(({ id, function: { name, arguments: text } }) =>
          wanted.has(id) ? [{ toolCallId: id, name, arguments: text }] : [],
        ),
  );
}
