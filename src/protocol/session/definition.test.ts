import { describe, expect, expectTypeOf, it } from "vitest";
import type { ContentPart, Interrupt, PartSource, ResumeEntry } from "../generated/model.ts";
import { EVENT_DATA, OBJECTS, SESSION_EVENT_TYPES, TIME_PATTERN, UNIONS } from "./definition.ts";
import type { SessionDefinition, Shaped } from "./definition.ts";
import type {
  AgentMessage,
  AssistantAgentMessage,
  DeveloperAgentMessage,
  SessionEvent,
  SessionEventData,
  SessionEventOf,
  SessionEventType,
  SessionMetadata,
  SessionRunInput,
  SessionUsage,
  SystemAgentMessage,
  ThoughtBlock,
  ToolAgentMessage,
  ToolCall,
  ToolResult,
  UserAgentMessage,
} from "./model.ts";
import { checkSession } from "./session-check.ts";

/** The types of every definition, as model.ts writes them out. */
interface Model {
  SessionRunInput: SessionRunInput;
  AgentMessage: AgentMessage;
  UserAgentMessage: UserAgentMessage;
  AssistantAgentMessage: AssistantAgentMessage;
  ToolAgentMessage: ToolAgentMessage;
  SystemAgentMessage: SystemAgentMessage;
  DeveloperAgentMessage: DeveloperAgentMessage;
  ToolCall: ToolCall;
  ToolResult: ToolResult;
  ThoughtBlock: ThoughtBlock;
  SessionMetadata: SessionMetadata;
  SessionUsage: SessionUsage;
  Interrupt: Interrupt;
  ResumeEntry: ResumeEntry;
  ContentPart: ContentPart;
  PartSource: PartSource;
}

/** Each member's form alone, whatever interfaces it is made of. */
type Flat<T> = T extends readonly (infer E)[]
  ? readonly Flat<E>[]
  : T extends object
    ? { [K in keyof T]: Flat<T[K]> }
    : T;

function narrowed(event: SessionEvent): string | undefined {
  if (event.type === "text-chunk") return event.data.text;
  if (event.type === "session-error") return event.data.error.isFatal ? "fatal" : "harmless";
  return event.type === "tool-call-chunk" ? event.data.toolName : undefined;
}

const isTime = (text: string): boolean => new RegExp(TIME_PATTERN, "u").test(text);

describe("the definition", () => {
  it("has the sixteen event types of the seed", () => {
    expect(SESSION_EVENT_TYPES).toEqual([
      "session-started",
      "session-ended",
      "session-error",
      "text-chunk",
      "text-message-complete",
      "tool-call-chunk",
      "tool-call-complete",
      "tool-result-chunk",
      "tool-result-complete",
      "thought-chunk",
      "thought-complete",
      "status-update",
      "progress-update",
      "agent-response-complete",
      "agent-error",
      "metadata-update",
    ]);
    expectTypeOf<SessionEventType>().toEqualTypeOf<keyof typeof EVENT_DATA>();
  });

  it("has the data objects of the seed", () => {
    const definitions = [...Object.keys(OBJECTS), ...Object.keys(UNIONS)];
    for (const name of [
      "SessionRunInput",
      "AgentMessage",
      "ToolCall",
      "ToolResult",
      "ThoughtBlock",
      "SessionMetadata",
    ]) {
      expect(definitions).toContain(name);
    }
  });

  it("gives the events the types that model.ts writes out", () => {
    expectTypeOf<Flat<Shaped<"SessionEvent">>>().toEqualTypeOf<Flat<SessionEvent>>();
    expectTypeOf<keyof SessionEventData>().toEqualTypeOf<SessionEventType>();
  });

  it("gives the data objects the types that model.ts writes out", () => {
    expectTypeOf<Flat<{ [N in keyof Model]: Shaped<N> }>>().toEqualTypeOf<Flat<Model>>();
  });

  it("lets `type` narrow an event to its data", () => {
    const event: SessionEventOf<"text-chunk"> = {
      type: "text-chunk",
      sessionId: "s",
      timestamp: "2026-01-01T00:00:00.000Z",
      data: { text: "Hi", role: "assistant", isComplete: false },
    };
    expect(narrowed(event)).toBe("Hi");
  });

  it("names nothing that it does not define", () => {
    const names: SessionDefinition[] = [
      "SessionEvent",
      "SessionRunInput",
      "ToolResult",
      "ThoughtBlock",
      "SessionMetadata",
    ];
    // A word without a meaning is a TypeError as soon as its rule is read.
    for (const name of names) expect(() => checkSession(name, null)).toThrow(/^Expected an object at the top/);
  });
});

describe("a time", () => {
  it.each([
    "2026-08-01T09:30:00Z",
    "2026-08-01T09:30:00.1234567+02:00",
    "2024-02-29T23:59:59.999-11:30",
    "2000-02-29T00:00:00Z",
    "0000-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z",
  ])("may be %s", (text) => {
    expect(isTime(text)).toBe(true);
  });

  it.each([
    "",
    "2026-08-01",
    "2026-08-01T09:30:00",
    "2026-08-01 09:30:00Z",
    "2026-08-01T09:30Z",
    "2026-08-01T24:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-04-31T00:00:00Z",
    "2026-02-30T00:00:00Z",
    "2026-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2026-08-01T09:30:00Z\n",
    "+010000-01-01T00:00:00Z",
    "1754040600000",
  ])("may not be %j", (text) => {
    expect(isTime(text)).toBe(false);
  });
});
