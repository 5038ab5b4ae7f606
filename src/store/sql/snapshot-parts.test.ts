import { describe, expect, test } from "vitest";
import type { Event, Message } from "../../protocol/index.ts";
import { joinSnapshot, keptEvents, namedBlobs, splitSnapshot } from "./snapshot-parts.ts";
import type { SnapshotParts } from "./snapshot-parts.ts";

const message = (index: number): Message => ({ id: `m${index}`, role: "user", content: `question ${index}` });
const messages = (count: number): readonly Message[] => Array.from({ length: count }, (_, index) => message(index));
const snapshot = (count: number, state: unknown): readonly Event[] => [
  { type: "RUN_STARTED", threadId: "t", runId: "r" },
  { type: "MESSAGES_SNAPSHOT", messages: messages(count) },
  { type: "STATE_SNAPSHOT", snapshot: state },
  { type: "RUN_FINISHED", threadId: "t", runId: "r" },
];
const joined = ({ shell, blobs }: SnapshotParts): readonly Event[] =>
  joinSnapshot(
    keptEvents(shell, (hash) => blobs.filter((blob) => blob.hash === hash).map(({ text }) => Buffer.from(text))[0]),
  );

describe("a snapshot in parts", () => {
  test.each([0, 1, 31, 32, 33, 100])("comes together again, with %i messages", (count) => {
    expect(joined(splitSnapshot(snapshot(count, { a: [1, null] })))).toEqual(snapshot(count, { a: [1, null] }));
  });

  test("shares everything that did not change with the one before", () => {
    const [before, after] = [splitSnapshot(snapshot(96, { plan: 1 })), splitSnapshot(snapshot(97, { plan: 1 }))];
    const known = new Set(before.blobs.map(({ hash }) => hash));
    const added = after.blobs.filter(({ hash }) => !known.has(hash));
    expect(added.map(({ text }) => JSON.parse(text))).toEqual([[message(96)]]);
    expect(namedBlobs(after.shell)).toHaveLength(5);
  });

  test("keeps a state that is null, and one that is equal to another part, apart", () => {
    expect(joined(splitSnapshot(snapshot(1, null)))).toEqual(snapshot(1, null));
    expect(joined(splitSnapshot(snapshot(1, [message(0)])))).toEqual(snapshot(1, [message(0)]));
  });

  test("says so where a part is missing or is something else", () => {
    const { shell } = splitSnapshot(snapshot(1, 1));
    const withAll = (text: string | undefined) => (): unknown =>
      joinSnapshot(keptEvents(shell, () => (text === undefined ? undefined : Buffer.from(text))));
    const corrupt = expect.objectContaining({ code: "store-corrupt" });
    for (const text of [undefined, "7", "[7", "[}]"]) expect(withAll(text)).toThrow(corrupt);
  });
});
