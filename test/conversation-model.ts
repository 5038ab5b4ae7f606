/**
 * A model of the rules of DESIGN 9, for tests: what a post means to a thread, and what the thread is afterwards.
 *
 * Written from the words of the design and from nothing else: it shares no code with the server. It is a tree of runs, as
 * commits are in git: each holds its parent, the messages that it brought and said, and the state at its end. Plain and
 * slow, with nothing remembered that can be found by walking the parents.
 */
import { isDeepStrictEqual } from "node:util";
import type { Interrupt, Message, ResumeEntry } from "heddle/protocol";

/** How posts are taken, where the design leaves a choice. */
export interface ModelRules {
  /** Where a new message goes that follows a shorter list. */
  readonly onStale?: "fork" | "append";
  /** Whether system and developer messages are taken on a thread that exists. */
  readonly acceptInstructions?: boolean;
  /** What becomes of calls that a post does not answer. */
  readonly onOpenCalls?: "reject" | "fail";
}

/** What a client posts. */
export interface Post {
  /** Id that it gives the run. */
  readonly runId: string;
  /** What it says that it holds, and what is new. */
  readonly messages: readonly Message[];
  /** The state that it holds; absent where it sends none. */
  readonly state?: unknown;
  /** Answers to questions. */
  readonly resume?: readonly ResumeEntry[];
  /** Where the run is to hang: a run's id, or `root`. */
  readonly parent?: string;
  /** Whether it comes with forwarded properties. */
  readonly acts?: boolean;
  /** What becomes of it while another run is under way. */
  readonly onBusy?: "reject" | "interrupt" | "rollback" | "fork";
}

/** A run of the tree. */
export interface ModelRun {
  /** Its id. */
  readonly id: string;
  /** The run that it hangs on. */
  readonly parent: ModelRun | undefined;
  /** How it hangs there; undefined for a root. */
  readonly kind: "continue" | "branch" | undefined;
  /** Where it was asked to hang. */
  readonly asked: string | undefined;
  /** The messages that came with it. */
  brought: readonly Message[];
  /** The state that it began with. */
  readonly startState: unknown;
  /** The answers that it was posted with. */
  readonly resume: readonly ResumeEntry[];
  /** Those that answered something. */
  readonly answers: readonly ResumeEntry[];
  /** The messages that its agent said. */
  said: readonly Message[];
  /** The state as it left it. */
  state: unknown;
  /** How it stands. */
  status: "running" | "finished" | "interrupted" | "cancelled" | "failed";
  /** Questions that it ended with. */
  asks: readonly Interrupt[];
  /** Calls that it left to the client. */
  waits: readonly string[];
}

/** How a run begins. */
export interface Start {
  /** Its id in the log. */
  readonly id: string;
  /** The run that it hangs on. */
  readonly parent: ModelRun | undefined;
  /** Where it was asked to hang; what came with it may lead elsewhere. */
  readonly asked: string | undefined;
  /** Messages that come with it. */
  readonly brought: readonly Message[];
  /** Calls that are closed as declined, before what comes with it. */
  readonly declined: readonly string[];
  /** The state that it begins with. */
  readonly state: unknown;
  /** The answers that were posted. */
  readonly resume: readonly ResumeEntry[];
  /** Those that its agent gets: to questions of the run that it hangs on. */
  readonly given: readonly ResumeEntry[];
  /** The run that is stopped first. */
  readonly stops: ModelRun | undefined;
}

/** What a post means. */
export type Meaning =
  | { readonly does: "refuse"; readonly code: string }
  | { readonly does: "restore" | "join"; readonly run: ModelRun }
  | { readonly does: "start"; readonly start: Start };

/** What a run that has just begun is given and holds. */
export type Ended = Pick<ModelRun, "said" | "status"> & Partial<Pick<ModelRun, "state" | "asks" | "waits">>;

const refuse = (code: string): Meaning => ({ does: "refuse", code });

/** Where the messages of a post lead. */
interface Judged {
  readonly parent: ModelRun | undefined;
  readonly brought: readonly Message[];
  /** The run that a fork stands in for. */
  readonly replaces: ModelRun | undefined;
}

