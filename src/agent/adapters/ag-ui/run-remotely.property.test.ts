/** An answer that is cut at any byte, in either wire form: what was whole arrives, and the rest is called a cut. */
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { expect, test } from "vitest";
import { arbitraryStream } from "../../../../test/arbitrary-stream.ts";
import { HeddleError, SSE_MEDIA_TYPE, encodeSseBytes, parseEvent } from "../../../protocol/index.ts";
import type { Event } from "../../../protocol/index.ts";
import { BINARY_MEDIA_TYPE, createBinaryDecoder, encodeBinary } from "../../../protocol/binary/index.ts";
import { runRemotely } from "./run-remotely.ts";

const numRuns = 60 * Number(process.env.HEDDLE_TEST_SCALE ?? 1);

type Wire = "sse" | "binary";

const encode = (wire: Wire, event: Event): Uint8Array =>
  wire === "sse" ? encodeSseBytes([event]) : encodeBinary(event);

/** An event as it reads after the wire; protobuf cannot carry everything. */
function carried(wire: Wire, event: Event): Event | undefined {
  if (wire === "sse") return event;
  return parseEvent(createBinaryDecoder().push(encodeBinary(event))[0]?.value).value;
}

const isTerminal = ({ type }: Event): boolean => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** What is left of a stream of one run: all up to its terminal event. */
const oneRun = arbitraryStream({ runs: 1, chunks: true }).map((events) => {
  const said = events.filter(({ type }) => type !== "META");
  return said.slice(0, said.findIndex(isTerminal) + 1);
});

test("cut anywhere, gently or not, in chunks of any size", async () => {
  let answer: { wire: Wire; bytes: Uint8Array; pieces: number; broken: boolean };
  const server = createServer(async (_, response) => {
    const { wire, bytes, pieces, broken } = answer;
    response.writeHead(200, { "content-type": wire === "sse" ? SSE_MEDIA_TYPE : BINARY_MEDIA_TYPE });
    response.flushHeaders();
    const size = Math.max(1, Math.ceil(bytes.length / pieces));
    for (let at = 0; at < bytes.length; at += size) {
      await new Promise((resolve) => response.write(bytes.subarray(at, at + size), resolve));
    }
    if (broken) response.destroy();
    else response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);

  const run = fc.record({
    events: oneRun,
    wire: fc.constantFrom<Wire>("sse", "binary"),
    part: fc.double({ min: 0, max: 1, noNaN: true }),
    pieces: fc.integer({ min: 1, max: 7 }),
    broken: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(run, async ({ events, wire, part, pieces, broken }) => {
      const frames = events.map((event) => encode(wire, event));
      const whole = Uint8Array.from(frames.flatMap((frame) => [...frame]));
      const cut = Math.round(whole.length * part);
      answer = { wire, bytes: whole.subarray(0, cut), pieces, broken };

      const got: Event[] = [];
      let failure: unknown;
      try {
        const input = { threadId: "thread", runId: "r", messages: [] };
        for await (const event of runRemotely(
          { name: "far", url, headers: new Headers() },
          input,
          new AbortController().signal,
        )) {
          got.push(event);
        }
      } catch (error) {
        failure = error;
      }

      const arrived = events.map((event) => carried(wire, event));
      // The last frame may be whole without the empty line that ends it.
      expect(got).toEqual(arrived.slice(0, got.length));
      let least = 0;
      for (let end = 0; least < frames.length; least++) {
        end += frames[least]?.length ?? 0;
        if (end > cut) break;
      }
      // A connection that breaks may take along what it had not delivered.
      expect(got.length).toBeGreaterThanOrEqual(broken ? 0 : least);
      expect(got.length).toBeLessThanOrEqual(least + (wire === "sse" ? 1 : 0));
      const code = failure instanceof HeddleError ? failure.code : failure;
      expect(code).toBe(got.length === events.length ? undefined : "agent-stream-cut");
    }),
    { numRuns },
  );
  server.close();
});
