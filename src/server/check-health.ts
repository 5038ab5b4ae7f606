/** Whether a server can do its work. */
import type { Store } from "../store/index.ts";

/** How a server is. */
export interface Health {
  /** Whether it takes runs. */
  readonly ready: boolean;
  /** `ok`, or what is wrong with the store, in one sentence. */
  readonly store: string;
  /** How many runs are under way here. */
  readonly runs: number;
  /** How many follow a thread here. */
  readonly viewers: number;
  /** How many repairs there were since the start. */
  readonly repairs: number;
}

/** How long the store may take to say the time. */
const ANSWER_MS = 2000;

/** Asks the store for the time: `ok`, or what went wrong. */
export async function checkHealth(store: Store): Promise<string> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve(`The store has not answered for ${ANSWER_MS} ms.`), ANSWER_MS);
  const asked = store.nowMs().then(
    () => "ok",
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const answer = await Promise.race([asked, late]);
  clearTimeout(timer);
  return answer;
}