/** A run and its ancestors, from the root. */
export function branchOf(run: ModelRun | undefined): readonly ModelRun[] {
  return run === undefined ? [] : [...branchOf(run.parent), run];
}

/** The messages of a branch. */
export const messagesOf = (run: ModelRun | undefined): readonly Message[] =>
  branchOf(run).flatMap(({ brought, said }) => [...brought, ...said]);

/** Calls of a branch that wait for the client. */
export function openCalls(run: ModelRun | undefined): readonly string[] {
  const answered = new Set(messagesOf(run).flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])));
  return branchOf(run)
    .flatMap(({ waits }) => waits)
    .filter((id) => !answered.has(id));
}

/** Nothing and `{}` are the same: no state yet. */
export const stateOf = (state: unknown): unknown => state ?? {};

const isEmptyState = (state: unknown): boolean => isDeepStrictEqual(stateOf(state), {});

const isInstruction = ({ role }: Message): boolean => role === "system" || role === "developer";

/** Messages that count at all: no activities, and the first of each id. */
const counted = (messages: readonly Message[]): readonly Message[] =>
  messages.filter(
    ({ id, role }, index) => role !== "activity" && messages.findIndex((other) => other.id === id) === index,
  );

const isIn = (list: readonly ResumeEntry[], entry: ResumeEntry): boolean =>
  list.some((each) => isDeepStrictEqual(each, entry));

/** The same answers, in whatever order. */
const sameAnswers = (one: readonly ResumeEntry[], other: readonly ResumeEntry[]): boolean =>
  one.length === other.length && one.every((entry) => isIn(other, entry)) && other.every((entry) => isIn(one, entry));

/** A thread. */
export class ConversationModel {
  /** Its runs, in the order in which they began. */
  readonly runs: ModelRun[] = [];
  readonly #rules: ModelRules;

  constructor(rules: ModelRules = {}) {
    this.#rules = rules;
  }

  /** The run that a new one continues: the newest. */
  get head(): ModelRun | undefined {
    return this.runs.at(-1);
  }

  /** A run by its id. */
  find(id: string): ModelRun | undefined {
    return this.runs.find((run) => run.id === id);
  }

  /** What a post means, as the thread stands. Changes nothing. */
  judge(post: Post): Meaning {
    const { resume = [], messages, acts = false } = post;
    const named = this.#named(post.runId);
    const same = named.find((run) => sameAnswers(resume, run.resume));
    if (same !== undefined)
      return same === named[0] || resume.length > 0 ? this.#again(same, post) : refuse("run-conflict");
    const asking = named.at(-1);
    if (
      asking !== undefined &&
      !resume.some((entry) => named.some(({ asks }) => asks.some(({ id }) => id === entry.interruptId)))
    ) {
      return refuse("run-conflict");
    }
    const answered = this.#answered(resume);
    if (answered !== undefined) return answered;
    if (post.parent !== undefined && post.parent !== "root" && this.find(post.parent) === undefined) {
      return refuse("run-unknown");
    }
    const place = asking ?? (post.parent === "root" ? undefined : (this.find(post.parent ?? "") ?? this.head));
    if (this.head !== undefined && messages.length === 0 && resume.length === 0 && !acts) {
      return { does: "restore", run: place ?? this.head };
    }
    return this.#begin(post, place, asking === undefined ? post.runId : `${post.runId}~${named.length}`);
  }

  /** Begins a run; what it declines is told by whoever declined it. */
  start(
    { id, parent, asked, brought, state, resume, given, stops }: Start,
    declined: readonly Message[] = [],
  ): ModelRun {
    if (stops !== undefined && stops.status === "running") stops.status = "cancelled";
    const isOnHead = parent === this.head;
    const run: ModelRun = {
      id,
      parent,
      kind: parent === undefined ? undefined : isOnHead ? "continue" : "branch",
      asked,
      brought: [...declined, ...brought],
      startState: state,
      resume,
      answers: given,
      said: [],
      state,
      status: "running",
      asks: [],
      waits: [],
    };
    this.runs.push(run);
    return run;
  }

