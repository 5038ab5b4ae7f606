import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, runToEnd, served } from "../../test/served.ts";
import { memoryStore } from "../store/index.ts";
import type { Store } from "../store/index.ts";
import type { ConnectOptions, Encoding, Heddle } from "./index.ts";
import { PROTOBUF, SSE } from "./index.ts";
import { KeptOpenings } from "./kept-openings.ts";

/** A server on a store that says when a run is settled, and counts how often snapshots are read. */
function resting() {
  const inner = memoryStore();
  let reads = 0;
  let settled = Promise.withResolvers<void>();
  const store: Store = {
    ...inner,
    snapshot: (...asked) => ((reads += 1), inner.snapshot(...asked)),
    async settle(...asked) {
      await inner.settle(...asked);
      settled.resolve();
    },
  };
  const agent = agentOf(async ({ input, emit }) => {
    await emit.raw({ secret: input.runId });
    await emit.text({ id: `m-${input.runId}` }).write(input.runId);
  });
  const heddle = served(agent, { store });
  const run = async (runId: string): Promise<void> => {
    settled = Promise.withResolvers();
    await runToEnd(heddle, bodyOf(runId, { messages: [{ id: `s-${runId}`, role: "user", content: "hi" }] }));
    await settled.promise;
  };
  return { heddle, store, run, reads: () => reads };
}

async function opened(heddle: Heddle, encoding: Encoding = SSE, options: ConnectOptions = {}, more: object = {}) {
  const chunks: Uint8Array[] = [];
  const attachment = await heddle.connect("test", { threadId: "t1", ...more }, options);
  for await (const bytes of attachment.frames(encoding)) chunks.push(bytes);
  return Buffer.concat(chunks).toString("latin1");
}

describe("opening a thread that rests", () => {
  test("is encoded once for all who see the same, and again when the thread has gone on", async () => {
    const { heddle, run, reads } = resting();
    await run("r1");
    const before = reads();
    const first = await opened(heddle);
    expect(first).toContain("m-r1");
    expect(await opened(heddle)).toBe(first);
    expect(reads()).toBe(before + 1);
    await run("r2");
    const second = await opened(heddle);
    expect(second).toContain("m-r1");
    expect(second).toContain("m-r2");
    await heddle.close();
  });

  test("differs by form, by version, and by what the viewer holds", async () => {
    const { heddle, run } = resting();
    await run("r1");
    const plain = await opened(heddle);
    expect(await opened(heddle, PROTOBUF)).not.toContain("data:");
    expect(await opened(heddle)).toBe(plain);
    const other = { id: "other", role: "user", content: "not ours" };
    const held = await opened(heddle, SSE, {}, { messages: [{ id: "m-r1", role: "assistant", content: "r1" }, other] });
    expect(held).not.toBe(plain);
    expect(await opened(heddle)).toBe(plain);
    await heddle.close();
  });

  test("is of the log that is there now", async () => {
    const { heddle, store, run } = resting();
    await run("r1");
    const first = await opened(heddle);
    await store.deleteThread({ tenant: "default", threadId: "t1" });
    expect(await opened(heddle)).toBe("");
    await run("r1");
    const anew = await opened(heddle);
    expect(anew).toContain("m-r1");
    expect(anew).not.toBe(first);
    await heddle.close();
  });
});

test("few are kept, not much of all, and nothing that is large", () => {
  const kept = new KeptOpenings();
  const found = (count: number): number =>
    Array.from({ length: count }, (_, index) => kept.find(`${index}`, SSE)).filter((bytes) => bytes !== undefined)
      .length;
  for (let index = 0; index < 300; index++) kept.keep(`${index}`, SSE, new Uint8Array(10));
  expect(found(300)).toBe(256);
  expect(kept.find("0", SSE)).toBe(undefined);
  for (let index = 0; index < 20; index++) kept.keep(`${index}`, SSE, new Uint8Array(1 << 20));
  expect(found(300)).toBe(8);
  kept.keep("19", SSE, new Uint8Array((1 << 20) + 1));
  expect(found(300)).toBe(7);
});
