/** What Talk makes of messages, schemas, activities, agents and files, before anything is drawn. */
import { describe, expect, it, test } from "vitest";
import type { AgentInfo } from "heddle/client";
import type { Event, Interrupt, Message } from "heddle/protocol";
import { activityOf } from "../../inspector/pages/talk/activity.ts";
import { abilitiesOf, examplesOf } from "../../inspector/pages/talk/agent-info.ts";
import { base64Of, contentOf, fileNameOf, partTypeOf, refusalOf } from "../../inspector/pages/talk/attachments.ts";
import { readTool } from "../../inspector/pages/talk/offered-tools.ts";
import { outlineOf } from "../../inspector/pages/talk/outline.ts";
import type { OutlineNode } from "../../inspector/pages/talk/outline.ts";
import { approvalOf, editedArgsOf, questionOf } from "../../inspector/pages/talk/questions.ts";
import { draftOf, fieldsOf, readDraft, wordsOf } from "../../inspector/pages/talk/schema-form.ts";
import { noteSubagent } from "../../inspector/pages/talk/subagents.ts";
import { readSurfaces } from "../../inspector/pages/talk/surfaces.ts";
import { tourOf } from "../../inspector/pages/talk/tour.ts";
import { titleFrom } from "../../inspector/pages/talk/use-title.ts";
import { chooseAgent } from "../../inspector/pages/talk/choose-agent.ts";

const agent = (name: string, capabilities: AgentInfo["capabilities"] = {}): AgentInfo => ({
  name,
  url: `/agents/${name}`,
  capabilities,
});

const said = (id: string, subagentRunId?: string): Message => ({
  id,
  role: "assistant",
  content: id,
  ...(subagentRunId !== undefined && { subagentRunId }),
});

describe("outlineOf", () => {
  const drawn = (nodes: readonly OutlineNode[]): unknown =>
    nodes.map((node) => (node.kind === "message" ? node.id : { [node.id]: drawn(node.nodes) }));

  it("puts what a subagent said into one block, inside the one that started it, however it came", () => {
    const messages = [said("a"), said("p1", "p"), said("q1", "q"), said("p2", "p"), said("c1", "c"), said("b")];
    const { nodes } = outlineOf(messages, new Map([["c", "p"]]), ["q", "z"]);
    expect(drawn(nodes)).toEqual(["a", { p: ["p1", "p2", { c: ["c1"] }] }, { q: ["q1"] }, "b", { z: [] }]);
  });

  it("survives subagents that started each other", () => {
    const parents = new Map([
      ["x", "y"],
      ["y", "x"],
    ]);
    expect(drawn(outlineOf([said("m", "x")], parents).nodes)).toEqual([{ y: [{ x: ["m"] }] }]);
  });

  it("puts results to their calls, shows one without a call, and knows what may still grow", () => {
    const call = { id: "c1", type: "function" as const, function: { name: "f", arguments: "" } };
    const messages: readonly Message[] = [
      { id: "u", role: "user", content: "" },
      { id: "m", role: "assistant", toolCalls: [call] },
      { id: "r", role: "tool", toolCallId: "c1", content: "" },
      { id: "o", role: "tool", toolCallId: "gone", content: "" },
      { id: "t", role: "reasoning", content: "" },
      { id: "v", role: "activity", activityType: "x", content: {} },
    ];
    const { nodes, results } = outlineOf(messages);
    expect(drawn(nodes)).toEqual(["u", "m", "o", "t", "v"]);
    expect(results).toEqual(new Map([["c1", { id: "r", place: 2 }]]));
    expect(nodes.filter((node) => node.kind === "message" && node.isNewest).map(({ id }) => id)).toEqual(["t"]);
  });
});

