import { describe, expect, test } from "vitest";
import { formatCursor, mintLogId, readCursor } from "./cursor.ts";

const LOG = { logId: "abcdefgh1234", tail: 20, floor: 5 };

describe("a cursor", () => {
  test("sorts as text in the order of the log, and reads back", () => {
    const seqs = [5, 6, 9, 10, 11, 19, 20];
    const cursors = seqs.map((seq) => formatCursor(LOG.logId, seq));
    expect(cursors.toSorted()).toEqual(cursors);
    expect(cursors.map((cursor) => readCursor(cursor, LOG))).toEqual(seqs);
    expect(cursors[0]).toBe("abcdefgh1234_0000000000000005");
  });

  test.each([
    ["7", "malformed"],
    ["", "malformed"],
    ["abcdefgh1234_20", "malformed"],
    ["abcdefgh1234_0000000000000006 ", "malformed"],
    ["ABCDEFGH1234_0000000000000006", "malformed"],
    ["abcdefgh1234_-000000000000006", "malformed"],
    ["zbcdefgh1234_0000000000000006", "foreign"],
    ["abcdefgh1234_0000000000000021", "ahead"],
    ["abcdefgh1234_9999999999999999", "ahead"],
  ])("HTTP-ATT-2: %j is refused as %s", (cursor, reason) => {
    expect(() => readCursor(cursor, LOG)).toThrow(
      expect.objectContaining({ code: "cursor-invalid", details: expect.objectContaining({ reason }) }),
    );
  });

  test("into what retention has dropped is refused as trimmed, at its edge it is not", () => {
    expect(() => readCursor(formatCursor(LOG.logId, 4), LOG)).toThrow(
      expect.objectContaining({ code: "cursor-trimmed" }),
    );
    expect(readCursor(formatCursor(LOG.logId, 5), LOG)).toBe(5);
  });

  test("names a log by an id that is new every time", () => {
    const ids = Array.from({ length: 100 }, mintLogId);
    expect(new Set(ids).size).toBe(100);
    expect(ids.filter((id) => !/^[0-9a-z]{12}$/.test(id))).toEqual([]);
  });
});
