import { describe, expect, it } from "vitest";
import { HeddleError } from "../errors.ts";
import type { RunAgentInput } from "../generated/model.ts";
import { projectRunInput } from "./project-run-input.ts";

const input: RunAgentInput = {
  threadId: "t",
  runId: "r",
  protocolVersion: "1.0",
  parentRunId: "p",
  messages: [
    {
      id: "1",
      role: "user",
      content: [
        { type: "text", text: "What is in this picture?" },
        { type: "image", source: { type: "url", value: "u", mimeType: "image/png" } },
      ],
    },
    { id: "2", role: "activity", activityType: "PLAN", content: {} },
    { id: "3", role: "tool", toolCallId: "c", content: [{ type: "text", text: "72°F" }], subagentRunId: "s" },
    { id: "4", role: "assistant" },
  ],
};

const resume = (...entries: RunAgentInput["resume"] & object) =>
  projectRunInput({ ...input, resume: entries }, { interrupts: "single" }).value.resume;

describe("projectRunInput", () => {
  it("takes activity messages out for every agent (R-ACT-10), and changes nothing else for a current one", () => {
    const { value, warnings } = projectRunInput(input, {});
    expect(value).toEqual({ ...input, messages: input.messages.filter(({ role }) => role !== "activity") });
    expect(warnings).toEqual([]);
  });

  it("fills the fields that agents before 1.0 demand, leaves out the version, and flattens tool results", () => {
    const { value } = projectRunInput(input, { version: "0.0.58" });
    expect(value).toEqual({
      threadId: "t",
      runId: "r",
      parentRunId: "p",
      state: {},
      tools: [],
      context: [],
      forwardedProps: {},
      messages: [input.messages[0], { id: "3", role: "tool", toolCallId: "c", content: "72°F" }, input.messages[3]],
    });
  });

  it("keeps media parts for an agent of 0.0.47", () => {
    expect(projectRunInput(input, { version: "0.0.47" }).value).toMatchObject({
      messages: [input.messages[0], {}, {}],
    });
  });

  it("flattens all content and drops parentRunId for an agent of 0.0.39, and says so", () => {
    const { value, warnings } = projectRunInput(input, { version: "0.0.39" });
    expect(value).not.toHaveProperty("parentRunId");
    expect(value.messages).toMatchObject([
      { content: "What is in this picture?" },
      { content: "72°F" },
      { content: "" },
    ]);
    expect(warnings.map(({ path }) => path)).toEqual(["/messages/0/content", "/parentRunId"]);
    expect(warnings[0]?.message).toContain("DROPS non-text parts");
  });

  it("writes one answer in seed 000's form, and refuses what that cannot say", () => {
    expect(resume({ interruptId: "i", status: "resolved", payload: { approved: true } })).toEqual({
      interruptId: "i",
      payload: { approved: true },
    });
    expect(resume()).toBeUndefined();
    expect(() => resume({ interruptId: "i", status: "cancelled" })).toThrow(HeddleError);
    expect(() => resume({ interruptId: "i", status: "resolved" }, { interruptId: "j", status: "resolved" })).toThrow(
      /one at a time/,
    );
  });
});
