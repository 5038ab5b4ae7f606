import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { arbitraryEvent } from "../../../test/arbitrary-event.ts";
import { parseEvent } from "../enforce.ts";
import type { Event } from "../generated/model.ts";
import { SESSION_EVENT_TYPES } from "./definition.ts";
import { projectToSession } from "./project-to-session.ts";
import { decodeSessionEvent, encodeSessionEvent } from "./session-codec.ts";

const SCALE = Number(process.env.HEDDLE_TEST_SCALE ?? 1);

describe("any sequence of valid AG-UI events", () => {
  const meta = fc.record({
    type: fc.constant("META"),
    metaType: fc.string(),
    payload: fc.dictionary(fc.string(), fc.jsonValue()),
  });
  const toolEvent = fc.constantFrom("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END").chain(arbitraryEvent);
  /** Few ids, so that events of one sequence often speak of the same thing. */
  const related = fc
    .tuple(fc.oneof(arbitraryEvent(), toolEvent), fc.constantFrom("a", "b"), fc.constantFrom("a", "sub"))
    .map(([event, id, lane]) => {
      const names = ["messageId", "toolCallId", "parentMessageId", "subagentRunId"].filter((name) => name in event);
      const renamed = { ...event, ...Object.fromEntries(names.map((name) => [name, id])) };
      return "subagentRunId" in event ? { ...renamed, subagentRunId: lane } : renamed;
    });
  const anyEvent = fc.oneof({ weight: 4, arbitrary: related }, arbitraryEvent(), meta);
  const sequence = fc.array(anyEvent, { maxLength: 30, size: "max" }).map((values) =>
    values.flatMap((value): readonly Event[] => {
      const event = parseEvent(value).value;
      return event === undefined ? [] : [event];
    }),
  );

  it("gives only session events that the codec accepts", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(sequence, fc.boolean(), (events, showsReasoning) => {
        const step = projectToSession({ sessionId: "s1", reasoning: showsReasoning });
        for (const event of events.flatMap((one) => step(one))) {
          seen.add(event.type);
          const decoded = decodeSessionEvent(encodeSessionEvent(event));
          expect(decoded).toEqual(JSON.parse(JSON.stringify(event)));
        }
      }),
      { numRuns: 400 * SCALE },
    );
    // Every type came up but the three that a connection makes.
    expect([...seen].toSorted()).toEqual(SESSION_EVENT_TYPES.filter((type) => !type.startsWith("session-")).toSorted());
  });

  it("gives no thought where reasoning is switched off", () => {
    fc.assert(
      fc.property(sequence, (events) => {
        const step = projectToSession({ sessionId: "s1", reasoning: false });
        const types = events.flatMap((event) => step(event)).map(({ type }) => type);
        expect(types.filter((type) => type.startsWith("thought"))).toEqual([]);
      }),
      { numRuns: 100 * SCALE },
    );
  });
});
