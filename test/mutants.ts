/**
 * Faults that our tests must find: each is one small change to the source, and the test file that has to fail on it.
 * `find` has to occur exactly once in its file, so a mutant that no longer applies is noticed.
 */
export interface Mutant {
  readonly what: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly killedBy: string;
}

const stream = (what: string, name: string, find: string, replace: string, killedBy = name): Mutant => ({
  what,
  file: `src/stream/${name}.ts`,
  find,
  replace,
  killedBy: `src/stream/${killedBy}.test.ts`,
});

export const MUTANTS: readonly Mutant[] = [
  stream("CUSTOM no longer closes a chunk stream", "expand", '  META: "none",', '  META: "none",\n  CUSTOM: "none",'),
  stream(
    "a chunk's timestamp is lost",
    "expand",
    "    ...stamp(chunk.timestamp),\n    ...metadataOf(chunk),\n    ...(chunk.rawEvent",
    "    ...metadataOf(chunk),\n    ...(chunk.rawEvent",
  ),
  stream(
    "boundary ids are not compared",
    "verify",
    "if (event.runId !== state.runId)",
    "if (event.runId === undefined)",
  ),
  stream(
    "a late RUN_ERROR is refused",
    "verify",
    'event.type === "RUN_ERROR" && phase !== "failed"',
    'event.type === "RUN_ERROR" && phase === "before"',
  ),
  stream(
    "a truncated stream passes",
    "verify",
    'if (phase === "running") throw violation("truncated"',
    'if (phase === "finished") throw violation("truncated"',
  ),
  stream("a tag of another owner passes", "verify", "owners.get(id) === tag) return;", "true) return;"),
  stream(
    "steps are not kept apart by owner",
    "verify",
    "const names = state.steps.get(owner) ?? new Set();",
    "const names = state.steps.get(undefined) ?? new Set();",
  ),
  stream(
    "a published message is changed in place",
    "message-list",
    "    if (this.#fresh.size > 0) this.#fresh = new Set();",
    "",
    "reduce-view",
  ),
  stream(
    "a published list is changed in place",
    "message-list",
    "      this.#messages = this.#messages.slice();\n",
    "",
    "reduce-view",
  ),
  stream(
    "a tool result that comes twice stands twice",
    "reduce",
    'if (held?.role === "tool") list.replace(message);',
    "if (held === message) list.replace(message);",
    "reduce",
  ),
  stream(
    "metadata is replaced instead of merged",
    "reduce",
    "target.metadata = { ...target.metadata, ...metadata };",
    "target.metadata = metadata;",
    "reduce",
  ),
  stream(
    "a snapshot drops reasoning that it does not restate",
    "reduce-snapshot",
    'held.role === "activity" || held.role === "reasoning"',
    'held.role === "activity"',
    "reduce",
  ),
  stream(
    "a replacing activity keeps its old owner",
    "reduce",
    'const created = { id, role: "activity", activityType, content, ...owner(event) } as const;',
    'const created = { id, role: "activity", activityType, content, ...owner(list.get(id) ?? event) } as const;',
    "reduce",
  ),
  {
    what: "an unknown union member is kept",
    file: "src/protocol/enforce.ts",
    find: "return member === undefined ? dropUnknown(walk, path, tag) : judgeObject(walk, member, value, path);",
    replace: "return member === undefined ? value : judgeObject(walk, member, value, path);",
    killedBy: "src/protocol/enforce.test.ts",
  },
  {
    what: "a top-level interrupt without outcome reads as success",
    file: "src/protocol/dialects/normalise-event.ts",
    find: 'if (beside !== undefined || outcome === "interrupt") {',
    replace: 'if (outcome === "interrupt") {',
    killedBy: "src/protocol/dialects/normalise-event.test.ts",
  },
];
