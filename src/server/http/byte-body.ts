/**
 * A body that is read as it comes: counted, and whatever breaks it said in a code of ours. Whoever stops reading leaves the
 * rest to the host: a host that closes its connection over it could not answer any more.
 */
import { HeddleError } from "../../protocol/index.ts";
import { bodyCut, bodyTooLarge, wrongMediaType } from "./error-answer.ts";
import { isOfType } from "./origin-policy.ts";
import type { ByteBody } from "./route.ts";

/** The body of a route that reads none. */
export const NO_BYTES: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};

/**
 * The bytes of a body, up to the limit of its route. Throws `media-type-unsupported` at once, and `limit-exceeded`
 * where more bytes are declared than are read; the bytes fail with `limit-exceeded` or `request-invalid`.
 */
export function limitedBytes(
  { mediaType, maxBytes }: ByteBody,
  header: (name: string) => string | undefined,
  chunks: AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const type = header("content-type");
  if (!isOfType(type, mediaType)) throw wrongMediaType(type, mediaType);
  const declared = Number(header("content-length"));
  if (declared > maxBytes) throw bodyTooLarge(declared, maxBytes);
  return counted(chunks, maxBytes);
}

async function* counted(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let length = 0;
  try {
    for await (const chunk of chunks) {
      length += chunk.length;
      if (length > maxBytes) throw bodyTooLarge(length, maxBytes);
      yield chunk;
    }
  } catch (error) {
    throw error instanceof HeddleError ? error : bodyCut(error);
  }
}