describe("schema forms", () => {
  const schema = {
    type: "object",
    properties: {
      name: { type: "string", title: "Full name" },
      nights: { type: "integer" },
      price: { type: ["number", "null"] },
      ok: { type: "boolean" },
      room: { enum: ["single", 2] },
      view: { oneOf: [{ const: "sea", title: "The sea" }] },
      tags: { type: "array" },
      flightNumber: {},
    },
    required: ["name", "room"],
  };

  it("has a field for each kind of value", () => {
    expect(fieldsOf(schema).map(({ name, kind, label }) => [name, kind, label])).toEqual([
      ["name", "text", "Full name"],
      ["nights", "integer", "Nights"],
      ["price", "number", "Price"],
      ["ok", "boolean", "Ok"],
      ["room", "choice", "Room"],
      ["view", "choice", "View"],
      ["tags", "json", "Tags"],
      ["flightNumber", "json", "Flight number"],
    ]);
  });

  it("reads what was written as the values that were meant, and leaves out what was left empty", () => {
    const fields = fieldsOf(schema, { nights: 3 });
    const draft = { ...draftOf(fields), name: "Ada", price: "1.5", room: "2", view: '"sea"', tags: '["a"]' };
    expect(readDraft(fields, draft)).toEqual({
      value: { name: "Ada", nights: 3, price: 1.5, ok: false, room: 2, view: "sea", tags: ["a"] },
    });
  });

  it("says what is wrong, by field", () => {
    const fields = fieldsOf(schema);
    expect(readDraft(fields, { ...draftOf(fields), nights: "1.5", tags: "[" })).toEqual({
      problems: {
        name: "Full name is needed.",
        nights: "Nights has to be a whole number.",
        tags: "Tags is not JSON yet. Texts stand in quotes, names too.",
      },
    });
  });

  it.each([
    [{ type: "string" }, "text", { value: "text" }],
    [{ type: "number" }, "4", { value: 4 }],
    [{}, "just words", { value: "just words" }],
    [{}, '{"a":1}', { value: { a: 1 } }],
    [{ type: "array" }, "[1]", { value: [1] }],
  ])("takes a schema that is no object: %j", (schema, written, read) => {
    expect(readDraft(fieldsOf(schema), { "": written })).toEqual(read);
  });

  it("follows references, takes the something of something or nothing, and survives circles", () => {
    const fields = fieldsOf({
      $ref: "#/$defs/Trip",
      $defs: {
        Trip: {
          properties: {
            nick: { anyOf: [{ type: "string" }, { type: "null" }], title: "Nickname" },
            colour: { $ref: "#/$defs/Colour" },
            size: { anyOf: [{ const: 1, title: "Small" }, { const: 2 }] },
            either: { anyOf: [{ type: "string" }, { type: "number" }] },
            round: { $ref: "#/$defs/Round" },
          },
        },
        Colour: { enum: ["red"] },
        Round: { $ref: "#/$defs/Round" },
      },
    });
    expect(fields.map(({ label, kind, choices }) => [label, kind, ...choices.map(({ words }) => words)])).toEqual([
      ["Nickname", "text"],
      ["Colour", "choice", "red"],
      ["Size", "choice", "Small", "2"],
      ["Either", "json"],
      ["Round", "json"],
    ]);
  });

  it.each([
    ["flightNumber", "Flight number"],
    ["a2ui_surface", "A2ui surface"],
    ["PLAN", "Plan"],
    ["__", "__"],
  ])("calls %s %s", (name, words) => {
    expect(wordsOf(name)).toBe(words);
  });
});

