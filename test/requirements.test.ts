import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parseAst } from "vitest/node";

/** A row of docs/requirements.md; `cells` are trimmed and have their `\|` undone. */
interface Row {
  line: number;
  cells: string[];
}

/** A title as the source has it: its beginning, up to the first `${`, where it is not `whole`. */
interface Title {
  text: string;
  whole: boolean;
}

interface Node {
  type: string;
  [key: string]: unknown;
}

/** The titles in a test file, or undefined where there is no such file. */
type TitlesIn = (path: string) => string[] | undefined;

const header = ["id", "requirement", "status", "by"];
const expectation = "expect changed: ";

/** Every line with a bare `|` that is neither the header nor the separator of a table. */
function parseRows(markdown: string): Row[] {
  const rows: Row[] = [];
  for (const [index, line] of markdown.split("\n").entries()) {
    const parts = line.split(/(?<!\\)\|/).map((part) => part.trim().replaceAll("\\|", "|"));
    if (parts.length === 1) continue;
    const framed = parts[0] === "" && parts.at(-1) === "";
    const cells = framed ? parts.slice(1, -1) : [line];
    const isSeparator = cells.every((cell) => /^:?-+:?$/.test(cell));
    if (!isSeparator && cells.join() !== header.join()) rows.push({ line: index + 1, cells });
  }
  return rows;
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value;
}

/** What is known of a title without running the code. */
function literal(node: unknown): Title {
  if (!isNode(node)) return { text: "", whole: false };
  if (node.type === "Literal" && typeof node.value === "string") {
    return { text: node.value, whole: true };
  }
  if (node.type === "TemplateLiteral") {
    const quasis = node.quasis as { value: { cooked: string } }[];
    return { text: quasis[0]?.value.cooked ?? "", whole: quasis.length === 1 };
  }
  if (node.type === "BinaryExpression" && node.operator === "+") {
    const left = literal(node.left);
    const right = literal(node.right);
    return left.whole ? { text: left.text + right.text, whole: right.whole } : left;
  }
  return { text: "", whole: false };
}

/** `it.each(rows)` → ["it", "each"]; undefined for a callee that is not made of names. */
function calleeNames(node: unknown): string[] | undefined {
  if (!isNode(node)) return undefined;
  if (node.type === "Identifier") return [node.name as string];
  if (node.type === "CallExpression") return calleeNames(node.callee);
  if (node.type === "TaggedTemplateExpression") return calleeNames(node.tag);
  if (node.type !== "MemberExpression" || !isNode(node.property)) return undefined;
  const names = calleeNames(node.object);
  return names && [...names, node.property.name as string];
}

/** The titles of the tests and suites in a source that run: not those skipped, to do or failing. */
function titlesOf(source: string, path: string): string[] {
  const titles: string[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    if (!isNode(value)) return;
    if (value.type === "CallExpression") {
      const names = calleeNames(value.callee) ?? [];
      if (["it", "test", "describe", "suite"].includes(names[0] ?? "")) {
        if (names.some((name) => ["skip", "todo", "fails"].includes(name))) return;
        titles.push(literal((value.arguments as unknown[])[0]).text.trim());
      }
    }
    Object.values(value).forEach(visit);
  };
  visit(parseAst(source, { lang: path.endsWith("x") ? "tsx" : "ts" }).body);
  return titles.filter((title) => title !== "");
}

/** What is wrong with a reference to a test, or undefined. */
function judgeReference(path: string, title: string, titlesIn: TitlesIn): string | undefined {
  if (!/^[^./][^:]*\.test\.tsx?$/.test(path) || path.includes("..")) {
    return `${path} is not a test file of this repository`;
  }
  const titles = titlesIn(path);
  if (!titles) return `${path} does not exist`;
  return titles.includes(title.trim()) ? undefined : `${path} has no test "${title}"`;
}

