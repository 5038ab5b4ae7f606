/** Single messages, built byte by byte: the envelope, what is read from it, and what is refused. */
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { describe, expect, it } from "vitest";
import { HeddleError } from "../errors.ts";
import type { Event, Warning } from "../index.ts";
import { createBinaryDecoder, decodeBinaryMessage, encodeBinary, encodeBinaryMessage } from "./index.ts";
import { MAX_JSON_DEPTH } from "./json-value.ts";

const asEvent = (json: unknown): Event => json as Event;
const concat = (chunks: readonly Uint8Array[]): Uint8Array => Uint8Array.from(Buffer.concat(chunks));

function failure(act: () => unknown): HeddleError {
  try {
    act();
  } catch (error) {
    if (error instanceof HeddleError) return error;
    throw error;
  }
  throw new Error("did not fail");
}

/** A message built field by field. */
function message(build: (writer: BinaryWriter) => unknown): Uint8Array {
  const writer = new BinaryWriter();
  build(writer);
  return writer.finish();
}
const field = (number: number, bytes: Uint8Array): Uint8Array =>
  message((writer) => writer.uint32(number * 8 + 2).bytes(bytes));
const text = (number: number, value: string): Uint8Array =>
  message((writer) => writer.uint32(number * 8 + 2).string(value));
const base = (type: number, ...more: Uint8Array[]): Uint8Array =>
  field(1, concat([message((writer) => writer.uint32(8).uint32(type)), ...more]));
const frame = (bytes: Uint8Array): Uint8Array => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return concat([length, bytes]);
};

const listOf = (bytes: Uint8Array): Uint8Array => field(6, field(1, bytes));
const objectOf = (bytes: Uint8Array): Uint8Array => field(5, field(1, field(2, bytes)));
const nested = (levels: number, wrap: (bytes: Uint8Array) => Uint8Array): Uint8Array => {
  let bytes: Uint8Array = text(3, "x");
  for (let level = 0; level < levels; level++) bytes = wrap(bytes);
  return field(7, concat([base(6), field(2, bytes)]));
};

const start = { type: "TEXT_MESSAGE_START", messageId: "m1", role: "user" };
const end = { type: "TEXT_MESSAGE_END", messageId: "m1" };

