/** Bodies that are read as they come: how many bytes, of which type, and what becomes of those that break off. */
import { expect, test } from "vitest";
import { NO_BYTES, limitedBytes } from "./byte-body.ts";

const BODY = { mediaType: "application/x-ndjson", maxBytes: 10 };

const headers =
  (given: Readonly<Record<string, string>>) =>
  (name: string): string | undefined =>
    given[name];
const LINES = headers({ "content-type": "application/x-ndjson; charset=utf-8" });

async function* chunks(...sizes: readonly (number | Error)[]): AsyncGenerator<Uint8Array> {
  for (const size of sizes) {
    if (typeof size !== "number") throw size;
    yield new Uint8Array(size);
  }
}

async function read(bytes: AsyncIterable<Uint8Array>): Promise<number> {
  let length = 0;
  for await (const chunk of bytes) length += chunk.length;
  return length;
}

test("as many bytes as are allowed, and not one more, whatever was declared", async () => {
  expect(await read(limitedBytes(BODY, LINES, chunks(4, 6)))).toBe(10);
  expect(await read(limitedBytes(BODY, LINES, NO_BYTES))).toBe(0);
  const details = { limit: "body", allowed: 10, actual: 11 };
  await expect(read(limitedBytes(BODY, LINES, chunks(4, 7)))).rejects.toMatchObject({
    code: "limit-exceeded",
    details,
  });
  const declared = headers({ "content-type": BODY.mediaType, "content-length": "11" });
  expect(() => limitedBytes(BODY, declared, NO_BYTES)).toThrow(
    expect.objectContaining({ code: "limit-exceeded", details }),
  );
});

test.each([[{}], [{ "content-type": "application/json" }], [{ "content-type": "application/x-ndjsons" }]])(
  "%j is another type",
  (given) => {
    const refused = expect.objectContaining({ code: "media-type-unsupported" });
    expect(() => limitedBytes(BODY, headers(given), NO_BYTES)).toThrow(refused);
  },
);

test("one that breaks off says so", async () => {
  const cause = new Error("aborted");
  await expect(read(limitedBytes(BODY, LINES, chunks(1, cause)))).rejects.toMatchObject({
    code: "request-invalid",
    cause,
  });
});
