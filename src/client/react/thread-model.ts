/**
 * What all components that show a thread share: its values, each the same until it is another, and what belongs to the
 * thread without being in its log, such as answers that wait for others, and why the last request was refused.
 *
 * There is one for each thread of a client, found again by whoever asks.
 */
import type { ConnectionState, PendingToolCall, Run, RunSummary, Thread } from "../index.ts";
import { HeddleError } from "../../protocol/index.ts";
import type { Interrupt, Message, ResumeEntry } from "../../protocol/index.ts";
import type { RunStatus, RunView, StepView, SubagentView } from "../../stream/index.ts";
import { branchPoints, newestBelow } from "./branch-tree.ts";
import type { BranchPoint, RunTree } from "./branch-tree.ts";

/** What went wrong. */
export interface Failure {
  /** For people. */
  readonly message: string;
  /** For programs. */
  readonly code?: string;
}

/** What there is to read of a thread. */
export interface ThreadValues {
  /** The messages, in order. */
  readonly messages: readonly Message[];
  /** Their ids: the same list while only what they say changes. */
  readonly messageIds: readonly string[];
  /** The shared state, with what was set here and is not sent yet. */
  readonly state: unknown;
  /** How the newest run stands. */
  readonly status: RunStatus;
  /** The newest run. */
  readonly newest: RunView;
  /** Whether a run was asked for here that has not begun yet: the server has not answered, or cannot be reached. */
  readonly isStarting: boolean;
  /** How the thread is connected. */
  readonly connection: ConnectionState;
  /** Why the last request was refused (until another run is the newest), the thread can be followed no more, the newest run failed, or the runs could not be fetched. */
  readonly error: Failure | undefined;
  /** Questions that wait for an answer. */
  readonly interrupts: readonly Interrupt[];
  /** Answers that were given here and wait for the others, by the id of the question. */
  readonly answers: ReadonlyMap<string, ResumeEntry>;
  /** Calls that wait for this client, or for another. */
  readonly pendingToolCalls: readonly PendingToolCall[];
  /** Steps that are open. */
  readonly steps: readonly StepView[];
  /** Subagents of the newest run. */
  readonly subagents: readonly SubagentView[];
  /** Every run of the thread; empty until they were fetched. */
  readonly runs: readonly RunSummary[];
  /** The places where the branch that is shown forks. */
  readonly branches: readonly BranchPoint[];
}

const NONE: readonly never[] = [];
const NO_ANSWERS: ReadonlyMap<string, ResumeEntry> = new Map();
/** Runs that could not be fetched are asked for again so much later. */
const RETRY_MS = 2000;
const NO_RUNS: RunTree = { runs: NONE, messageRuns: {} };

/** A thread of which nothing is known. */
export const BLANK_THREAD: ThreadValues = {
  messages: NONE,
  messageIds: NONE,
  state: {},
  status: "none",
  newest: { status: "none", usage: NONE },
  isStarting: false,
  connection: "idle",
  error: undefined,
  interrupts: NONE,
  answers: NO_ANSWERS,
  pendingToolCalls: NONE,
  steps: NONE,
  subagents: NONE,
  runs: NONE,
  branches: NONE,
};

/** The shared part of a thread. */
export class ThreadModel implements ThreadValues {
  /** The thread. */
  readonly thread: Thread;
  readonly #listeners = new Set<() => void>();
  #leave: (() => void) | undefined;
  #ids: readonly string[] = NONE;
  #idsOf: readonly Message[] = NONE;
  #results: ReadonlyMap<string, number> = new Map();
  #pending: readonly PendingToolCall[] = NONE;
  readonly #starting = new Set<Run>();
  #failure: Failure | undefined;
  /** The run that was the newest when it failed. */
  #failureAt: string | undefined;
  #answers: ReadonlyMap<string, ResumeEntry> = NO_ANSWERS;
  #answersTo: string | undefined;
  #tree = NO_RUNS;
  #treeOf = "";
  #treeFailure: Failure | undefined;
  #wantsTree = false;
  #points: { readonly tree: RunTree; readonly tip: string | undefined; readonly found: readonly BranchPoint[] };