describe("questions", () => {
  const call = { id: "c", type: "function" as const, function: { name: "f", arguments: '{"path":"/a","deep":true}' } };
  const messages: readonly Message[] = [{ id: "m", role: "assistant", toolCalls: [call] }];
  const approval: Interrupt = {
    id: "i",
    reason: "tool_call",
    toolCallId: "c",
    responseSchema: {
      properties: {
        approved: { type: "boolean" },
        editedArgs: { type: "object", properties: { path: { type: "string" } } },
        reason: { type: "string" },
      },
    },
  };

  it("knows a decision about a call, with the arguments to change", () => {
    const { isApproval, argumentFields, fields, args } = questionOf(approval, messages);
    expect(isApproval).toBe(true);
    expect(argumentFields.map(({ name, initial }) => [name, initial])).toEqual([["path", "/a"]]);
    expect(fields.map(({ name, isRequired }) => [name, isRequired])).toEqual([["reason", false]]);
    const approved = (path: string, others?: object) =>
      approvalOf(args, Object(editedArgsOf(argumentFields, { path }, args)).value, others);
    expect(approved("/a", { reason: "fine" })).toEqual({ approved: true, reason: "fine" });
    expect(approved("/b")).toEqual({ approved: true, editedArgs: { path: "/b", deep: true } });
  });

  it("leaves arguments that were not touched as they are, and those out that were emptied", () => {
    const properties = {
      text: { type: "string" },
      note: { type: "string" },
      force: { type: "boolean" },
      mode: { enum: ["a", "b"], default: "b" },
    };
    const args = { text: "", note: "n", other: [1] };
    const fields = fieldsOf({ properties, required: ["text"] }, args);
    const edited = (change: object) => editedArgsOf(fields, { ...draftOf(fields), ...change }, args);
    expect(edited({})).toEqual({ value: args });
    expect(edited({ note: "" })).toEqual({ value: { text: "", other: [1] } });
    expect(edited({ force: true })).toEqual({ value: { ...args, force: true } });
    const whole = fieldsOf({ type: "object" }, args);
    expect(editedArgsOf(whole, { "": '{"note":"m"}' }, args)).toEqual({ value: { note: "m" } });
  });

  it("takes anything else as a form", () => {
    const { isApproval, fields } = questionOf({ id: "i", reason: "r" }, messages);
    expect([isApproval, fields.map(({ kind }) => kind)]).toEqual([false, ["json"]]);
  });
});

describe("activities", () => {
  it.each([
    [
      {
        steps: [
          { title: "a", done: true },
          { title: "b", done: false },
        ],
      },
      ["done a", "open b"],
    ],
    [{ todos: [{ content: "a", status: "in_progress" }, "b"] }, ["active a", "open b"]],
    [{ plan: [{ description: "a", status: "failed" }] }, ["failed a"]],
    [{ items: [{ no: "title" }] }, []],
  ])("reads a checklist out of %j", (content, lines) => {
    expect(activityOf("PLAN", content).items.map(({ status, title }) => `${status} ${title}`)).toEqual(lines);
  });

  it.each([
    [
      { done: 3, total: 12, title: "T" },
      { done: 3, total: 12 },
    ],
    [
      { part: 1, of: 4 },
      { done: 1, total: 4 },
    ],
    [{ progress: 0.5 }, { done: 0.5, total: 1 }],
    [{ percent: 40 }, { done: 40, total: 100 }],
    [{ done: true, total: 3 }, undefined],
  ])("reads how far something is out of %j", (content, progress) => {
    expect(activityOf("PROGRESS", content).progress).toEqual(progress);
  });

  it("leaves what it does not know as it is", () => {
    const { title, rest } = activityOf("x", { title: "T", wind: { speed: 3 } });
    expect([title, rest]).toEqual(["T", { wind: { speed: 3 } }]);
  });
});

const text = (value: string) => ({ type: "Text", props: { text: value }, children: [] });

const tell = (path: string, value: unknown) => ({ updateDataModel: { path, value } });