/** What is wrong with the `by` cell of a row that is done or changed. */
function judgeEvidence(status: string, by: string, titlesIn: TitlesIn): string[] {
  const references = [...by.matchAll(/`([^`]+)` › (`+)(.+?)\2(?!`)/g)];
  const [first] = references;
  if (!first) return [`${status} without a test`];
  const words = by.slice(0, first.index);
  const after = references.reduce((rest, [text]) => rest.replace(text, ""), by.slice(first.index));
  const faults = references.map(([, path, , title]) => judgeReference(path!, title!, titlesIn));
  if (by.startsWith(expectation)) faults.push(`${status}, yet only expected to be`);
  if (status === "changed" && (words.match(/\p{L}+/gu)?.length ?? 0) < 2) {
    faults.push("changed without words that say what is different");
  }
  if (words.includes(".test.ts") || !/^(?:[\s,;.]|and)*$/.test(after)) {
    faults.push("something in `by` that is not a reference");
  }
  return faults.filter((fault) => fault !== undefined);
}

/** Everything wrong with a table of requirements, each with its line and id. */
function judge(markdown: string, titlesIn: TitlesIn): string[] {
  const seen = new Set<string>();
  return parseRows(markdown).flatMap(({ line, cells }) => {
    const [id = "", requirement = "", status = "", by = ""] = cells;
    const faults: string[] = [];
    if (cells.length !== header.length) faults.push(`${cells.length} cells`);
    if (!/^00[0-4]\/[\w./-]+$/.test(id)) faults.push("malformed id");
    if (requirement === "") faults.push("no requirement");
    if (seen.has(id)) faults.push("duplicate id");
    seen.add(id);
    if (status === "open") {
      if (by !== "" && !by.startsWith(expectation)) faults.push("open, yet `by` is filled");
    } else if (status === "done" || status === "changed") {
      faults.push(...judgeEvidence(status, by, titlesIn));
    } else {
      faults.push(`unknown status "${status}"`);
    }
    return faults.map((fault) => `${line}: ${id}: ${fault}`);
  });
}

const root = new URL("../", import.meta.url);
const known = new Map<string, string[]>();

const titlesInRepository: TitlesIn = (path) => {
  const file = fileURLToPath(new URL(path, root));
  if (!known.has(path) && existsSync(file)) {
    known.set(path, titlesOf(readFileSync(file, "utf8"), path));
  }
  return known.get(path);
};

describe("docs/requirements.md", () => {
  const markdown = readFileSync(new URL("docs/requirements.md", root), "utf8");
  const ids = parseRows(markdown).map(({ cells }) => cells[0] ?? "");

  it("has only sound rows", () => {
    expect(judge(markdown, titlesInRepository)).toEqual([]);
  });

  it("has lost no row of any seed", () => {
    const counts: Record<string, number> = {};
    for (const [seed] of ids.map((id) => id.split("/"))) {
      counts[seed ?? ""] = (counts[seed ?? ""] ?? 0) + 1;
    }
    expect(counts).toEqual({ "000": 288, "001": 47, "002": 63, "003": 385, "004": 83 });
  });

  // The numbers of acceptance criteria under each heading of seed 003.
  it.each([
    [4, "REQ-1 REQ-2 REQ-3 REQ-4 REQ-5 REQ-6 REQ-DO-1 REQ-DO-2 REQ-DO-4 REQ-DO-5"],
    [8, "REQ-DO-3"],
    [5, "REQ-PR-1 REQ-PR-2 REQ-PR-3 REQ-PR-4 REQ-PR-5 REQ-PR-6"],
    [5, "REQ-AC-1 REQ-AC-2 REQ-AC-3 REQ-AC-4 REQ-AC-5 REQ-AC-6"],
    [5, "REQ-SA-1 REQ-SA-2 REQ-SA-3 REQ-SA-4 REQ-SA-5 REQ-SA-6"],
    [5, "REQ-SM-1 REQ-SM-2 REQ-SM-3 REQ-SM-4"],
    [4, "map/TextMessage map/ToolsCallAggregateMessage map/ReasoningMessage"],
    [4, "map/UsageMessage map/CompositeMessage"],
    [5, "map/ToolsCallMessage map/ToolsCallResultMessage"],
    [4, "ws/connect ws/terminate ws/run-agent ws/event err/agent err/session"],
    [5, "ws/exchange"],
    [4, "api/AddAgUi api/UseAgUi api/protocol-handler api/session-manager"],
    [4, "sample/structure sample/config deps dotnet"],
    [4, "perf/streaming perf/buffers perf/session-memory"],
    [4, "sec/auth sec/validation sec/rate-limit test/unit test/integration"],
    [5, "log"],
    [7, "future"],
  ])("has all %i criteria of each of %s", (criteria, sections) => {
    for (const section of sections.split(" ")) {
      const numbers = Array.from({ length: criteria }, (_, index) => `${index + 1}`);
      const prefix = `003/${section}.`;
      const rows = ids.filter((id) => id.startsWith(prefix)).map((id) => id.slice(prefix.length));
      expect(rows.filter((name) => /^\d+$/.test(name))).toEqual(numbers);
    }
  });

  it.each([
    ["REQ-DO-1.1", 16],
    ["REQ-DO-2.1", 6],
    ["REQ-SM-1.1", 6],
    ["REQ-SM-2.1", 5],
    ["REQ-SM-3.1", 5],
    ["REQ-SM-3.2", 3],
  ])("has a row for each item under %s", (criterion, items) => {
    expect(ids.filter((id) => id.startsWith(`003/${criterion}.`))).toHaveLength(items);
  });
});

function table(row: string): string {
  return ["# Title", "", `| ${header.join(" | ")} |`, "| --- | --- | --- | --- |", row].join("\n");
}

describe("the judgement of a table", () => {
  const source = [
    `describe("a group", () => {`,
    `  it("holds", () => expect("it('only quoted')").toBeDefined());`,
    `  test.concurrent('holds \\'too\\'', run); // it("only a comment")`,
    `  it.each<number>([1, 2])("counts %i", (n: number) => void n);`,
    "  it(`names ${thing} and more`, run);",
    `  it("is " + "joined", run);`,
    `  it("a | b", run);`,
    `  it.skip("is skipped", run);`,
    `  it.todo("is to do");`,
    `  describe.skip("sleeps", () => it("sleeps too", run));`,
    `});`,
  ].join("\n");
  const titles = new Map([["test/a.test.ts", titlesOf(source, "test/a.test.ts")]]);
  const titlesIn: TitlesIn = (path) => titles.get(path);

  it.each([
    "| 000/a | Something holds. | open | |",
    "| 000/a | Something holds. | open | expect changed: in another way |",
    "| 000/a | This \\| that. | done | `test/a.test.ts` › `holds` |",
    "| 000/a | Something holds. | done | `test/a.test.ts` › `a group` |",
    "| 000/a | Something holds. | done | `test/a.test.ts` › `holds 'too'` |",
    "| 000/a | Something holds. | done | `test/a.test.ts` › `counts %i` |",
    "| 000/a | Something holds. | done | `test/a.test.ts` › `names` |",
    "| 000/a | Something holds. | done | `test/a.test.ts` › `is joined` |",
    "| 000/a | Something holds. | done | `test/a.test.ts` › `a \\| b` |",
    "| 000/a | Something holds. | changed | an object now; `test/a.test.ts` › `holds` |",
    "| 000/a | It holds. | done | `test/a.test.ts` › `holds`, `test/a.test.ts` › `a group` |",
  ])("accepts %s", (row) => {
    expect(judge(table(row), titlesIn)).toEqual([]);
  });

  it.each([
    ["| 000/a | It holds. | done | `test/b.test.ts` › `holds` |", "b.test.ts does not exist"],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `hold` |", `has no test "hold"`],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `only quoted` |", "has no test"],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `only a comment` |", "has no test"],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `is skipped` |", "has no test"],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `is to do` |", "has no test"],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `sleeps too` |", "has no test"],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `names x and more` |", "has no test"],
    ["| 000/a | It holds. | done | `../a.test.ts` › `holds` |", "not a test file"],
    ["| 000/a | It holds. | done | `src/a.ts` › `holds` |", "not a test file"],
    ["| 000/a | It holds. | done | |", "done without a test"],
    ["| 000/a | It holds. | done | `test/a.test.ts` > `holds` |", "done without a test"],
    ["| 000/a | It holds. | done | `test/a.test.ts` › `holds`, `names` |", "not a reference"],
    ["| 000/a | It holds. | changed | in another way |", "changed without a test"],
    ["| 000/a | It holds. | changed | `test/a.test.ts` › `holds` |", "changed without words"],
    ["| 000/a | It holds. | changed | expect changed: `test/a.test.ts` › `holds` |", "expected"],
    ["| 000/a | It holds. | open | `test/a.test.ts` › `holds` |", "open, yet"],
    ["| 000/a | It holds. | maybe | |", `unknown status "maybe"`],
    ["| 000/a | It holds. | Open | |", `unknown status "Open"`],
    ["| 000/a | It holds. | open |", "3 cells"],
    ["| 000/a | It | holds. | open | |", "5 cells"],
    ["000/a | It holds. | open |", "1 cells"],
    ["000/a | It holds.", "1 cells"],
    ["| 000/a | | open | |", "no requirement"],
    ["| 005/a | It holds. | open | |", "malformed id"],
  ])("rejects %s", (row, fault) => {
    expect(judge(table(row), titlesIn).join("\n")).toContain(fault);
  });

  it("rejects an id that was used before, in any table of the file", () => {
    const row = "| 000/a | It holds. | open | |";
    expect(judge(`${table(row)}\n\n${table(row)}`, titlesIn)).toEqual(["11: 000/a: duplicate id"]);
  });
});
