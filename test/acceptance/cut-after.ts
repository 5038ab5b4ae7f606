/**
 * A network that breaks: an answer that ends behind so many bytes, its connection closed. A body that fails would take
 * along what came before and was not read yet; so that the cut is where it is meant to be, this one just ends.
 */

type Bytes = Uint8Array<ArrayBuffer>;

/** The same answer, cut. One that is not longer is whole. */
export function cutAfter({ status, headers, body }: Response, bytes: number): Response {
  if (body === null) return new Response(null, { status, headers });
  const source = beginningOf(body, bytes);
  const cut = new ReadableStream<Bytes>({
    async pull(controller) {
      const { done, value } = await source.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await source.return()),
  });
  return new Response(cut, { status, headers });
}

async function* beginningOf(body: ReadableStream<Bytes>, bytes: number): AsyncGenerator<Bytes, void, undefined> {
  let left = bytes;
  if (left === 0) return body.cancel();
  for await (const chunk of body) {
    yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) return;
  }
}