describe("surfaces", () => {
  it("reads the older form of A2UI, with its data", () => {
    const content = {
      surfaceUpdate: {
        surfaceId: "main",
        components: [
          { id: "root", component: { Column: { children: { explicitList: ["title", "list", "gone"] } } } },
          { id: "title", component: { Text: { text: { path: "/title" } } } },
          { id: "list", component: { List: { children: { template: { componentId: "row", dataBinding: "/rows" } } } } },
          { id: "row", component: { Text: { text: { path: "name" } } } },
        ],
      },
      dataModelUpdate: {
        surfaceId: "main",
        contents: [
          { key: "title", valueString: "Trains" },
          { key: "rows", valueMap: [{ key: "a", valueMap: [{ key: "name", valueString: "RE 1" }] }] },
        ],
      },
      beginRendering: { surfaceId: "main", root: "root" },
    };
    expect(activityOf("ui", content).surfaces).toEqual([
      {
        type: "Column",
        props: {},
        children: [text("Trains"), { type: "List", props: {}, children: [text("RE 1")] }],
      },
    ]);
  });

  it("reads the newer form, and takes away what was deleted", () => {
    const components = [
      { id: "root", component: "Card", child: "t" },
      { id: "t", component: "Text", text: "Hi" },
    ];
    const shown = { updateComponents: { surfaceId: "s", components } };
    const card = { type: "Card", props: {}, children: [text("Hi")] };
    expect(readSurfaces({ a2ui_operations: [shown] })).toEqual([card]);
    expect(readSurfaces([shown, { deleteSurface: { surfaceId: "s" } }])).toEqual([]);
  });

  it("does not follow components that contain themselves for ever", () => {
    const components = [{ id: "root", component: "Card", child: "root" }];
    expect(readSurfaces([{ updateComponents: { surfaceId: "s", components } }])).toHaveLength(1);
  });

  it("ends where components contain themselves twice", () => {
    const components = [{ id: "root", component: "Column", children: ["root", "root"] }];
    expect(readSurfaces([{ updateComponents: { surfaceId: "s", components } }])).toHaveLength(1);
  });

  it("reads what is below tabs, in both forms", () => {
    const newer = [
      { id: "root", component: "Tabs", tabs: [{ title: "One", child: "t" }] },
      { id: "t", component: "Text", text: "Hi" },
    ];
    const older = [
      { id: "root", component: { Tabs: { tabItems: [{ title: { literalString: "One" }, child: "t" }] } } },
      { id: "t", component: { Text: { text: { literalString: "Hi" } } } },
    ];
    for (const operation of [{ updateComponents: { components: newer } }, { surfaceUpdate: { components: older } }])
      expect(readSurfaces([operation])[0]?.children.map(({ props }) => props["text"])).toEqual(["One", "Hi"]);
  });

  it("has what is told last of the data in the place of what was there, and keeps what is beside it", () => {
    const components = [
      { id: "root", component: "List", children: { componentId: "row", path: "/rows" } },
      { id: "row", component: "Text", text: { path: "name" } },
    ];
    const rows = (...told: readonly object[]): unknown =>
      readSurfaces([{ updateComponents: { components } }, ...told])[0]?.children.map(({ props }) => props["text"]);
    const both = tell("/rows", [{ name: "a" }, { name: "b" }]);
    expect(rows(both, tell("/rows/1/name", "c"))).toEqual(["a", "c"]);
    expect(rows(both, tell("/rows", [{ name: "d" }]))).toEqual(["d"]);
    expect(rows(both, tell("/rows/2", { name: "c" }))).toEqual(["a", "b", "c"]);
    for (const nowhere of ["/rows/3", "/rows/4294967294", "/rows/length", "/rows/-"])
      expect(rows(both, tell(nowhere, { name: "c" }), tell("/rows/1/name", "d"))).toEqual(["a", "d"]);
    expect(rows(both, tell("/", {}))).toEqual([]);
  });

  it("reads trees of type, props and children", () => {
    const tree = { type: "container", props: { gap: 8 }, children: [{ type: "text", props: { value: "x" } }, "y"] };
    expect(activityOf("ui", tree).surfaces[0]?.children.map(({ props }) => props)).toEqual([
      { value: "x" },
      { text: "y" },
    ]);
  });
});

test("subagents are known by what events tell of them", () => {
  const events: readonly Event[] = [
    { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "reader", description: "Reads.", parentSubagentRunId: "p" },
    { type: "SUBAGENT_STARTED", subagentRunId: "t", name: "writer" },
    { type: "SUBAGENT_FINISHED", subagentRunId: "s", result: 1 },
    { type: "SUBAGENT_ERROR", subagentRunId: "t", message: "No ink." },
    { type: "SUBAGENT_FINISHED", subagentRunId: "unknown" },
  ];
  const known = events.reduce(noteSubagent, new Map());
  expect(known.get("s")).toMatchObject({ name: "reader", parent: "p", status: "finished", result: 1 });
  expect(known.get("t")).toMatchObject({ name: "writer", status: "failed", problem: "No ink." });
  expect(known.size).toBe(2);
});