describe("the envelope", () => {
  const unknownArm = field(99, text(1, "x"));

  it("an event of a later version is dropped with a warning (R-PROC-05)", () => {
    const warnings: Warning[] = [];
    const onWarning = (warning: Warning): void => void warnings.push(warning);
    expect(decodeBinaryMessage(unknownArm)).toBeUndefined();
    expect(decodeBinaryMessage(unknownArm, { onWarning })).toBeUndefined();
    const decoder = createBinaryDecoder({ onWarning });
    const chunk = concat([frame(unknownArm), encodeBinary(asEvent(end)), frame(concat([unknownArm, unknownArm]))]);
    expect(decoder.push(chunk)).toStrictEqual([{ value: end }]);
    expect(warnings).toHaveLength(3);
    expect(warnings[0]).toMatchObject({ code: "unknown-event", path: "" });
  });

  it.each([
    ["an arm that is no message", field(99, Uint8Array.of(0x0a, 0x7f))],
    ["an arm whose field reaches beyond it", concat([field(99, Uint8Array.of(0x0a, 0x03)), unknownArm])],
    ["an arm that is a number", message((writer) => writer.uint32(99 * 8).uint32(1))],
    ["a known arm that is a number", message((writer) => writer.uint32(2 * 8).uint32(1))],
    ["field zero", Uint8Array.of(0x02, 0x00)],
    ["a tag that is too wide", Uint8Array.of(0xfa, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00)],
    ["a wire type that does not exist", Uint8Array.of(0x0f)],
    ["an end of a group that never began", Uint8Array.of(0x0c)],
    ["a group without an end", Uint8Array.of(0xfb, 0x07, 0x08, 0x01)],
  ])("%s is broken bytes", (_, bytes) => {
    expect(failure(() => decodeBinaryMessage(bytes)).code).toBe("frame-invalid");
  });

  it("fields beside the arm, and unknown fields in it, are passed over", () => {
    const arm = field(
      3,
      concat([base(2), text(2, "m1"), text(77, "later"), message((w) => w.uint32(78 * 8).uint32(1))]),
    );
    expect(decodeBinaryMessage(concat([unknownArm, arm, message((w) => w.uint32(100 * 8).uint32(1))]))).toStrictEqual(
      end,
    );
    const grouped = concat([Uint8Array.of(0xfb, 0x07), text(1, "x"), Uint8Array.of(0xfc, 0x07), arm]);
    expect(decodeBinaryMessage(grouped)).toStrictEqual(end);
  });

  it("two arms are refused, one that comes twice merges", () => {
    const error = failure(() => decodeBinaryMessage(concat([start, end].map((e) => encodeBinaryMessage(asEvent(e))))));
    expect(error.details).toMatchObject({ reason: "conflicting-arms" });
    const first = field(
      2,
      concat([
        base(
          1,
          message((w) => w.uint32(16).uint32(5)),
        ),
        text(2, "m"),
        text(3, "old"),
      ]),
    );
    const second = field(2, concat([base(1), text(3, "new")]));
    expect(decodeBinaryMessage(concat([first, second]))).toStrictEqual({
      type: "TEXT_MESSAGE_CONTENT",
      timestamp: 5,
      messageId: "m",
      delta: "new",
    });
    const lists = [["a"], ["b"]].map((ids) =>
      encodeBinaryMessage({
        type: "RUN_FINISHED",
        threadId: "t",
        runId: "r",
        result: { [String(ids)]: 1 },
        outcome: { type: "success", pendingToolCallIds: ids },
      }),
    );
    expect(decodeBinaryMessage(concat(lists))).toMatchObject({
      result: { a: 1, b: 1 },
      outcome: { type: "success", pendingToolCallIds: ["a", "b"] },
    });
  });

  it("a base event that is absent or of another type is refused", () => {
    expect(failure(() => decodeBinaryMessage(field(3, text(2, "m")))).details).toMatchObject({
      reason: "type-mismatch",
    });
    expect(failure(() => decodeBinaryMessage(field(3, base(1)))).details).toMatchObject({ reason: "type-mismatch" });
    expect(failure(() => decodeBinaryMessage(field(3, base(99)))).details).toMatchObject({ reason: "type-mismatch" });
    // The first number of the enum is 0, which proto3 leaves out.
    expect(decodeBinaryMessage(field(1, field(1, new Uint8Array(0))))).toStrictEqual({
      type: "TEXT_MESSAGE_START",
      messageId: "",
    });
  });
});

