import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent } from "../../../test/arbitrary-event.ts";
import { parseEvent } from "../enforce.ts";
import { HeddleError } from "../errors.ts";
import type { Event, Interrupt, RunFinishedEvent } from "../generated/model.ts";
import { normaliseEvent } from "./normalise-event.ts";
import { UNDECLARED_PEER } from "./peer.ts";
import type { Peer } from "./peer.ts";
import { projectEvent } from "./project-event.ts";

const finished = (outcome: RunFinishedEvent["outcome"]): Event => ({
  type: "RUN_FINISHED",
  threadId: "t",
  runId: "r",
  ...(outcome === undefined ? {} : { outcome }),
});
const interrupt: Interrupt = { id: "i", reason: "confirmation", message: "Sure?", subagentRunId: "s" };
const single: Peer = { interrupts: "single" };

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof HeddleError) return error.code;
    throw error;
  }
  return "none";
}

const project = (event: Event, version: string) => projectEvent(event, { version });

describe("projectEvent for current peers", () => {
  it.each([undefined, "1.0", "1.1", "2.0", "draft", "0.0.x"])(
    "of version %j changes nothing and says nothing",
    (version) => {
      fc.assert(
        fc.property(arbitraryEvent(), (event) => {
          expect(projectEvent(event, { version })).toEqual({ value: event, warnings: [] });
        }),
        { numRuns: 100 },
      );
    },
  );

  const meta: Event = { type: "META", metaType: "thumbs_up", payload: { messageId: "m" }, timestamp: 1 };

  it("PROTO-META-2: gives META to who asked for it, CUSTOM inside a run to others, and nothing elsewhere", () => {
    expect(projectEvent(meta, { meta: true }).value).toEqual(meta);
    expect(projectEvent(meta, {}, { runOpen: true })).toEqual({
      value: { type: "CUSTOM", name: "heddle.meta.thumbs_up", value: { messageId: "m" }, timestamp: 1 },
      warnings: [],
    });
    const left = projectEvent(meta, {});
    expect(left.value).toBeUndefined();
    expect(left.warnings[0]?.message).toContain("thumbs_up");
    expect(projectEvent(meta, UNDECLARED_PEER, { runOpen: true }).value).toBeUndefined();
  });
});

