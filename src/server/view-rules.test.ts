/** What roles get to see, from the setting of a server to what its viewers and writers get. */
import { describe, expect, test } from "vitest";
import { agentOf, bodyOf, collect, framesOf, runToEnd, served } from "../../test/served.ts";
import type { Event } from "../protocol/index.ts";
import { SSE } from "./encoding.ts";
import { ROLES } from "./auth/index.ts";
import { showOf } from "./show.ts";
import { hiddenIn, rulesFor, withRules } from "./view-rules.ts";
import type { Views } from "./view-rules.ts";

const VIEWS: Views = { observer: { reasoning: false, hiddenState: ["/secrets", "/users/*/key"] } };

describe("rules", () => {
  test("only an operator may ask for raw, unless a server says otherwise", () => {
    expect(withRules({ raw: true }, rulesFor(undefined, "operator"))).toMatchObject({ raw: true, reasoning: true });
    for (const role of ROLES.filter((each) => each !== "operator")) {
      expect(() => withRules({ raw: true }, rulesFor(VIEWS, role))).toThrow(
        expect.objectContaining({ code: "role-missing", details: { role: "operator" } }),
      );
      expect(withRules({ raw: false }, rulesFor(VIEWS, role)).raw).toBe(false);
    }
    expect(withRules({ raw: true }, rulesFor({ owner: { raw: true } }, "owner")).raw).toBe(true);
    expect(() => withRules({ raw: true }, rulesFor({ operator: { raw: false } }, "operator"))).toThrow("without raw");
  });

  test("nothing that is asked for takes a rule away", () => {
    const rules = rulesFor(VIEWS, "observer");
    const asked = withRules({ reasoning: true, hiddenState: ["/more"], meta: true }, rules);
    expect(asked).toMatchObject({ reasoning: false, meta: true, hiddenState: ["/more", "/secrets", "/users/*/key"] });
    expect(withRules({ reasoning: false }, rulesFor(VIEWS, "owner")).reasoning).toBe(false);
  });

  test("without rules, and where they hide nothing, the show is the plain one", () => {
    for (const role of ROLES) expect(showOf(withRules({}, rulesFor(undefined, role))).key).toBe(showOf().key);
    expect(showOf(withRules({}, rulesFor(VIEWS, "observer"))).key).not.toBe(showOf().key);
  });

  test("different rules make different shows", () => {
    const hides = [{}, { reasoning: false }, { hiddenState: ["/a"] }, { hiddenState: ["/b"] }, { hiddenState: [""] }];
    const options = hides.flatMap((each) => [each, { ...each, raw: true }]);
    expect(new Set(options.map((each) => showOf(each).key)).size).toBe(options.length);
  });

  test("a server knows what its views hide, and refuses what is no place", () => {
    const same: Views = { ...VIEWS, collaborator: { hiddenState: ["/users/*/key", "/secrets"] } };
    expect(hiddenIn(same)).toHaveLength(1);
    expect(hiddenIn({ owner: { reasoning: false } })).toEqual([]);
    expect(() =>
      served(
        agentOf(() => undefined),
        { views: { owner: { hiddenState: ["secrets"] } } },
      ),
    ).toThrow(expect.objectContaining({ code: "config-invalid" }));
  });
});

/** An agent that moves a key out of hiding, and asks for what is not so. */
const SAID: readonly Event[] = [
  { type: "STATE_SNAPSHOT", snapshot: { secrets: { k: "SECRET" }, users: [{ name: "Ada", key: "SECRET" }] } },
  { type: "STATE_DELTA", delta: [{ op: "move", from: "/secrets/k", path: "/out" }] },
  {
    type: "STATE_DELTA",
    delta: [
      { op: "add", path: "/never", value: 1 },
      { op: "test", path: "/secrets", value: "guess" },
    ],
  },
  { type: "STATE_DELTA", delta: [{ op: "replace", path: "/out", value: "told" }] },
];

const hiding = () =>
  served(
    agentOf(async function* ({ input }) {
      if (input.runId === "r1") yield* SAID as never[];
    }),
    { views: VIEWS },
  );

const observer = rulesFor(VIEWS, "observer");
const SEEN = { users: [{ name: "Ada" }], out: "told", secrets: undefined };

test("a server with views logs patches so that everybody can follow them", async () => {
  const heddle = hiding();
  await runToEnd(heddle);
  const full = (await collect(heddle, { runId: "r1" })).map(({ event }) => event);
  const deltas = full.flatMap((event) => (event.type === "STATE_DELTA" ? [event.delta] : []));
  expect(deltas[0]).toContainEqual({ op: "add", path: "/out", value: "SECRET" });
  // What does not apply is left out, or nothing of it.
  expect(JSON.stringify(deltas)).not.toContain("never");
  for (const prelude of [false, true]) {
    const seen = await collect(heddle, { ...withRules({}, observer), runId: "r1", prelude });
    expect(JSON.stringify(seen.at(-1)?.event)).toContain("RUN_FINISHED");
    expect(JSON.stringify(seen)).not.toContain("never");
  }
  const { state, messages } = await heddle.threads.snapshot("t1", withRules({}, observer));
  expect(state).toEqual(SEEN);
  expect(messages).toEqual([]);
  await heddle.close();
});

/** The state that a post leaves, and whether whoever posted was told otherwise. */
async function stateOf(posted: object, options: object) {
  const heddle = hiding();
  await runToEnd(heddle);
  const { runId, opening } = await heddle.start("test", bodyOf("r2", { state: posted }), options);
  for await (const { event } of (await heddle.attach("t1", { runId })).events) expect(event.type).not.toBe("RUN_ERROR");
  const { state } = await heddle.threads.snapshot("t1");
  await heddle.close();
  return { state, isTold: opening !== undefined };
}

test("what one reader was told is not told to another", async () => {
  const heddle = hiding();
  await runToEnd(heddle);
  for (const prelude of [false, true]) {
    const texts = [];
    for (const rules of [rulesFor(VIEWS, "owner"), observer, rulesFor(VIEWS, "owner")]) {
      texts.push(await framesOf(heddle, SSE, { ...withRules({}, rules), runId: "r1", prelude }));
    }
    expect(texts.map((text) => text.includes('"key"'))).toEqual([true, false, true]);
  }
  await heddle.close();
});

describe("who sees a part of the state, and posts it with a run", () => {
  const { hiddenState } = observer;
  const kept = { secrets: {}, users: [{ name: "Ada", key: "SECRET" }], out: "told" };
  test("takes nothing away", async () => {
    const { secrets: _secrets, ...seen } = SEEN;
    expect(await stateOf(seen, { hiddenState })).toEqual({ state: kept, isTold: false });
    expect((await stateOf(seen, {})).state).toEqual(seen);
  });

  test("changes what they see", async () => {
    const posted = { users: [{ name: "Ada" }, { name: "Bo", key: "forged" }], secrets: "forged" };
    const { state } = await stateOf(posted, { hiddenState });
    expect(state).toEqual({ users: [{ name: "Ada", key: "SECRET" }, { name: "Bo" }], secrets: {} });
  });
});
