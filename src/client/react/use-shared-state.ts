/** The state that a thread's agent and its people share, in a component. */
import { useThread } from "./use-thread.ts";

/** The state, and what changes it: seen at once, sent with the next run. */
export type SharedState<S> = readonly [state: S, setState: (change: S | ((state: S) => S)) => void];

/** The shared state of a thread, by default of the one around. Renders again when the state is another. */
export function useSharedState<S = unknown>(id?: string): SharedState<S>;
/** The same, of whatever form. */
export function useSharedState(id?: string): SharedState<unknown> {
  const { state, setState } = useThread(id);
  return [state, setState];
}