describe("what is read", () => {
  const run = (more: readonly Uint8Array[]): Uint8Array =>
    field(13, concat([base(12), text(2, "t"), text(3, "r"), ...more]));
  const patch = (...operation: Uint8Array[]): Uint8Array => field(8, concat([base(7), field(2, concat(operation))]));
  const messages = (...of: Uint8Array[]): Uint8Array =>
    field(9, concat([base(8), ...of.map((bytes) => field(2, bytes))]));
  const value = (bytes: Uint8Array): Uint8Array => field(7, concat([base(6), field(2, bytes)]));

  it("absent required text and lists, which have no presence, are empty (R-PROC-06)", () => {
    expect(decodeBinaryMessage(field(2, base(1)))).toStrictEqual({
      type: "TEXT_MESSAGE_CONTENT",
      messageId: "",
      delta: "",
    });
    expect(decodeBinaryMessage(field(9, base(8)))).toStrictEqual({ type: "MESSAGES_SNAPSHOT", messages: [] });
    // What has presence stays absent, for enforcement to find missing.
    expect(decodeBinaryMessage(field(7, base(6)))).toStrictEqual({ type: "STATE_SNAPSHOT" });
  });

  it("an outcome of a later version reaches enforcement (R-PB-11)", () => {
    expect(decodeBinaryMessage(run([text(5, "paused"), text(8, "c1")]))).toMatchObject({
      outcome: { type: "paused", pendingToolCallIds: ["c1"] },
    });
    expect(decodeBinaryMessage(run([text(5, "interrupt")]))).toMatchObject({
      outcome: { type: "interrupt", interrupts: [] },
    });
    // Lists without an outcome stay beside it, as something to strip.
    expect(decodeBinaryMessage(run([text(8, "c1")]))).toStrictEqual({
      type: "RUN_FINISHED",
      threadId: "t",
      runId: "r",
      pendingToolCallIds: ["c1"],
    });
  });

  it("a patch operation of a later version keeps its number", () => {
    const read = decodeBinaryMessage(
      patch(
        message((writer) => writer.uint32(8).uint32(17)),
        text(2, "/a"),
      ),
    );
    expect(read).toMatchObject({ delta: [{ op: "17", path: "/a" }] });
    const negative = decodeBinaryMessage(
      patch(
        message((writer) => writer.uint32(8).int32(-1)),
        text(2, "/a"),
      ),
    );
    expect(negative).toMatchObject({ delta: [{ op: "-1", path: "/a" }] });
  });

  it("an unknown role is rebuilt from whatever content it came with", () => {
    const oracle = (bytes: Uint8Array): unknown =>
      decodeBinaryMessage(messages(concat([text(1, "1"), text(2, "oracle"), bytes])));
    expect(oracle(text(3, "said"))).toMatchObject({ messages: [{ role: "oracle", content: "said" }] });
    expect(oracle(field(8, field(1, text(1, "part"))))).toMatchObject({
      messages: [{ role: "oracle", content: [{ type: "text", text: "part" }] }],
    });
    expect(oracle(field(13, new Uint8Array(0)))).toMatchObject({ messages: [{ role: "oracle", content: {} }] });
    expect(oracle(new Uint8Array(0))).toMatchObject({ messages: [{ id: "1", role: "oracle" }] });
  });

  it.each([
    ["text and parts", "user", [text(3, "c"), field(8, field(1, text(1, "p")))]],
    ["parts under a role that has none", "system", [field(8, field(1, text(1, "p")))]],
    ["unknown parts under a role that has none", "system", [field(8, field(9, text(1, "p")))]],
    ["an object under a role that has none", "assistant", [field(13, new Uint8Array(0))]],
    ["an activity with text", "activity", [text(3, "c")]],
    ["an activity with text and object", "activity", [text(3, "c"), field(13, new Uint8Array(0))]],
    ["an unknown role with two forms", "oracle", [text(3, "c"), field(13, new Uint8Array(0))]],
  ])("%s are refused", (_, role, carriers) => {
    const error = failure(() => decodeBinaryMessage(messages(concat([text(1, "1"), text(2, role), ...carriers]))));
    expect(error.details).toMatchObject({ reason: "conflicting-content" });
  });

  it("a tool result with text and parts is refused", () => {
    const both = field(22, concat([base(21), text(5, "c"), field(7, field(1, text(1, "p")))]));
    expect(failure(() => decodeBinaryMessage(both)).details).toMatchObject({ reason: "conflicting-content" });
  });

  it("parts and sources of a later version are left out with a warning that names the list", () => {
    const warnings: Warning[] = [];
    const parts = concat([
      field(8, field(1, text(1, "kept"))),
      field(8, field(9, text(1, "hologram"))),
      field(8, field(2, field(1, field(9, text(1, "torrent"))))),
      field(8, field(2, text(3, "no source at all"))),
    ]);
    const bytes = messages(
      concat([text(1, "0"), text(2, "assistant")]),
      concat([text(1, "1"), text(2, "user"), parts]),
    );
    const read = decodeBinaryMessage(bytes, { onWarning: (warning) => void warnings.push(warning) });
    expect(read).toMatchObject({
      messages: [
        { id: "0", role: "assistant" },
        {
          content: [
            { type: "text", text: "kept" },
            { type: "image", id: "no source at all" },
          ],
        },
      ],
    });
    expect(warnings).toMatchObject([
      { code: "unknown-variant", path: "/messages/1/content" },
      { code: "unknown-variant", path: "/messages/1/content" },
    ]);
  });

  it("a part or source of two kinds is refused", () => {
    const twoParts = messages(
      concat([text(2, "user"), field(8, concat([field(1, text(1, "a")), field(2, text(3, "b"))]))]),
    );
    const twoSources = concat([field(1, text(1, "a")), field(2, text(1, "b"))]);
    const inImage = messages(concat([text(2, "user"), field(8, field(2, field(1, twoSources)))]));
    for (const bytes of [twoParts, inImage]) {
      expect(failure(() => decodeBinaryMessage(bytes)).details).toMatchObject({ reason: "conflicting-arms" });
    }
  });

  it.each([
    ["NaN", message((writer) => writer.uint32(17).double(Number.NaN))],
    ["an infinity", message((writer) => writer.uint32(17).double(Number.NEGATIVE_INFINITY))],
    ["a value without a kind", new Uint8Array(0)],
    ["a value of an unknown kind", text(9, "x")],
    ["an element without a kind", field(6, field(1, new Uint8Array(0)))],
    ["a member without a value", field(5, field(1, text(1, "key")))],
  ])("%s is not JSON", (_, bytes) => {
    expect(failure(() => decodeBinaryMessage(value(bytes)))).toMatchObject({
      code: "frame-invalid",
      details: { reason: "not-json" },
    });
  });

  it("a value of several kinds is the last of them, and one kind that comes twice merges", () => {
    const one = message((writer) => writer.uint32(17).double(1));
    const memberOf = (key: string): Uint8Array => field(5, field(1, concat([text(1, key), field(2, one)])));
    expect(decodeBinaryMessage(value(concat([one, text(3, "x")])))).toMatchObject({ snapshot: "x" });
    expect(decodeBinaryMessage(value(concat([listOf(one), listOf(text(3, "x"))])))).toMatchObject({
      snapshot: [1, "x"],
    });
    expect(decodeBinaryMessage(value(concat([memberOf("a"), memberOf("b")])))).toMatchObject({
      snapshot: { a: 1, b: 1 },
    });
    expect(decodeBinaryMessage(value(concat([memberOf("a"), one, memberOf("b")])))).toStrictEqual({
      type: "STATE_SNAPSHOT",
      snapshot: { b: 1 },
    });
  });

  it("integers beyond 53 bits are refused", () => {
    for (const timestamp of [2n ** 53n, -(2n ** 53n), 2n ** 63n - 1n]) {
      const bytes = field(
        3,
        base(
          2,
          message((writer) => writer.uint32(16).int64(timestamp)),
        ),
      );
      expect(failure(() => decodeBinaryMessage(bytes)).details).toMatchObject({ reason: "unsafe-integer" });
    }
  });

  it("broken UTF-8 reads as U+FFFD, as in every text format", () => {
    const bytes = field(3, concat([base(2), field(2, Uint8Array.of(0x61, 0xff, 0xc3))]));
    expect(decodeBinaryMessage(bytes)).toMatchObject({ messageId: "a\ufffd\ufffd" });
  });

  it("nesting is bounded", () => {
    for (const wrap of [listOf, objectOf]) {
      expect(decodeBinaryMessage(nested(MAX_JSON_DEPTH, wrap))).toHaveProperty("snapshot");
      expect(failure(() => decodeBinaryMessage(nested(MAX_JSON_DEPTH + 1, wrap)))).toMatchObject({
        code: "limit-exceeded",
        details: { limit: "depth of the JSON value", allowed: MAX_JSON_DEPTH },
      });
    }
    const groups = concat([new Uint8Array(50_000).fill(0x9b), field(3, base(2))]);
    expect(failure(() => decodeBinaryMessage(groups)).code).toBe("frame-invalid");
  });

  it("a nested message ends inside the one that holds it, exactly", () => {
    // The base event claims one byte more than its event has.
    expect(failure(() => decodeBinaryMessage(Uint8Array.of(0x1a, 0x04, 0x0a, 0x03, 0x08, 0x02))).code).toBe(
      "frame-invalid",
    );
    // Text inside the base event that reaches beyond it, into bytes that exist.
    const reaching = Uint8Array.of(0x1a, 0x08, 0x0a, 0x04, 0x08, 0x02, 0x2a, 0x02, 0x12, 0x00);
    expect(failure(() => decodeBinaryMessage(reaching)).details).toMatchObject({ reason: "malformed" });
    // The same in a chunk with more behind it: a frame never reads into the next.
    const chunk = concat([frame(Uint8Array.of(0x1a, 0x03, 0x0a, 0x05, 0x08)), encodeBinary(asEvent(end))]);
    expect(failure(() => createBinaryDecoder().push(chunk)).details).toMatchObject({ reason: "malformed" });
  });
});
