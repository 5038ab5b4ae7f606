/** An attachment to what has not begun yet: nothing comes until it has, and then everything. */
import type { Attachment } from "./attach.ts";

/** Attaches as soon as that is possible; to nothing where whoever waits has gone. */
export function attachLater(ready: () => Promise<Attachment | undefined>): Attachment {
  return {
    finished: false,
    reset: false,
    get events() {
      return (async function* () {
        const attachment = await ready();
        if (attachment !== undefined) yield* attachment.events;
      })();
    },
    frames: (encoding, onCaughtUp) =>
      (async function* () {
        const attachment = await ready();
        if (attachment !== undefined) yield* attachment.frames(encoding, onCaughtUp);
      })(),
  };
}
