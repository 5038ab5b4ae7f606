import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { custom } from "../protocol/index.ts";
import type { Event } from "../protocol/index.ts";
import { memoryStore } from "./index.ts";
import type { LoggedEvent } from "./index.ts";

const event = (name: string): Event => custom({ name, value: 1 });

const namesOf = (page: readonly LoggedEvent[]): string[] =>
  page.map(({ event }) => (event.type === "CUSTOM" ? event.name : event.type));

const open = new AbortController().signal;

describe("appending", () => {
  test("gives every thread positions 1, 2, 3 … and a log of its own", async () => {
    const store = memoryStore();
    await store.append("a", "r1", [event("1"), event("2")]);
    await store.append("b", "r2", [event("other")]);
    const tail = await store.append("a", "r3", [event("3")]);
    const [a, b] = [await store.read("a"), await store.read("b")];
    expect(a.map(({ seq, runId }) => [seq, runId])).toEqual([
      [1, "r1"],
      [2, "r1"],
      [3, "r3"],
    ]);
    expect(namesOf(a)).toEqual(["1", "2", "3"]);
    expect(a[0]?.cursor).toMatch(/^[0-9a-z]{12}_0000000000000001$/);
    expect(a.at(-1)?.cursor).toBe(tail);
    expect(await store.tail("a")).toBe(tail);
    expect(b[0]?.cursor.split("_")[0]).not.toBe(a[0]?.cursor.split("_")[0]);
  });

  test("keeps cursors in the order of their positions as text", async () => {
    const store = memoryStore();
    for (let index = 0; index < 120; index++) await store.append("a", "r", [event(String(index))]);
    const cursors = (await store.read("a")).map(({ cursor }) => cursor);
    expect(cursors.toSorted()).toEqual(cursors);
  });
});

describe("reading", () => {
  test("gives what is after a cursor, a page at a time", async () => {
    const store = memoryStore();
    await store.append("a", "r", [event("1"), event("2"), event("3"), event("4")]);
    const [first] = await store.read("a", { limit: 1 });
    expect(namesOf(await store.read("a", { after: first?.cursor, limit: 2 }))).toEqual(["2", "3"]);
    expect(await store.read("a", { after: await store.tail("a") })).toEqual([]);
  });

  test("knows no thread that nothing was appended to", async () => {
    const store = memoryStore();
    expect(await store.tail("a")).toBeUndefined();
    await expect(store.read("a")).rejects.toMatchObject({ code: "thread-unknown" });
    await expect(store.wait("a", undefined, open)).rejects.toMatchObject({ code: "thread-unknown" });
  });

  test("HTTP-ATT-2: refuses a cursor that is malformed, of another log, or ahead", async () => {
    const store = memoryStore();
    const tail = await store.append("a", "r", [event("1")]);
    const foreign = await store.append("b", "r", [event("1")]);
    const ahead = tail.replace(/1$/, "2");
    for (const [after, reason] of [
      ["7", "malformed"],
      [`${tail} `, "malformed"],
      [tail.slice(0, -1), "malformed"],
      [tail.toUpperCase().replace(/^./, "A"), "malformed"],
      [foreign, "foreign"],
      [ahead, "ahead"],
    ]) {
      const refusal = { code: "cursor-invalid", details: { reason } };
      await expect(store.read("a", { after })).rejects.toMatchObject(refusal);
      await expect(store.wait("a", after, open)).rejects.toMatchObject(refusal);
    }
  });
});

describe("waiting", () => {
  test("is over at once where there is more already", async () => {
    const store = memoryStore();
    await store.append("a", "r", [event("1")]);
    await expect(store.wait("a", undefined, open)).resolves.toBeUndefined();
  });

  test("is over for everybody with the next append", async () => {
    const store = memoryStore();
    const tail = await store.append("a", "r", [event("1")]);
    let woken = 0;
    const waits = [1, 2, 3].map(() => store.wait("a", tail, open).then(() => woken++));
    await store.append("b", "r", [event("elsewhere")]);
    expect(woken).toBe(0);
    await store.append("a", "r", [event("2")]);
    await Promise.all(waits);
    expect(woken).toBe(3);
  });

  test("leaves nothing behind on the signal of a viewer that waits often", async () => {
    const store = memoryStore();
    let tail = await store.append("a", "r", [event("1")]);
    for (let index = 0; index < 5; index++) {
      const wait = store.wait("a", tail, open);
      tail = await store.append("a", "r", [event("more")]);
      await wait;
    }
    expect(getEventListeners(open, "abort")).toHaveLength(0);
  });

  test("is over when the signal aborts, before or meanwhile", async () => {
    const store = memoryStore();
    const tail = await store.append("a", "r", [event("1")]);
    const stop = new AbortController();
    const wait = store.wait("a", tail, stop.signal);
    stop.abort();
    await expect(wait).resolves.toBeUndefined();
    await expect(store.wait("a", tail, stop.signal)).resolves.toBeUndefined();
  });
});