describe("PROTO-VER-2: projectEvent for peers before 1.0", () => {
  it("PROTO-VER-1: takes one that declares nothing for one of 0.0.57", () => {
    expect(UNDECLARED_PEER.version).toBe("0.0.57");
  });

  it("drops pendingToolCallIds and protocolVersion without a word", () => {
    expect(project(finished({ type: "success", pendingToolCallIds: ["c"] }), "0.0.59")).toEqual({
      value: finished({ type: "success" }),
      warnings: [],
    });
    const started: Event = { type: "RUN_STARTED", threadId: "t", runId: "r", protocolVersion: "1.0" };
    expect(project(started, "0.0.59").value).toEqual({ type: "RUN_STARTED", threadId: "t", runId: "r" });
  });

  it("turns cancelled into what they show as a stop", () => {
    const event: Event = {
      ...(finished({ type: "cancelled" }) as RunFinishedEvent),
      usage: [{ model: "m" }],
      timestamp: 5,
    };
    expect(project(event, "0.0.59").value).toEqual({
      type: "RUN_ERROR",
      message: "The run was stopped.",
      code: "abort",
      usage: [{ model: "m" }],
      timestamp: 5,
    });
  });

  it("flattens tool results to text, and says what is lost", () => {
    const event: Event = {
      type: "TOOL_CALL_RESULT",
      messageId: "m",
      toolCallId: "c",
      content: [
        { type: "text", text: "a" },
        { type: "image", source: { type: "url", value: "u" } },
        { type: "text", text: "b" },
      ],
    };
    const { value, warnings } = project(event, "0.0.59");
    expect(value).toMatchObject({ content: "ab" });
    expect(warnings).toMatchObject([{ code: "lossy-projection", path: "/content" }]);
    expect(warnings[0]?.message).toContain("image");
    const text: Event = { ...event, content: [{ type: "text", text: "a" }] };
    expect(project(text, "0.0.59")).toMatchObject({ value: { content: "a" }, warnings: [] });
  });

  it("strips subagents until 0.0.58, whose published schema does not know them", () => {
    const started: Event = { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "n" };
    const step: Event = { type: "STEP_STARTED", stepName: "x", subagentRunId: "s" };
    for (const version of ["0.0.57", "0.0.58"]) {
      expect(project(started, version).value).toBeUndefined();
      expect(project(started, version).warnings[0]?.message).toContain("SUBAGENT_STARTED");
      expect(project(step, version).value).toBeUndefined();
      expect(project(finished({ type: "interrupt", interrupts: [interrupt] }), version).value).toEqual(
        finished({ type: "interrupt", interrupts: [{ id: "i", reason: "confirmation", message: "Sure?" }] }),
      );
    }
    expect(project(started, "0.0.59").value).toEqual(started);
    expect(project(step, "0.0.59").value).toEqual(step);
  });

  it("PROTO-VER-3: refuses to hide a question from peers that know no outcome", () => {
    const event = finished({ type: "interrupt", interrupts: [interrupt] });
    expect(refusal(() => project(event, "0.0.53"))).toBe("projection-refused");
    expect(refusal(() => project(event, "0.0.54"))).toBe("none");
  });

  it("restates messages as each age can read them", () => {
    const snapshot: Event = {
      type: "MESSAGES_SNAPSHOT",
      messages: [
        { id: "1", role: "reasoning", content: "hm" },
        { id: "2", role: "activity", activityType: "PLAN", content: {} },
        {
          id: "3",
          role: "user",
          content: [
            { type: "text", text: "look" },
            {
              type: "image",
              source: { type: "data", value: "QQ==", mimeType: "image/png" },
              metadata: { filename: "f.png" },
            },
            { type: "document", source: { type: "file", value: "file-1" } },
          ],
        },
        { id: "4", role: "assistant" },
      ],
    };
    const contents = (version: string): unknown => {
      const messages = project(snapshot, version).value?.messages;
      return Array.isArray(messages) ? messages.map(({ id, content }) => [id, content]) : messages;
    };
    const text = { type: "text", text: "look" };
    const image = {
      type: "image",
      source: { type: "data", value: "QQ==", mimeType: "image/png" },
      metadata: { filename: "f.png" },
    };
    const binary = { type: "binary", mimeType: "image/png", data: "QQ==", filename: "f.png" };
    expect(contents("0.0.57")).toEqual([
      ["1", "hm"],
      ["2", {}],
      ["3", [text, image]],
      ["4", undefined],
    ]);
    expect(contents("0.0.48")).toEqual([
      ["1", "hm"],
      ["2", {}],
      ["3", [text, binary]],
      ["4", undefined],
    ]);
    expect(contents("0.0.44")).toEqual([
      ["2", {}],
      ["3", [text, binary]],
      ["4", undefined],
    ]);
    expect(contents("0.0.39")).toEqual([
      ["3", "look"],
      ["4", ""],
    ]);
    expect(project(snapshot, "0.0.39").warnings.map(({ path }) => path)).toEqual([
      "/messages/0",
      "/messages/1",
      "/messages/2/content",
    ]);
  });

  it("calls reasoning thinking until 0.0.44", () => {
    const start: Event = { type: "REASONING_MESSAGE_START", messageId: "m", role: "reasoning", timestamp: 3 };
    expect(project(start, "0.0.44").value).toEqual({ type: "THINKING_TEXT_MESSAGE_START", timestamp: 3 });
    expect(project(start, "0.0.45").value).toEqual(start);
    expect(
      project({ type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId: "m", encryptedValue: "e" }, "0.0.44"),
    ).toMatchObject({
      value: undefined,
      warnings: [{ code: "lossy-projection" }],
    });
  });

  it("leaves out empty fragments until 0.0.49, where they were an error", () => {
    const empty: Event = { type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "" };
    expect(project(empty, "0.0.49").value).toBeUndefined();
    expect(project(empty, "0.0.50").value).toEqual(empty);
    expect(project({ type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "" }, "0.0.49").value).toBeDefined();
  });

  it("never changes ids", () => {
    const ids = ["messageId", "toolCallId", "threadId", "runId"] as const;
    fc.assert(
      fc.property(arbitraryEvent(), fc.constantFrom("0.0.39", "0.0.45", "0.0.57", "0.0.59"), (event, version) => {
        const value = projected(event, version) ?? {};
        const given: Record<string, unknown> = { ...event };
        expect(ids.filter((id) => value[id] !== undefined && value[id] !== given[id])).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("never lets a failure look like success", () => {
    fc.assert(
      fc.property(arbitraryEvent("RUN_ERROR"), fc.constantFrom("0.0.39", "0.0.59"), (event, version) => {
        expect(projected(event, version)).toEqual(event);
      }),
      { numRuns: 50 },
    );
  });
});

/** What a peer gets; nothing where the projection is refused. */
function projected(event: Event, version: string): Record<string, unknown> | undefined {
  try {
    return project(event, version).value;
  } catch (error) {
    if (error instanceof HeddleError && error.code === "projection-refused") return undefined;
    throw error;
  }
}

describe("the single interrupt form of seed 000", () => {
  it("gives back a payload that came in by it, to the letter", () => {
    const raw = {
      type: "RUN_FINISHED",
      threadId: "t",
      runId: "r",
      outcome: "interrupt",
      interrupt: { id: "input_789", payload: { prompt: "Please enter your API key", inputType: "password" } },
    };
    const event = parseEvent(normaliseEvent(raw).values[0]).value;
    expect(event && projectEvent(event, single)).toEqual({ value: raw, warnings: [] });
  });

  it("makes a payload of what there is, and says what has no place", () => {
    const { value, warnings } = projectEvent(finished({ type: "interrupt", interrupts: [interrupt] }), single);
    expect(value).toMatchObject({
      outcome: "interrupt",
      interrupt: { id: "i", payload: { prompt: "Sure?", reason: "confirmation" } },
    });
    expect(warnings[0]?.message).toContain("subagentRunId");
  });

  it("refuses more than one interrupt, and writes the others as strings", () => {
    const two = finished({ type: "interrupt", interrupts: [interrupt, { ...interrupt, id: "j" }] });
    expect(refusal(() => projectEvent(two, single))).toBe("projection-refused");
    expect(projectEvent(finished({ type: "success" }), single).value).toMatchObject({ outcome: "success" });
    expect(projectEvent(finished({ type: "cancelled" }), single).value).toMatchObject({
      type: "RUN_ERROR",
      code: "abort",
    });
    expect(projectEvent(finished(undefined), single).value).toEqual(finished(undefined));
  });
});
