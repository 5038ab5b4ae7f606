/** What a stranger installs: the packed package, in an empty project, every entry imported and type-checked. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly bin: Readonly<Record<string, string>>;
};
const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
const project = mkdtempSync(join(tmpdir(), "heddle-package-"));
const installed = join(project, "node_modules", "heddle");

function run(command: string, args: readonly string[], cwd = project): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}: ${stdout}${stderr}`);
  return stdout;
}

beforeAll(() => {
  const [packed] = JSON.parse(
    run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", project], resolve(".")),
  ) as {
    filename: string;
  }[];
  mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", join(project, packed?.filename ?? ""), "-C", installed, "--strip-components=1"]);
  // Its own dependencies, and the peers without which an entry has no use, resolve beside it; nothing else does.
  for (const name of [...Object.keys(manifest.dependencies), "react", "@types/react", "@types/node", "@ag-ui/client"]) {
    const link = join(project, "node_modules", name);
    mkdirSync(join(link, ".."), { recursive: true });
    symlinkSync(resolve("node_modules", name), link);
  }
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
});
afterAll(() => rmSync(project, { recursive: true }));

describe("the package", () => {
  it.each(entries)("can be imported as heddle%s", (entry) => {
    const code = `const all = await import("heddle${entry.slice(1)}"); if (Object.keys(all).length === 0) throw new Error("empty")`;
    expect(run("node", ["--input-type=module", "-e", code])).toBe("");
  });

  it("type-checks in a project that uses every entry", () => {
    const lines = entries.map(
      (entry, index) => `import * as e${index} from "heddle${entry.slice(1)}";\nvoid e${index};`,
    );
    const use = `import { parseEvent } from "heddle/protocol";
const { value } = parseEvent({});
if (value?.type === "TEXT_MESSAGE_CONTENT") value.delta.trim();
// @ts-expect-error -- a field that the event does not have
if (value?.type === "TEXT_MESSAGE_END") value.delta;`;
    writeFileSync(join(project, "use.ts"), `${lines.join("\n")}\n${use}\n`);
    const options = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--skipLibCheck",
      "--types",
      "node",
    ];
    expect(run(resolve("node_modules/.bin/tsc"), [...options, "use.ts"])).toBe("");
  });

  it("carries no tests, and its command runs", () => {
    const files = readdirSync(installed, { recursive: true }).map(String);
    expect(files.filter((file) => /\.test(-d)?\./.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "PROTOCOL.md"]));
    expect(run("node", [join(installed, manifest.bin.heddle ?? ""), "--version"])).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("runs an agent of one's own without a server", () => {
    writeFileSync(
      join(project, "quick-start.ts"),
      `import { defineAgent, runAgent } from "heddle/agent";
const agent = defineAgent({ name: "echo", run: async ({ emit }) => { await emit.text().write("hello"); } });
for await (const event of runAgent(agent, { threadId: "t", runId: "r", messages: [] })) console.log(event.type);`,
    );
    expect(run("node", ["quick-start.ts"]).trim().split("\n")).toEqual([
      "RUN_STARTED",
      "TEXT_MESSAGE_START",
      "TEXT_MESSAGE_CONTENT",
      "TEXT_MESSAGE_END",
      "RUN_FINISHED",
    ]);
  });
});
