/** The shared state: read, replaced, or changed by the smallest patch that says the change. */
import { HeddleError, stateDelta, stateSnapshot } from "../protocol/index.ts";
import type { JsonPatch } from "../protocol/index.ts";
import { changeByPatch, changeByRecipe } from "./document-change.ts";
import type { DocumentChange, Recipe } from "./document-change.ts";
import { checkOf } from "./schema.ts";
import type { Schema } from "./schema.ts";
import type { Scope } from "./scope.ts";

/** Reads and changes the shared state. */
export interface StateWriter<S = unknown> {
  /** The state now. It starts as the input's, which no schema has checked; `{}` where the input has none. */
  readonly value: S;
  /** Replaces the state. */
  set(state: S): Promise<void>;
  /** Changes it by operations of JSON Patch, all or none. */
  patch(operations: JsonPatch): Promise<void>;
  /** Changes it as the recipe changes a draft of it; only the difference is sent, and nothing where there is none. */
  update(recipe: Recipe<S>): Promise<void>;
}

/** The state as one owner reads and changes it. */
export function createStateWriter(scope: Scope): StateWriter {
  const { channel, checkState } = scope.run;

  function change(make: (before: unknown) => DocumentChange): Promise<void> {
    if (scope.ended) return scope.refusal();
    if (!channel.accepts) return channel.room();
    const { after, patch } = make(channel.state);
    checkState?.(after);
    return patch.length === 0 ? channel.room() : channel.send(stateDelta({ delta: patch, ...scope.stamp() }));
  }

  return {
    get value() {
      return channel.state;
    },
    set(state) {
      // The event outlives the call: what the author changes later must not change it.
      const event = stateSnapshot({ snapshot: state, ...scope.stamp() });
      checkState?.(state);
      return scope.ended ? scope.refusal() : channel.send({ ...event, snapshot: structuredClone(state) });
    },
    patch: (operations) => change((before) => changeByPatch(before, structuredClone(operations))),
    update: (recipe) => change((before) => changeByRecipe(before, recipe)),
  };
}

const checkers = new WeakMap<Schema, (state: unknown) => void>();

/** Throws `event-invalid` for a state that the schema refuses. The schema has to answer at once. Made once a schema. */
export function stateChecker(schema: Schema): (state: unknown) => void {
  const known = checkers.get(schema) ?? makeChecker(schema);
  checkers.set(schema, known);
  return known;
}

function makeChecker(schema: Schema): (state: unknown) => void {
  const check = checkOf(schema);
  return (state) => {
    const result = check(state);
    if (result instanceof Promise) {
      const expected = "a schema that checks without waiting";
      const message =
        "The stateSchema checks asynchronously: a state is checked before it is sent, so it may not wait.";
      throw new HeddleError("config-invalid", message, { setting: "stateSchema", expected, received: "another" });
    }
    if (result.ok) return;
    const received = result.problems.join("; ");
    throw new HeddleError("event-invalid", `The state does not fit its schema: ${received}.`, {
      path: "",
      expected: "a state that fits stateSchema",
      received,
    });
  };
}
