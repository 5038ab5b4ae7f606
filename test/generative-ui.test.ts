/** Payloads of generative UI pass through every codec and the enforcement as they are. */
import {
  createNdjsonDecoder,
  createSseDecoder,
  decodeEvent,
  encodeNdjson,
  encodeSse,
  parseEvent,
} from "heddle/protocol";
import type { Event } from "heddle/protocol";
import { createBinaryDecoder, encodeBinary } from "heddle/protocol/binary";
import { normaliseEvent, projectEvent } from "heddle/protocol/dialects";
import { describe, expect, it } from "vitest";

/** A2UI: declarative surfaces, streamed as JSON lines. */
const a2ui = {
  surfaceUpdate: {
    surfaceId: "main",
    components: [
      { id: "root", component: { Column: { children: { explicitList: ["title", "go"] } } } },
      { id: "title", component: { Text: { text: { path: "/title" }, usageHint: "h1" } } },
      {
        id: "go",
        component: { Button: { label: { literalString: "Buche — jetzt" }, action: { name: "book", context: [] } } },
      },
    ],
  },
  dataModelUpdate: {
    surfaceId: "main",
    path: "/",
    contents: [
      { key: "title", valueString: "Zug nach Köln" },
      { key: "seat", value: null },
    ],
  },
  beginRendering: { surfaceId: "main", root: "root" },
};

/** Open-JSON-UI: a declarative schema of components. */
const openJsonUi = {
  type: "container",
  props: { direction: "row", gap: 8, hidden: false, style: null },
  children: [
    { type: "text", props: { value: "72°F" } },
    {
      type: "chart",
      props: {
        series: [
          [0, 1.5],
          [1, -2e-7],
        ],
        role: "unknown-role",
      },
    },
  ],
};

/** MCP-UI: a resource with a document for a frame. */
const mcpUi = {
  type: "resource",
  resource: {
    uri: "ui://weather/1",
    mimeType: "text/html",
    text: "<!doctype html>\r\n<p>\u2028ok</p>",
    _meta: { "ui/height": 300 },
  },
};

const payloads = { A2UI: a2ui, "Open-JSON-UI": openJsonUi, "MCP-UI": mcpUi };

const carriers = (payload: object): readonly Event[] => [
  { type: "ACTIVITY_SNAPSHOT", messageId: "a", activityType: "ui", content: { ...payload } },
  { type: "ACTIVITY_DELTA", messageId: "a", activityType: "ui", patch: [{ op: "add", path: "/ui", value: payload }] },
  { type: "CUSTOM", name: "vendor.ui", value: payload },
  { type: "TOOL_CALL_RESULT", messageId: "m", toolCallId: "c", content: JSON.stringify(payload) },
  {
    type: "TOOL_CALL_RESULT",
    messageId: "m",
    toolCallId: "c",
    content: [{ type: "text", text: JSON.stringify(payload), metadata: payload }],
  },
  { type: "STATE_SNAPSHOT", snapshot: { ui: payload } },
  { type: "RAW", event: payload, source: "ui" },
  {
    type: "MESSAGES_SNAPSHOT",
    messages: [{ id: "a", role: "activity", activityType: "ui", content: { ...payload }, metadata: { ui: payload } }],
  },
];

describe.each(Object.entries(payloads))("%s", (_, payload) => {
  it.each(carriers(payload).map((event) => [event.type, event] as const))("passes unchanged in %s", (_type, event) => {
    const text = JSON.stringify(event);
    expect(JSON.stringify(parseEvent(event).value)).toBe(text);
    expect(parseEvent(event)).toEqual({ value: event, warnings: [] });
    expect(JSON.stringify(decodeEvent(text).value)).toBe(text);
    expect(normaliseEvent(event).values).toEqual([event]);
    expect(projectEvent(event, { version: "1.0" }).value).toEqual(event);
    expect(createSseDecoder().push(encodeSse(event))[0]?.value).toEqual(event);
    expect(createNdjsonDecoder().push(encodeNdjson(event))[0]?.value).toEqual(event);
    expect(createBinaryDecoder().push(encodeBinary(event))[0]?.value).toEqual(event);
  });
});
