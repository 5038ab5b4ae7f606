/**
 * Pages for tests in a real browser: a source file bundled with React 18 or 19, served with an HTML page around it. Whatever a
 * page prints as a warning or an error, and whatever it throws, is kept: a test says that there was nothing.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import type { BuildOptions } from "esbuild";
import type { Page } from "playwright-core";
import { afterAll } from "vitest";

/** Versions of React that are tried. */
export const REACTS = [18, 19] as const;

/** Bundles a source file with a version of React, for a page or for Node. */
export async function bundleWith(react: (typeof REACTS)[number], entry: string, platform: "browser" | "node") {
  const options: BuildOptions = {
    entryPoints: [entry],
    bundle: true,
    format: platform === "browser" ? "iife" : "cjs",
    platform,
    jsx: "automatic",
    keepNames: true,
    define: { "process.env.NODE_ENV": '"development"' },
    ...(react === 18 && { alias: { react: "react-18", "react-dom": "react-dom-18" } }),
    write: false,
    logLevel: "silent",
  };
  const { outputFiles } = await build({ ...options, write: false });
  return outputFiles[0]?.text ?? "";
}

/** Serves a page at `/` and its script at `/app.js` until the file has ended, and gives the address. */
export async function servePage(html: string, script: string): Promise<string> {
  const server = createServer((request, response) => {
    const isScript = request.url === "/app.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    response.end(isScript ? script : html);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port }: AddressInfo = Object(server.address());
  return `http://127.0.0.1:${port}/`;
}

/** Keeps what a page complains about. What a browser says of requests that fail is not the page's. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (!["warning", "error"].includes(message.type())) return;
    if (!message.text().startsWith("Failed to load resource")) complaints.push(message.text());
  });
  return complaints;
}
