import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fastify } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { exchange } from "../../../test/raw-http.ts";
import { defineAgent } from "../../agent/index.ts";
import { memoryStore } from "../../store/index.ts";
import type { Pages } from "./add-pages.ts";
import { heddlePlugin } from "./heddle-plugin.ts";
import { readPageFiles } from "./page-files.ts";
import { serve } from "./serve.ts";
import type { Served } from "./serve.ts";

const quiet = defineAgent({ name: "quiet", run: () => undefined });

let folder = "";
let served: Served;

const serving = (pages: Pages): Promise<Served> =>
  serve({ agents: [quiet], store: memoryStore(), port: 0, host: "localhost", pages });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-pages-"));
  await mkdir(join(folder, "page", "js"), { recursive: true });
  await writeFile(join(folder, "secret.txt"), "secret");
  await writeFile(join(folder, "page", "index.html"), "<title>mine</title>");
  await writeFile(join(folder, "page", "js", "a.js"), "export {};");
  await writeFile(join(folder, "page", "data.bin"), Buffer.from([0, 255, 128]));
  await writeFile(join(folder, "page", ".env"), "secret");
  await symlink(join(folder, "secret.txt"), join(folder, "page", "link.txt"));
  served = await serving({ "/app": { ...(await readPageFiles(join(folder, "page"))), "made.json": "[1]" } });
});

afterAll(() => served.close());

describe("a page", () => {
  test("is there with its files, each as what it is, and what was made beside them", async () => {
    const page = await fetch(`${served.url}/app/`);
    expect([page.status, await page.text()]).toEqual([200, "<title>mine</title>"]);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "content-security-policy": expect.stringMatching(
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'/,
      ),
    });
    const script = await fetch(`${served.url}/app/js/a.js`);
    expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
    const data = await fetch(`${served.url}/app/data.bin`);
    expect(data.headers.get("content-type")).toBe("application/octet-stream");
    expect(new Uint8Array(await data.arrayBuffer())).toEqual(new Uint8Array([0, 255, 128]));
    expect(await (await fetch(`${served.url}/app/made.json`)).json()).toEqual([1]);
  });

  test("without its slash leads to the one with it, so that names in it are found", async () => {
    const bare = await fetch(`${served.url}/app`, { redirect: "manual" });
    expect([bare.status, bare.headers.get("location")]).toEqual([308, "/app/"]);
  });

  test.each([
    "/app/../secret.txt",
    "/app/%2e%2e/secret.txt",
    "/app/..%2fsecret.txt",
    "/app/.env",
    "/app/link.txt",
    "/app/js/",
  ])("gives nothing for %s", async (path) => {
    const [answer] = await exchange(served.port, {
      pieces: [`GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`],
      ends: "server",
    });
    expect(answer?.status).toBe(404);
    expect(answer?.body).not.toContain('"secret"');
  });

  test("is refused to callers from elsewhere, as everything is", async () => {
    const [answer] = await exchange(served.port, {
      pieces: ["GET /app/ HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n"],
      ends: "server",
    });
    expect(answer?.status).toBe(403);
  });

  test("at the root takes the place of ours; without one, ours is there", async () => {
    expect(await (await fetch(served.url)).text()).toContain('<div id="root">');
    const own = await serving({ "/": { "index.html": "<title>root</title>" } });
    expect(await (await fetch(own.url)).text()).toBe("<title>root</title>");
    expect((await fetch(`${own.url}/agents`)).status).toBe(200);
    await own.close();
    const plain = await serve({ agents: [quiet], store: memoryStore(), port: 0, host: "localhost", inspector: false });
    expect(await (await fetch(plain.url)).text()).toContain("What runs here");
    await plain.close();
  });

  test("the inspector brings what it loads itself, compressed where that is taken, and keeps it for good", async () => {
    const html = await (await fetch(served.url)).text();
    const script = /src="\.\/(assets\/[^"]+\.js)"/.exec(html)?.[1] ?? "";
    const plain = await fetch(`${served.url}/${script}`, { headers: { "accept-encoding": "identity" } });
    const packed = await fetch(`${served.url}/${script}`, { headers: { "accept-encoding": "gzip" } });
    expect([plain.headers.get("content-encoding"), packed.headers.get("content-encoding")]).toEqual([null, "gzip"]);
    // What CORS says of the answer stays said.
    expect(packed.headers.get("vary")).toBe("Origin, accept-encoding");
    const refused = await fetch(`${served.url}/${script}`, { headers: { "accept-encoding": "gzip;q=0, br" } });
    expect(refused.headers.get("content-encoding")).toBe(null);
    expect(await packed.text()).toBe(await plain.text());
    expect(packed.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect((await fetch(served.url)).headers.get("cache-control")).toBe("no-cache");
  });

  test("stands below the prefix of its plugin", async () => {
    const app = fastify();
    const pages = { "/app": { "index.html": "x" } };
    await app.register(heddlePlugin, { agents: [quiet], store: memoryStore(), prefix: "/ai", pages });
    expect((await app.inject("/ai/app")).headers.location).toBe("/ai/app/");
    expect((await app.inject("/ai/app/")).body).toBe("x");
    // The inspector too: what it loads is named from where it stands.
    expect((await app.inject("/ai")).headers.location).toBe("/ai/");
    expect((await app.inject("/ai/")).body).toContain('<div id="root">');
    await app.close();
  });
});

describe("a wrong page stops the start", () => {
  test.each<[string, Pages, string]>([
    ["no path", { app: { "index.html": "x" } }, "pages app: expected a path"],
    ["a path with a slash at its end", { "/app/": { "index.html": "x" } }, "pages /app/: expected a path"],
    ["no index", { "/app": { "a.js": "x" } }, "pages /app: expected files with an index.html"],
    [
      "a path that is taken",
      { "/agents": { "index.html": "x" } },
      "pages /agents: expected another path: /agents is taken",
    ],
    ["a file where a route is", { "/": { "index.html": "x", healthz: "x" } }, "/healthz is taken"],
  ])("%s", async (_, pages, sentence) => {
    await expect(serving(pages)).rejects.toThrow(sentence);
  });

  test("a path that is taken below a prefix", async () => {
    const app = fastify();
    const options = {
      agents: [quiet],
      store: memoryStore(),
      prefix: "/ai",
      pages: { "/agents": { "index.html": "x" } },
    };
    await expect(app.register(heddlePlugin, options)).rejects.toThrow("/agents is taken");
    await app.close();
  });

  test("a folder that is not there, or has no index", async () => {
    await expect(readPageFiles(join(folder, "nowhere"))).rejects.toThrow("expected a folder that can be read");
    await expect(readPageFiles(folder)).rejects.toThrow("expected a folder with a file index.html");
  });
});