describe("agents", () => {
  it("is the one in the address, else the last, else the first; one that is gone is named", () => {
    const agents = [agent("a"), agent("b")];
    const choose = (asked: string, last?: string): unknown => {
      const { agent: chosen, missing } = chooseAgent(agents, asked, last);
      return [chosen?.name, missing];
    };
    expect(choose("")).toEqual(["a", undefined]);
    expect(choose("", "b")).toEqual(["b", undefined]);
    expect(choose("a", "b")).toEqual(["a", undefined]);
    expect(choose("x", "b")).toEqual([undefined, "x"]);
    expect(choose("", "x")).toEqual(["a", "x"]);
  });

  it("tells what an agent proposes, where it is what it should be", () => {
    expect(examplesOf(agent("a", { custom: { examples: ["x", 1, "", "y"] } }))).toEqual(["x", "y"]);
    expect(examplesOf(agent("a", { custom: { examples: "x" } }))).toEqual([]);
    expect(abilitiesOf(agent("a", { reasoning: { supported: true }, tools: { supported: false } }))).toEqual([
      "Shows its reasoning",
    ]);
  });

  it("shows around by what agents can do, and leaves out what none can", () => {
    const steps = tourOf([
      agent("plain"),
      agent("thinker", { reasoning: { supported: true } }),
      agent("asker", {
        humanInTheLoop: { interrupts: true },
        tools: { supported: true },
        custom: { examples: ["Do"] },
      }),
    ]);
    expect(steps.map(({ id }) => id)).toEqual(["reasoning", "approval", "branch", "timeline", "travel"]);
    expect(steps[1]?.action).toEqual({ kind: "say", agent: "asker", text: "Do" });
    expect(tourOf([agent("plain")]).map(({ id }) => id)).toEqual(["hello", "branch", "timeline", "travel"]);
    expect(tourOf([])).toEqual([]);
  });
});

describe("attachments", () => {
  it("are parts by their media type, in base64, and not too large", () => {
    expect(["image/png", "audio/ogg", "video/mp4", "application/pdf"].map(partTypeOf)).toEqual([
      "image",
      "audio",
      "video",
      "document",
    ]);
    const bytes = new Uint8Array(100_000).map((_, index) => index % 256);
    expect(base64Of(bytes.buffer)).toBe(Buffer.from(bytes).toString("base64"));
    expect(refusalOf({ name: "a.png", size: 4_000_000 })).toBeUndefined();
    expect(refusalOf({ name: "a.png", size: 5_200_000 })).toContain("a.png is 5.2 MB");
    expect(refusalOf({ name: "b.png", size: 4_000_000 }, 7_000_000)).toBeUndefined();
    expect(refusalOf({ name: "b.png", size: 4_000_000 }, 7_000_001)).toContain("more than 11 MB in one message");
  });

  it("go behind the text, which may be missing, and have a name", () => {
    const source = { type: "url", value: "https://x.example/a/b.png?c=1" } as const;
    const part = { type: "image", source } as const;
    expect(contentOf("Hi", [])).toBe("Hi");
    expect(contentOf(" ", [part])).toEqual([part]);
    expect(contentOf("Hi", [part])).toEqual([{ type: "text", text: "Hi" }, part]);
    expect(fileNameOf(part)).toBe("b.png");
    expect(fileNameOf({ ...part, metadata: { filename: "c.png" } })).toBe("c.png");
  });
});

test("a title is cut between words, and never within a character", () => {
  expect(titleFrom("a ".repeat(40))).toBe(`${"a ".repeat(29)}a…`);
  expect(titleFrom(`a${"😀".repeat(40)}`)).toBe(`a${"😀".repeat(14)}…`);
});

test("a tool that is offered needs a name, a description and a schema", () => {
  const written = { name: "pick", description: "Picks.", schema: "" };
  expect(readTool(written)).toEqual({ name: "pick", description: "Picks.", parameters: { type: "object" } });
  expect(readTool({ ...written, name: "pick it" })).toHaveProperty("problem");
  expect(readTool({ ...written, description: " " })).toHaveProperty("problem");
  expect(readTool({ ...written, schema: "[" })).toHaveProperty("problem", "The schema is not JSON yet.");
  expect(readTool({ ...written, schema: "[]" })).toHaveProperty("problem");
});
