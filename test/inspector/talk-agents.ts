/** Agents that do what the page Talk has to show: everything that can be asked, attached, left to the client, drawn and nested. */
import { defineAgent } from "../../src/agent/index.ts";

/** Says what was attached, and gives an image, a document and a link back as the result of a tool. */
export const attaching = defineAgent({
  name: "attaching",
  description: "Looks at files.",
  async run({ input, emit }) {
    const content = input.messages.findLast(({ role }) => role === "user")?.content;
    const parts: readonly { readonly type: string; readonly source?: { readonly mimeType?: string } }[] = Array.isArray(
      content,
    )
      ? content
      : [];
    const call = emit.toolCall("draw");
    await call.end();
    await emit.toolResult(call.id, [
      { type: "text", text: "Drawn." },
      {
        type: "image",
        source: { type: "data", value: PIXEL, mimeType: "image/png" },
        metadata: { filename: "dot.png" },
      },
      {
        type: "document",
        source: { type: "data", value: "aGVsbG8=", mimeType: "text/plain" },
        metadata: { filename: "a.txt" },
      },
      { type: "image", source: { type: "url", value: "https://example.invalid/far.png" } },
    ]);
    const kinds = parts.map(({ type, source }) => `${type} ${source?.mimeType ?? ""}`.trim());
    await emit.text().write(`You sent: ${kinds.join(", ")}. ![far](https://example.invalid/far.png) <b>no html</b>`);
  },
});

/** A green pixel. */
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Calls every tool that the client offers, and says what came of it. */
export const leaving = defineAgent({
  name: "leaving",
  description: "Leaves its tools to you.",
  capabilities: { tools: { supported: true, clientProvided: true } },
  async run({ input, emit }) {
    const results = input.messages.slice(input.messages.findLastIndex(({ role }) => role === "user"));
    const told = results.flatMap((message) =>
      message.role === "tool"
        ? [`${message.error === undefined ? "got" : "failed with"} ${String(message.content)}`]
        : [],
    );
    if (told.length > 0) return void (await emit.text().write(`I ${told.join(" and ")}.`));
    const names = (input.tools ?? []).map(({ name }) => name);
    for (const name of names.length > 0 ? names : ["locate", "measure"]) {
      const call = emit.toolCall(name);
      await call.args(JSON.stringify({ precise: true, unit: "m" }));
      await call.end();
    }
  },
});

const EVERYTHING = {
  type: "object",
  properties: {
    name: { type: "string", title: "Full name" },
    story: { type: "string", maxLength: 2000 },
    nights: { type: "integer", minimum: 1, description: "How many nights." },
    price: { type: "number" },
    breakfast: { type: "boolean" },
    room: { enum: ["single", "double", 3] },
    view: {
      oneOf: [
        { const: "sea", title: "The sea" },
        { const: "yard", title: "The yard" },
      ],
    },
    guests: { type: "array", items: { type: "string" } },
    address: { type: "object" },
  },
  required: ["name", "nights", "room"],
} as const;

