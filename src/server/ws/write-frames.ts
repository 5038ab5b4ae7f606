/**
 * Frames to a wire, one write at a time, to their end. Not a loop that waits: that holds on to what it wrote last as long as it
 * waits for more, which most sockets do most of the time, and it waits once more for what is taken at once, which most is.
 */

/** Writes; answers when it is taken, which may be at once: true, or false where nobody is there any more. */
export type Write = (frames: Uint8Array) => boolean | Promise<boolean>;

/** Writes all frames. Resolves to false where somebody has gone before the end. Rejects as the frames do. */
export function writeFrames(frames: AsyncIterator<Uint8Array>, write: Write): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const ask = (): void => void frames.next().then(give, reject);
  const give = ({ done, value }: IteratorResult<Uint8Array>): void => {
    if (done === true) return resolve(true);
    const taken = write(value);
    if (typeof taken === "boolean") goOn(taken);
    else taken.then(goOn, reject);
  };
  const goOn = (isTaken: boolean): void => {
    if (isTaken) return ask();
    const left = frames.return?.() ?? Promise.resolve();
    left.then(() => resolve(false), reject);
  };
  ask();
  return promise;
}
