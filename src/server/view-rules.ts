/**
 * What each role gets to see, where a server says so: whether it may ask for what is hidden by default, whether it sees
 * reasoning, and which places of the state it does not. What is asked for can only take away from that.
 */
import { HeddleError } from "../protocol/index.ts";
import { HiddenPaths } from "./hidden-paths.ts";
import { ROLES } from "./auth/index.ts";
import type { Role } from "./auth/index.ts";
import type { ShowOptions } from "./show.ts";

/** What a role gets to see. */
export interface ViewRules {
  /** Whether it may ask for RAW events, `rawEvent`, and messages that instruct the model. */
  readonly raw?: boolean | undefined;
  /** Whether it sees reasoning, in any form. */
  readonly reasoning?: boolean | undefined;
  /** Places of the state that it does not see: JSON Pointers, in which `*` is any member or element. */
  readonly hiddenState?: readonly string[] | undefined;
}

/** Rules by role; what is not said is as in `VIEW_DEFAULTS`. */
export type Views = Partial<Readonly<Record<Role, ViewRules>>>;

/** What each role gets to see unless the server says otherwise. */
export const VIEW_DEFAULTS = {
  observer: { raw: false, reasoning: true, hiddenState: [] },
  collaborator: { raw: false, reasoning: true, hiddenState: [] },
  owner: { raw: false, reasoning: true, hiddenState: [] },
  operator: { raw: true, reasoning: true, hiddenState: [] },
} as const satisfies Record<Role, Required<ViewRules>>;

/** The rules of a role. */
export function rulesFor(views: Views | undefined, role: Role): ViewRules {
  const { raw, reasoning, hiddenState } = VIEW_DEFAULTS[role];
  const own = views?.[role] ?? {};
  return {
    raw: own.raw ?? raw,
    reasoning: own.reasoning ?? reasoning,
    hiddenState: own.hiddenState ?? hiddenState,
  };
}

/** What a reader asks for, within rules. Throws `role-missing` where it asks for what is not for its role. */
export function withRules<S extends ShowOptions>(asked: S, rules: ViewRules): S {
  if (asked.raw === true && rules.raw !== true) {
    const message = "Only an operator may ask for what is hidden: ask without raw.";
    throw new HeddleError("role-missing", message, { role: "operator" });
  }
  return {
    ...asked,
    reasoning: asked.reasoning !== false && rules.reasoning !== false,
    hiddenState: [...(asked.hiddenState ?? []), ...(rules.hiddenState ?? [])],
  };
}

/** What the views of a server hide of the state, each set of places once. Throws `config-invalid`. */
export function hiddenIn(views: Views | undefined): readonly HiddenPaths[] {
  const hidden = ROLES.map((role) => rulesFor(views, role).hiddenState ?? []).filter(({ length }) => length > 0);
  const byKey = new Map(hidden.map((pointers) => new HiddenPaths(pointers)).map((paths) => [paths.key, paths]));
  return [...byKey.values()];
}
