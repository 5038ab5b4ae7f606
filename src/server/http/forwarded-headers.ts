/**
 * Headers of the request that started a run, for agents that call others in its name.
 *
 * Only headers that are chosen are kept, and only as long as the run: they stand in no input, no event and no log. They
 * go along with whatever the request set going, so an agent reads its own run's without their passing through the core.
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** Names in lower case, and values. */
export type ForwardedHeaders = Readonly<Record<string, string>>;

const NONE: ForwardedHeaders = {};
const current = new AsyncLocalStorage<ForwardedHeaders>();

/** The chosen headers of the request that started this run; none outside of one. */
export const forwardedHeaders = (): ForwardedHeaders => current.getStore() ?? NONE;

/** Does something under the chosen headers of a request. */
export function withForwardedHeaders<T>(
  names: readonly string[],
  header: (name: string) => string | undefined,
  work: () => T,
): T {
  const chosen: Record<string, string> = {};
  for (const name of names) {
    const value = header(name);
    if (value !== undefined) chosen[name] = value;
  }
  return current.run(chosen, work);
}
