/**
 * docs/quick-start.md as a stranger follows it: the packed package, installed by npm into an empty Node project, without React;
 * then what makes a Vite project of it. The page's code runs as it stands, type-checked along with our own declarations. Only
 * addresses differ, and the two tools (tsc, vite) are those of this repository, which saves unpacking them once more.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { blocksOf } from "./docs-blocks.ts";
import { complaintsOf } from "./pages.ts";
import { readyUrl, runNode } from "./server-process.ts";
import type { Running } from "./server-process.ts";

const PAGE = "docs/quick-start.md";
const ANSWER = "You said: Hello. I take my time to say so.";
const blocks = blocksOf(PAGE);
let folder: string;
let browser: Browser;
let server: Running & { readonly url: string };
const inProject = (...path: string[]): string => join(folder, "first", ...path);

async function run(command: string, args: readonly string[], cwd = inProject()): Promise<string> {
  const ended = promisify(execFile)(command, args, { cwd, maxBuffer: 16 * 1024 * 1024 });
  // The type checker says what is wrong on its standard output.
  const { stdout } = await ended.catch((error: object) => {
    throw new Error(`${command} ${args.join(" ")}: ${Object.values(error).join("\n")}`);
  });
  return stdout;
}

/** Packages that the page installs beside Heddle, in the versions that this repository has, so that npm has them at hand. */
async function versioned(names: readonly string[]): Promise<string[]> {
  return Promise.all(
    names.map(async (name) => {
      const { version }: { version: string } = JSON.parse(await readFile(`node_modules/${name}/package.json`, "utf8"));
      return `${name}@${version}`;
    }),
  );
}

/** Installs packages, of which all that is not ours is likely to be in npm's cache. */
async function install(...packages: readonly string[]): Promise<void> {
  await run("npm", ["install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", ...packages]);
}

/** Writes blocks of the page into the project. */
async function write(...names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => writeFile(inProject(name), codeOf(name))));
}

/** A block of the page, about the server that runs. */
function codeOf(name: string): string {
  const code = blocks.get(name);
  if (code === undefined) throw new Error(`${PAGE} has no block named ${name}.`);
  return server === undefined ? code : code.replaceAll("http://localhost:5000", server.url);
}

async function serveAgent(port = 0): Promise<typeof server> {
  const command = inProject("node_modules", ".bin", "heddle");
  const store = ["--store", `sqlite:${inProject("heddle.db")}`];
  const started = runNode([command, "serve", inProject("agent.ts"), "--port", String(port), ...store]);
  return { ...started, url: await readyUrl(started) };
}

async function stopServer(): Promise<void> {
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-quick-start-"));
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], resolve("."));
  await mkdir(inProject());
  await writeFile(inProject("package.json"), '{ "type": "module", "private": true }');
  const [tarball = ""] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  await install(join(folder, tarball), ...(await versioned(["@types/node"])));
  await write("agent.ts");
  server = await serveAgent();
  browser = await openBrowser();
}, 300_000);

afterAll(async () => {
  await browser.close();
  await stopServer();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** The strictest that a stranger may use: our own declarations are checked along. */
function typeCheck(options: readonly string[], files: readonly string[]): Promise<string> {
  const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"];
  return run(resolve("node_modules/.bin/tsc"), [...strict, "--target", "es2024", ...options, ...files]);
}

test("the agent and the program type-check in a Node project, and the program prints the whole answer", async () => {
  await write("talk.ts");
  const files = ["agent.ts", "talk.ts"];
  expect(await typeCheck(["--module", "nodenext", "--types", "node"], files)).toBe("");
  const printed = await run(process.execPath, ["talk.ts"]);
  expect(printed).toBe(`${ANSWER} \nfinished: 2 messages\n`);
});

/** Serves what Vite built, until the test has ended. */
async function serveBuilt(): Promise<string> {
  const types: Readonly<Record<string, string>> = { ".html": "text/html", ".js": "text/javascript" };
  const files = createServer(async ({ url = "/" }, response) => {
    const file = inProject("dist", url === "/" ? "index.html" : url);
    const content = await readFile(file).catch(() => undefined);
    response.writeHead(content === undefined ? 404 : 200, { "content-type": types[extname(file)] ?? "text/plain" });
    response.end(content);
  }).listen(0, "127.0.0.1");
  await once(files, "listening");
  onTestFinished(() => {
    files.closeAllConnections();
    files.close();
  });
  const { port }: AddressInfo = Object(files.address());
  return `http://127.0.0.1:${port}/`;
}

const stands = (page: Page, text: string): Promise<void> => page.getByRole("status").getByText(text).waitFor();
const said = (page: Page): Promise<string[]> =>
  page.locator("[data-role=assistant]").evaluateAll((all) => all.map(({ textContent }) => textContent.trim()));

test("the page type-checks and builds in a Vite project; a reload and a restart of the server lose nothing", async () => {
  await install(...(await versioned(["react", "react-dom", "@types/react", "@types/react-dom"])));
  await write("index.html", "page.tsx");
  const options = ["--module", "esnext", "--moduleResolution", "bundler", "--jsx", "react-jsx"];
  expect(await typeCheck(options, ["page.tsx"])).toBe("");
  await run(resolve("node_modules/.bin/vite"), ["build"]);

  const page = await browser.newPage();
  page.setDefaultTimeout(30_000);
  const complaints = complaintsOf(page);
  await page.goto(await serveBuilt());
  await stands(page, "finished, caught-up");
  expect(await said(page)).toEqual([ANSWER]);

  const numbers = Array.from({ length: 40 }, (_, index) => `n${index}`).join(" ");
  const both = [ANSWER, ANSWER.replace("Hello", numbers)];
  await page.getByLabel("Message", { exact: true }).fill(numbers);
  await page.keyboard.press("Enter");
  await page.getByText("You said: n0 n1").waitFor();
  // It has not ended when the page goes, and has when the page is asked again.
  expect((await said(page))[1]).not.toContain("n39");
  await page.reload();
  await page.getByText(`${numbers}. I take my time to say so.`).waitFor();
  await stands(page, "finished");
  expect(await said(page)).toEqual(both);

  const { port } = new URL(server.url);
  await stopServer();
  await stands(page, "reconnecting");
  server = await serveAgent(Number(port));
  await stands(page, "finished, caught-up");
  expect(await said(page)).toEqual(both);
  expect(complaints.filter((text) => !text.includes("ERR_"))).toEqual([]);
  await page.goto("about:blank");
}, 180_000);
