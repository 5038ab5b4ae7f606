/** What the log holds of a conversation, against the model: the tree, every fold, and that nothing of it ever changes. */
import { deepStrictEqual } from "node:assert/strict";
import { foldBranch } from "heddle/store";
import type { Store } from "heddle/store";
import { view } from "heddle/stream";
import { messagesOf, stateOf } from "./conversation-model.ts";
import type { ModelRun } from "./conversation-model.ts";
import type { Talk } from "./conversation-talk.ts";

/** The log of a conversation, as it was and as it has to be. */
export class LogCheck {
  readonly #store: Store;
  readonly #talk: Talk;
  readonly #seen: string[] = [];

  constructor(store: Store, talk: Talk) {
    this.#store = store;
    this.#talk = talk;
  }

  /** The tree and the head, the folds of these runs, and that nothing changed since the last time. */
  async check(runs: readonly ModelRun[]): Promise<void> {
    const { model, threadId } = this.#talk;
    const key = { tenant: "default", threadId };
    const tree = (await this.#store.runs(key)).map(({ runId, parentRunId, kind, status }) => ({
      runId,
      parentRunId,
      kind,
      status,
    }));
    const expected = model.runs.map(({ id, parent, kind, status }) => ({
      runId: id,
      parentRunId: parent?.id,
      kind,
      status,
    }));
    deepStrictEqual(tree, expected, "the tree");
    if (model.head === undefined) return;
    deepStrictEqual((await this.#store.thread(key))?.head, model.head.id, "the head");
    for (const run of runs) {
      const folded = view((await foldBranch(this.#store, { ...key, runId: run.id })).state.reduce);
      deepStrictEqual(folded.messages, messagesOf(run), `the messages of ${run.id} in the log`);
      deepStrictEqual(stateOf(folded.state), stateOf(run.state), `the state of ${run.id} in the log`);
    }
    await this.#checkPrefix(key);
  }

  async #checkPrefix(key: { tenant: string; threadId: string }): Promise<void> {
    const { events } = await this.#store.read(key, { limit: 10_000, maxChars: 1e9 });
    const texts = events.map(({ json }) => json);
    deepStrictEqual(texts.slice(0, this.#seen.length), this.#seen, "what was logged before");
    this.#seen.push(...texts.slice(this.#seen.length));
  }
}
