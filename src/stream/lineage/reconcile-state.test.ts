import { describe, expect, it } from "vitest";
import { reconcileState } from "./reconcile-state.ts";
import type { StateSight } from "./reconcile-state.ts";

const runs = [
  { runId: "r1", ended: true, startState: { theme: "dark" }, state: { theme: "dark", n: 1 } },
  { runId: "r2", ended: true, state: { theme: "dark", n: 2 } },
];
const now = { theme: "dark", n: 2 };

describe("DESIGN 9, State", () => {
  it.each([[undefined], [null], [{}]])(
    "%j posted: the branch's, and a snapshot because the client lacks it",
    (posted) => {
      expect(reconcileState(posted, runs, now)).toEqual({ kind: "branch", state: now, log: false, snapshot: true });
    },
  );

  it("equal to the branch's state now: the branch's, nothing to tell", () => {
    const posted = { n: 2, theme: "dark" };
    expect(reconcileState(posted, runs, now)).toEqual({ kind: "branch", state: now, log: false, snapshot: false });
  });

  it.each([[runs[0]?.state], [runs[0]?.startState]])("%j, as it was earlier: stale and ignored", (posted) => {
    expect(reconcileState(posted, runs, now)).toEqual({ kind: "stale", state: now, log: false, snapshot: true });
  });

  it("anything else: the client's change, logged, and known to the client already", () => {
    const posted = { theme: "light", n: 2 };
    expect(reconcileState(posted, runs, now)).toEqual({ kind: "change", state: posted, log: true, snapshot: false });
    expect(reconcileState("text", runs, now)).toMatchObject({ kind: "change", state: "text" });
  });

  it("a branch without any state has {}, and a client without any holds it", () => {
    expect(reconcileState(undefined, [], undefined)).toEqual({
      kind: "branch",
      state: {},
      log: false,
      snapshot: false,
    });
    expect(reconcileState([], [], undefined)).toMatchObject({ kind: "change", state: [] });
  });

  it("a state of null, false or 0 is a state", () => {
    for (const state of [false, 0, ""]) {
      expect(reconcileState({}, [], state)).toMatchObject({ kind: "branch", state, snapshot: true });
    }
    expect(reconcileState({}, [{ runId: "r", ended: true, state: null }], null)).toMatchObject({ state: null });
  });

  it("a fork starts from its parent's end, whatever the head became", () => {
    expect(reconcileState(now, runs, now, 1)).toEqual({
      kind: "stale",
      state: runs[0]?.state,
      log: false,
      snapshot: true,
    });
    expect(reconcileState(runs[0]?.state, runs, now, 1)).toMatchObject({ kind: "branch", snapshot: false });
  });

  it("a fork repeats the change that the replaced run started with, and logs it again", () => {
    const state = { theme: "dark" };
    expect(reconcileState(now, runs, now, 0)).toEqual({ kind: "stale", state, log: true, snapshot: true });
    expect(reconcileState({}, runs, now, 0)).toEqual({ kind: "branch", state, log: true, snapshot: true });
    expect(reconcileState({ mine: 1 }, runs, now, 0)).toMatchObject({ kind: "change", state: { mine: 1 } });
  });
});

describe("who sees a part of the state", () => {
  /** All but the key `secret`. */
  const sight: StateSight = {
    see: (state) => Object.fromEntries(Object.entries(Object(state)).filter(([key]) => key !== "secret")),
    mean: (posted, state) => ({ ...Object(sight.see(posted)), secret: Object(state).secret }),
  };
  const [old, here] = [
    { n: 1, secret: 1 },
    { n: 2, secret: 2 },
  ];
  const known = [
    { runId: "r1", ended: true, state: old },
    { runId: "r2", ended: true, state: here },
  ];

  it("posts that part, and changes nothing", () => {
    const decided = { kind: "branch", state: here, log: false, snapshot: false };
    expect(reconcileState({ n: 2 }, known, here, undefined, sight)).toEqual(decided);
  });

  it("posts that part as it was, and it is stale", () => {
    expect(reconcileState({ n: 1 }, known, here, undefined, sight)).toMatchObject({ kind: "stale", state: here });
  });

  it("changes that part alone", () => {
    const decided = { kind: "change", state: { n: 3, secret: 2 }, log: true, snapshot: false };
    expect(reconcileState({ n: 3 }, known, here, undefined, sight)).toEqual(decided);
    const told = { kind: "change", state: { n: 3, secret: 2 }, log: true, snapshot: true };
    expect(reconcileState({ n: 3, secret: 9 }, known, here, undefined, sight)).toEqual(told);
  });

  it("cannot find out the rest by guessing", () => {
    const [right, wrong] = [2, 9].map((secret) => reconcileState({ n: 2, secret }, known, here, undefined, sight));
    expect(right).toEqual({ kind: "branch", state: here, log: false, snapshot: true });
    expect(wrong).toEqual(right);
  });
});