  /** The run of an id, and those that answered under it. */
  #named(runId: string): readonly ModelRun[] {
    return this.runs.filter(
      ({ id }) => id === runId || (id.startsWith(`${runId}~`) && !id.slice(runId.length + 1).includes("~")),
    );
  }

  /** The ids of a run that is there. */
  #again(run: ModelRun, post: Post): Meaning {
    const places = [undefined, run.parent?.id ?? "root", run.asked];
    if (!places.includes(post.parent)) return refuse("run-conflict");
    if ((post.resume ?? []).length > 0 && !sameAnswers(post.resume ?? [], run.resume)) return refuse("run-conflict");
    if (run.resume.length > 0 && (post.resume ?? []).length === 0) return refuse("run-conflict");
    const known = messagesOf(run);
    // An answer to what was not open then did not count, and is not missed.
    const before = run.parent === undefined ? [] : messagesOf(run.parent);
    const open = new Set(
      [...before, ...known]
        .flatMap((each) => (each.role === "assistant" ? (each.toolCalls ?? []) : []))
        .map(({ id }) => id),
    );
    for (const each of before) if (each.role === "tool") open.delete(each.toolCallId);
    const news = post.messages.filter(
      (each) => each.role === "user" || (each.role === "tool" && open.has(each.toolCallId)),
    );
    const isKnown = news.every((message) => known.some(({ id }) => id === message.id));
    return isKnown ? { does: "join", run } : refuse("run-conflict");
  }

  /** An answer counts once: the same again is told what came of it, another one is refused. */
  #answered(resume: readonly ResumeEntry[]): Meaning | undefined {
    const ids = new Set(resume.map(({ interruptId }) => interruptId));
    const answering = this.runs.filter(({ answers }) => answers.some(({ interruptId }) => ids.has(interruptId)));
    const run = answering.at(-1);
    if (run === undefined) return undefined;
    const same = answering.findLast((each) => sameAnswers(each.resume, resume));
    if (same !== undefined) return { does: "join", run: same };
    // Where nothing came of the answers, the questions can be taken back.
    const isTakenBack = run.status === "failed" && resume.every(({ status }) => status === "cancelled");
    return isTakenBack ? undefined : refuse("run-conflict");
  }

  #begin(post: Post, place: ModelRun | undefined, id: string): Meaning {
    const isNew = this.head === undefined;
    const { onBusy = "reject" } = post;
    const running = place?.status === "running" ? place : undefined;
    if (running !== undefined && onBusy === "reject") return refuse("thread-busy");
    const stops = onBusy === "fork" ? undefined : running;
    const base = running === undefined || onBusy === "interrupt" ? place : running.parent;
    const judged = isNew
      ? { parent: undefined, brought: counted(post.messages), replaces: undefined }
      : this.#judgeMessages(post.messages, base, (post.resume ?? []).length > 0);
    const { parent, brought } = judged;
    const { resume = [], acts = false } = post;
    const isKnown = post.messages.some(({ id }) => messagesOf(base).some((message) => message.id === id));
    // Of a list nothing may be left: then it is an empty one.
    if (!isNew && base !== undefined && brought.length === 0 && !isKnown && resume.length === 0 && !acts) {
      return { does: "restore", run: base };
    }
    const open = this.#openQuestions(parent);
    const refused = checkAnswers(open, resume);
    if (refused !== undefined) return refuse(refused);
    const unanswered = openCalls(parent).filter(
      (call) => !brought.some((message) => message.role === "tool" && message.toolCallId === call),
    );
    if (unanswered.length > 0 && this.#rules.onOpenCalls !== "fail") return refuse("answers-missing");
    const given = resume.filter(({ interruptId }) => parent?.asks.some(({ id }) => id === interruptId));
    const state = isNew ? post.state : this.#judgeState(post.state, base, judged);
    return {
      does: "start",
      start: { id, parent, asked: post.parent, brought, declined: unanswered, state, resume, given, stops },
    };
  }

  /** The questions that a run ended with, and that nobody has answered. */
  #openQuestions(run: ModelRun | undefined): readonly Interrupt[] {
    const given = this.runs.flatMap(({ answers }) => answers);
    return (run?.asks ?? []).filter(({ id }) => !given.some(({ interruptId }) => interruptId === id));
  }

  /** The table. */
  #judgeMessages(posted: readonly Message[], base: ModelRun | undefined, isAnswer: boolean): Judged {
    const known = messagesOf(base);
    const placeOf = ({ id }: Message): number => known.findIndex((message) => message.id === id);
    const list = counted(posted);
    const edited = list.filter((message) => isEdited(message, known[placeOf(message)])).map(placeOf);
    const keep = edited.length > 0 ? Math.min(...edited) : this.#kept(list, base, isAnswer);
    const losing = branchOf(base).find(({ brought, said }) =>
      [...brought, ...said].some((message) => placeOf(message) >= keep),
    );
    // A run is left behind as a whole; what stays of its messages comes along.
    const parent = losing === undefined ? base : losing.parent;
    const again = known.slice(messagesOf(parent).length, keep);
    const isNew = (message: Message): boolean => placeOf(message) < 0 || isEdited(message, known[placeOf(message)]);
    const calls = known.slice(0, keep).flatMap(callsOf);
    const taken = this.#taken(list.filter(isNew), base).filter(
      (message) => message.role !== "tool" || calls.includes(message.toolCallId),
    );
    return { parent, brought: [...again, ...taken], replaces: losing };
  }

  /** How many messages of the branch stay, where none was edited. */
  #kept(list: readonly Message[], base: ModelRun | undefined, isAnswer: boolean): number {
    const known = messagesOf(base);
    const last = known.findLastIndex((message) => !isInstruction(message) && list.some(({ id }) => id === message.id));
    const next = known.findIndex((message, index) => index > last && !isInstruction(message));
    const isShorter = last >= 0 && next >= 0;
    const news = this.#taken(
      list.filter(({ id }) => !known.some((message) => message.id === id)),
      base,
    );
    // Who answers what the branch asks for has seen it.
    if (!isShorter || isAnswer || news.some(({ role }) => role === "tool")) return known.length;
    if (news.some(({ role }) => role === "user")) return this.#rules.onStale === "append" ? known.length : next;
    return known[last]?.role === "user" ? next : known.length;
  }

  /** Of messages that the branch does not hold, those that a client may add. */
  #taken(messages: readonly Message[], parent: ModelRun | undefined): readonly Message[] {
    const open = openCalls(parent);
    return messages.filter((message, index) => {
      if (isInstruction(message)) return this.#rules.acceptInstructions === true;
      if (message.role !== "tool") return message.role === "user";
      const first = messages.findIndex((other) => other.role === "tool" && other.toolCallId === message.toolCallId);
      return open.includes(message.toolCallId) && first === index;
    });
  }

  /** The branch's, unless it was really changed. */
  #judgeState(posted: unknown, base: ModelRun | undefined, { parent, replaces }: Judged): unknown {
    const isOld = branchOf(base)
      .flatMap(({ state, startState }) => [state, startState])
      .some((state) => isDeepStrictEqual(stateOf(state), stateOf(posted)));
    if (!isEmptyState(posted) && !isOld) return posted;
    return replaces === undefined ? parent?.state : replaces.startState;
  }
}

const callsOf = (message: Message): readonly string[] =>
  message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : [];

const isEdited = (message: Message, known: Message | undefined): boolean =>
  message.role === "user" && known?.role === "user" && known.content !== message.content;

/** Why answers do not do; undefined where they do. */
function checkAnswers(asks: readonly Interrupt[], resume: readonly ResumeEntry[]): string | undefined {
  const missing = asks.filter(({ id }) => !resume.some(({ interruptId }) => interruptId === id));
  if (missing.length > 0) return "answers-missing";
  const wrong = asks.some(({ id, responseSchema, expiresAt }) =>
    resume.some(
      ({ interruptId, status, payload }) =>
        interruptId === id &&
        status === "resolved" &&
        (expiresAt !== undefined || (responseSchema !== undefined && typeof payload !== "boolean")),
    ),
  );
  return wrong ? "resume-invalid" : undefined;
}
