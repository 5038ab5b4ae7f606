/** What came over a connection, byte for byte: what a client that only knows events cannot tell. */

/** The same answer; what is read of it is kept too. */
export function recorded(answer: Response, into: Uint8Array[]): Response {
  const tap = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      into.push(bytes);
      controller.enqueue(bytes);
    },
  });
  const { status, headers } = answer;
  return new Response(answer.body?.pipeThrough(tap) ?? null, { status, headers });
}

/**
 * The whole frames that carry an event of the log, each with its cursor. What is behind the last whole frame does not count,
 * and neither does an opening: its frames have no cursor but for the last, which stands for what they tell.
 */
export function rawFrames(pieces: readonly Uint8Array[]): ReadonlyMap<string, string> {
  const text = Buffer.concat(pieces).toString();
  const frames = text.slice(0, text.lastIndexOf("\n\n") + 2).split(/(?<=\n\n)/);
  let isOpening = false;
  return new Map(
    frames.flatMap((frame) => {
      const id = /^id: (\S+)\ndata: /.exec(frame)?.[1];
      const isTold = isOpening;
      isOpening = id === undefined && (isOpening || frame.startsWith("data: "));
      return id === undefined || isTold ? [] : [[id, frame] as const];
    }),
  );
}
