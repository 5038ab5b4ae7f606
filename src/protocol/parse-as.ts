/** Judging a value as any definition by name, capabilities among them. */
import { enforce } from "./enforce.ts";
import type { Enforced } from "./enforce.ts";
import { CAPABILITY_OBJECTS } from "./generated/capability-shapes.ts";
import type { Definitions } from "./generated/model.ts";
import type { OBJECTS, UNIONS } from "./generated/shapes.ts";
import { addObjects, codeOf } from "./shape.ts";

/** What `parseAs` can judge: every union, and every object that is not the member of one. */
export type Judgeable = keyof typeof OBJECTS | keyof typeof UNIONS | keyof typeof CAPABILITY_OBJECTS;

/** Judges a value as any definition by name, such as `AgentCapabilities` or `Message`. Throws `event-invalid`. */
export function parseAs<N extends Judgeable>(name: N, input: unknown): Enforced<Definitions[N] | undefined> {
  addObjects(CAPABILITY_OBJECTS);
  return enforce(codeOf(name), input, "event-invalid") as Enforced<Definitions[N] | undefined>;
}