  constructor(thread: Thread) {
    this.thread = thread;
    this.#points = { tree: NO_RUNS, tip: undefined, found: NONE };
  }

  /** Itself, as a source of values. */
  get values(): ThreadValues {
    return this;
  }

  /** Calls when any value may be another. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const own = (): void => listener();
    this.#leave ??= this.thread.subscribe(() => this.#changed());
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size > 0) return;
      this.#leave?.();
      this.#leave = undefined;
    };
  };

  #changed(): void {
    this.refreshBranches();
    for (const listener of this.#listeners) listener();
  }

  /** The messages, in order. */
  get messages(): readonly Message[] {
    return this.thread.messages;
  }

  /** Their ids. */
  get messageIds(): readonly string[] {
    const { messages } = this.thread;
    if (messages === this.#idsOf) return this.#ids;
    this.#idsOf = messages;
    const isSame = messages.length === this.#ids.length && messages.every(({ id }, index) => id === this.#ids[index]);
    if (isSame) return this.#ids;
    this.#results = new Map(
      messages.flatMap((message, index) => (message.role === "tool" ? [[message.toolCallId, index]] : [])),
    );
    return (this.#ids = messages.map(({ id }) => id));
  }

  /** A message by its place, where it still has it, and otherwise by its id. */
  message(id: string, place: number): Message | undefined {
    const { messages } = this.thread;
    const there = messages[place];
    return there?.id === id ? there : messages.find((message) => message.id === id);
  }

  /** The message that answers a call. */
  resultOf(toolCallId: string): Message | undefined {
    void this.messageIds;
    const place = this.#results.get(toolCallId);
    return place === undefined ? undefined : this.thread.messages[place];
  }

  /** The shared state. */
  get state(): unknown {
    return this.thread.state;
  }

  /** How the newest run stands. */
  get status(): RunStatus {
    return this.newest.status;
  }

  /** The newest run. */
  get newest(): RunView {
    return this.thread.view.run;
  }

  /** Whether a run was asked for here that has not begun yet. */
  get isStarting(): boolean {
    return this.#starting.size > 0;
  }

  /** How the thread is connected. */
  get connection(): ConnectionState {
    return this.thread.connection;
  }

  /** What went wrong last. */
  get error(): Failure | undefined {
    const refused = this.#failureAt === this.thread.tip ? this.#failure : undefined;
    return refused ?? this.thread.error ?? this.newest.error ?? this.#treeFailure;
  }

  /** Questions that wait for an answer. Those that a run was started with are in the view until it has ended. */
  get interrupts(): readonly Interrupt[] {
    return this.status === "interrupted" ? this.thread.view.interrupts : NONE;
  }

  /** Answers that wait for others. */
  get answers(): ReadonlyMap<string, ResumeEntry> {
    return this.#answersTo === this.thread.tip ? this.#answers : NO_ANSWERS;
  }

  /** Calls that wait for a client. */
  get pendingToolCalls(): readonly PendingToolCall[] {
    const calls = this.thread.pendingToolCalls;
    const isSame =
      calls.length === this.#pending.length &&
      calls.every(({ toolCallId }, index) => toolCallId === this.#pending[index]?.toolCallId);
    return isSame ? this.#pending : (this.#pending = calls);
  }

  /** Steps that are open. */
  get steps(): readonly StepView[] {
    return this.thread.view.steps;
  }

  /** Subagents of the newest run. */
  get subagents(): readonly SubagentView[] {
    return this.thread.view.subagents;
  }

  /** Every run. */
  get runs(): readonly RunSummary[] {
    this.#wantsTree = true;
    return this.#tree.runs;
  }

  /** The places where the branch forks. */
  get branches(): readonly BranchPoint[] {
    this.#wantsTree = true;
    const { tip } = this.thread;
    if (this.#points.tree !== this.#tree || this.#points.tip !== tip) {
      this.#points = { tree: this.#tree, tip, found: branchPoints(this.#tree, tip) };
    }
    return this.#points.found;
  }

  /**
   * Fetches the runs where somebody has read them and there may be others: a run has begun or ended, another branch is shown,
   * or the connection was lost. What fails is tried again at the next such time, or a little later where that may help.
   */
  refreshBranches(): void {
    const { tip } = this.thread;
    const isConnected = this.connection === "live" || this.connection === "caught-up";
    const key = isConnected ? `${this.status} ${tip}` : "";
    if (!this.#wantsTree || tip === undefined || key === this.#treeOf) return;
    this.#treeOf = key;
    if (isConnected) void this.#fetchTree(key, tip);
  }

  /** Never rejects. */
  async #fetchTree(key: string, tip: string): Promise<void> {
    try {
      const [{ runs }, { messageRuns }] = await Promise.all([this.thread.branches(), this.thread.snapshotAt(tip)]);
      if (this.#treeOf !== key) return;
      this.#tree = { runs, messageRuns };
      this.#treeFailure = undefined;
    } catch (error) {
      if (this.#treeOf !== key) return;
      this.#treeFailure = failureOf(error);
      if (error instanceof HeddleError && error.retryable) setTimeout(() => this.#fetchAgain(key), RETRY_MS);
    }
    for (const listener of this.#listeners) listener();
  }

  #fetchAgain(key: string): void {
    if (this.#treeOf !== key || this.#listeners.size === 0) return;
    this.#treeOf = "";
    this.refreshBranches();
  }

  /** Shows the branch of a run: the newest one below it. Never rejects. */
  switchTo(runId: string): Promise<void> {
    return this.attempt(() => this.thread.switchTo(newestBelow(this.#tree.runs, runId)));
  }

  /** Starts a run, and notes where it is refused. */
  start(begin: () => Run): Run {
    this.#fails(undefined);
    const run = begin();
    this.#starting.add(run);
    this.#changed();
    void this.#begins(run);
    return run;
  }

  /** Never rejects. */
  async #begins(run: Run): Promise<void> {
    try {
      await begun(run);
    } catch (error) {
      this.#fails(failureOf(error));
    }
    this.#starting.delete(run);
    this.#changed();
  }

  /** Waits for a request, and notes where it fails. Never rejects. */
  async attempt(request: () => Promise<unknown>): Promise<void> {
    this.#fails(undefined);
    try {
      await request();
    } catch (error) {
      this.#fails(failureOf(error));
    }
  }

  #fails(failure: Failure | undefined): void {
    if (this.#failure === failure) return;
    this.#failure = failure;
    this.#failureAt = this.thread.tip;
    this.#changed();
  }

  /** Takes an answer to a question. When all that are open have one they are sent; then it is too late for others. Never rejects. */
  async answer(entry: ResumeEntry, agent: string | undefined): Promise<void> {
    const open = this.interrupts;
    const isComplete = (answers: ReadonlyMap<string, ResumeEntry>): boolean => open.every(({ id }) => answers.has(id));
    if (isComplete(this.answers)) return;
    const answers = new Map([...this.answers, [entry.interruptId, entry]]);
    this.#answers = answers;
    this.#answersTo = this.thread.tip;
    this.#changed();
    if (!isComplete(answers)) return;
    const resume = [...answers.values()];
    await this.attempt(async () => {
      const run = await this.thread.answer({ resume }, agent === undefined ? {} : { agent });
      await run.finished;
    });
    if (this.#answers === answers) this.#answers = NO_ANSWERS;
    this.#changed();
  }
}

const models = new WeakMap<Thread, ThreadModel>();

/** The model of a thread: the same each time. */
export function modelOf(thread: Thread): ThreadModel {
  let model = models.get(thread);
  if (model === undefined) models.set(thread, (model = new ThreadModel(thread)));
  return model;
}

/** Resolves when a run has begun; rejects where it could not be started. */
async function begun(run: Run): Promise<void> {
  if (run.isOver) return void (await run.finished);
  for await (const _ of run) return;
}

const failureOf = (error: unknown): Failure => (error instanceof Error ? error : { message: String(error) });