/** Asks two questions at once: one with a form of every kind, one that expires. */
export const asking = defineAgent({
  name: "asking",
  description: "Asks for everything.",
  capabilities: { humanInTheLoop: { supported: true, interrupts: true } },
  async run({ emit }) {
    const [form, plain] = await Promise.all([
      emit.interrupt({
        id: "form",
        reason: "input_required",
        message: "Where do you want to stay?",
        responseSchema: EVERYTHING,
      }),
      emit.interrupt({
        id: "sure",
        reason: "confirmation",
        message: "Are you sure?",
        responseSchema: { type: "boolean" },
        expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    ]);
    await emit.text().write(`\`${JSON.stringify({ form, plain })}\``);
  },
});

/** Shows a plan, a progress, a surface of A2UI and something of its own. */
export const showing = defineAgent({
  name: "showing",
  description: "Shows activities.",
  async run({ emit }) {
    emit.activity("PLAN", {
      title: "The trip",
      steps: [
        { description: "Find a train", status: "completed" },
        { description: "Book it", status: "in_progress" },
        { description: "Pack", status: "pending" },
      ],
    });
    emit.activity("progress", { title: "Booking", done: 3, total: 12 });
    emit.activity("a2ui-surface", {
      a2ui_operations: [
        { createSurface: { surfaceId: "s" } },
        {
          updateComponents: {
            surfaceId: "s",
            components: [
              { id: "root", component: "Card", child: "column" },
              { id: "column", component: "Column", children: ["title", "price", "pick", "map"] },
              { id: "title", component: "Text", text: { path: "/title" }, usageHint: "h2" },
              { id: "price", component: "Row", children: ["amount", "button"] },
              { id: "amount", component: "Text", text: "29 €" },
              { id: "button", component: "Button", label: "Book now", action: { name: "book" } },
              { id: "pick", component: "CheckBox", label: "Window seat", value: true },
              { id: "map", component: "TrainMap", line: "RE 1" },
            ],
          },
        },
        { updateDataModel: { surfaceId: "s", path: "/", value: { title: "Train to Cologne" } } },
      ],
    });
    emit.activity("weather_report", { city: "Cologne", wind: { speed: 3, unit: "m/s" } });
    await emit.text().write("| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is **all**.");
  },
});

/** Says a word that no line holds wherever words stand, and quotes deeper than anything draws. */
export const wordy = defineAgent({
  name: "wordy",
  description: "Uses long words.",
  async run({ emit }) {
    const word = "Donaudampfschifffahrt".repeat(20);
    emit.activity("PLAN", { title: word, steps: [{ title: word, note: word, status: "failed" }] });
    emit.activity(word, { [word]: word });
    const call = emit.toolCall(word);
    await call.args(JSON.stringify({ [word]: [word] }));
    await call.end();
    await emit.toolResult(call.id, word, { error: `No ${word}` });
    const subagent = emit.subagent(word, { description: word });
    await subagent.emit.text().write(`\`${word}\``);
    await subagent.end();
    await emit.text().write(`${">".repeat(5000)} quoted`);
  },
});

/** Asks in long words for a decision that came too late, and shows a component of a name that every object has. */
export const late = defineAgent({
  name: "late",
  description: "Asks too late.",
  async run({ emit }) {
    const word = "Donaudampfschifffahrt".repeat(20);
    const components = [{ id: "root", component: "constructor", text: "Odd one" }];
    emit.activity("a2ui", { a2ui_operations: [{ updateComponents: { surfaceId: "s", components } }] });
    const call = emit.toolCall("remove");
    await call.args('{"path":"/a"}');
    await call.end();
    const { status } = await emit.interrupt({
      id: "late",
      reason: "tool_call",
      toolCallId: call.id,
      message: "Remove it?",
      responseSchema: {
        type: "object",
        properties: { approved: { type: "boolean" }, [word]: { type: "string", description: word } },
      },
      expiresAt: new Date(0).toISOString(),
    });
    await emit.text().write(`It was ${status}.`);
  },
});

/** A subagent with a subagent of its own. */
export const nesting = defineAgent({
  name: "nesting",
  description: "Has others do it.",
  capabilities: { multiAgent: { supported: true } },
  async run({ emit }) {
    const outer = emit.subagent("planner", { description: "Plans the work." });
    await outer.emit.text().write("I plan.");
    const inner = outer.emit.subagent("reader", { description: "Reads one book." });
    await inner.emit.text().write("I read.");
    await inner.end();
    await outer.end();
    await emit.text().write("They are done.");
  },
});

/** Fails. */
export const failing = defineAgent({
  name: "failing",
  description: "Fails.",
  async run() {
    throw new Error("It broke, as asked.");
  },
});

/** All of them. */
export const all = [attaching, leaving, asking, showing, late, wordy, nesting, failing];
