/**
 * Lines of bytes that come in pieces of any size, without their line ends. Each is decoded by itself, so that bytes which
 * are not UTF-8 are found on their line; one that is too long is refused before it is held.
 */
import { brokenLine, tooLong } from "./thread-lines.ts";

/** Longest line of an export that is read, in bytes or characters. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

const LF = 10;

/** Reads lines. Throws `import-invalid`, with the line. */
export async function* splitLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxLineBytes: number = MAX_LINE_BYTES,
): AsyncGenerator<string, void, undefined> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let pieces: Uint8Array[] = [];
  let held = 0;
  let line = 1;

  const hold = (piece: Uint8Array): void => {
    held += piece.length;
    if (held > maxLineBytes) throw tooLong(line, maxLineBytes);
    pieces.push(piece);
  };
  const take = (): string => {
    const text = decode(utf8, pieces, line);
    pieces = [];
    held = 0;
    line += 1;
    return text;
  };

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      hold(chunk.subarray(start, end));
      start = end + 1;
      yield take();
    }
    if (start < chunk.length) hold(chunk.subarray(start));
  }
  if (held > 0) yield take();
}

function decode(utf8: TextDecoder, pieces: readonly Uint8Array[], line: number): string {
  try {
    return pieces.map((piece) => utf8.decode(piece, { stream: true })).join("") + utf8.decode();
  } catch (cause) {
    throw brokenLine(line, "is not UTF-8", cause);
  }
}
