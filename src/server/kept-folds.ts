/**
 * Folds of branches whose newest run has just ended here: whoever goes on there need not read the branch again.
 *
 * A fold is right as long as the log still ends that run where the fold does, since what is committed never changes; that is
 * asked each time, with the run itself. It is handed over, not copied: whoever takes it may go on with it, and nobody else
 * has it then. Few are kept, and none that is large: the log has them all.
 */
import { foldBranch } from "../store/index.ts";
import type { FoldedBranch, RunInfo, RunKey, Store, ThreadInfo, ThreadKey } from "../store/index.ts";
import { view } from "../stream/index.ts";
import type { PreludeState } from "../stream/index.ts";

/** Most folds that are kept. */
const MAX_FOLDS = 256;

/** Most characters of all of them, about. */
const MAX_CHARS = 16 * 1024 * 1024;

/** Most characters of one, about. */
const MAX_FOLD_CHARS = 2 * 1024 * 1024;

/** What a value takes apart from its text, in characters, about. */
const VALUE_CHARS = 16;

/** A fold, and of what. */
interface Kept {
  readonly runId: string;
  readonly logId: string;
  readonly seq: number;
  readonly state: PreludeState;
  readonly chars: number;
}

/** The folds that one server keeps: of each thread the newest. */
export class KeptFolds {
  readonly #store: Store;
  /** Those that were used last are at the end. */
  readonly #folds = new Map<string, Kept>();
  #chars = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Keeps the fold of a run's branch up to its last event, which is at this seq. Whoever made it lets go of it. */
  keep({ runId, ...thread }: RunKey, logId: string, seq: number, state: PreludeState): void {
    const name = nameOf(thread);
    this.#drop(name);
    const chars = weigh(state);
    if (chars > MAX_FOLD_CHARS) return;
    this.#folds.set(name, { runId, logId, seq, state, chars });
    this.#chars += chars;
    for (const oldest of this.#folds.keys()) {
      if (this.#folds.size <= MAX_FOLDS && this.#chars <= MAX_CHARS) return;
      this.#drop(oldest);
    }
  }

  /** The branch of a run, folded up to its newest event, for somebody who goes on with it. Throws `run-unknown`. */
  async take(thread: ThreadInfo, runId: string): Promise<FoldedBranch> {
    const key = { ...thread, runId };
    const run = this.#has(thread, runId) ? await this.#store.run(key) : undefined;
    const kept = run === undefined ? undefined : this.#find(thread, run);
    if (run === undefined || kept === undefined) return foldBranch(this.#store, key);
    this.#drop(nameOf(thread));
    return { run, seq: kept.seq, state: kept.state };
  }

  #has({ logId, ...thread }: ThreadInfo, runId: string): boolean {
    const kept = this.#folds.get(nameOf(thread));
    return kept?.runId === runId && kept.logId === logId;
  }

  #find(thread: ThreadInfo, { runId, lastSeq, end }: RunInfo): Kept | undefined {
    if (end === undefined || !this.#has(thread, runId)) return undefined;
    const kept = this.#folds.get(nameOf(thread));
    return kept?.seq === lastSeq ? kept : undefined;
  }

  #drop(name: string): void {
    this.#chars -= this.#folds.get(name)?.chars ?? 0;
    this.#folds.delete(name);
  }
}

/** Unambiguous whatever the ids hold. */
const nameOf = ({ tenant, threadId }: ThreadKey): string => `${tenant.length} ${tenant} ${threadId}`;

/** About how much a fold holds: its messages and its state. Stops where that is too much. */
function weigh({ reduce }: PreludeState): number {
  const { messages, state } = view(reduce);
  let chars = 0;
  const waiting: unknown[] = [messages, state];
  while (waiting.length > 0 && chars <= MAX_FOLD_CHARS) {
    const value = waiting.pop();
    chars += VALUE_CHARS + (typeof value === "string" ? value.length : 0);
    if (typeof value === "object" && value !== null) for (const member of Object.values(value)) waiting.push(member);
  }
  return chars;
}
