/**
 * Events as the log gets them: so that every view can be made of each of them alone, whatever it hides.
 *
 * What an event is may only be known from those before it: which message a fragment belongs to, what a patch moves. That
 * is at hand when it comes, and is written into it; whoever reads the log later has the one event only.
 */
import type { Event } from "../protocol/index.ts";
import type { ReduceState } from "../stream/index.ts";
import type { HiddenPaths } from "./hidden-paths.ts";
import { InstructionMarker } from "./mark-instructions.ts";
import { SetApart } from "./set-apart.ts";
import { tellPatch } from "./tell-patch.ts";

/** Makes the events of one run ready. */
export class ForViews {
  readonly #hidden: readonly HiddenPaths[];
  readonly #apart = new SetApart();
  readonly #instructions = new InstructionMarker();

  /** `hidden` is what views hide of the state. */
  constructor(hidden: readonly HiddenPaths[] = []) {
    this.#hidden = hidden;
  }

  /** The event as it is logged, behind what was folded so far. */
  tell(event: Event, { list, document }: ReduceState): Event {
    const told = this.#instructions.mark(this.#apart.tell(event, list));
    return this.#hidden.length === 0 ? told : tellPatch(told, document, this.#hidden);
  }
}
