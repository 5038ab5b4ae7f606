/**
 * nginx or Caddy as a child process, with the configuration that is committed in deploy/: only addresses, times and places of
 * files are replaced, and each replacement has to find what it replaces. Its access log tells who answered what.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** A proxy at work. */
export interface ProxyProcess {
  /** Where it answers. */
  readonly url: string;
  /** Has it read its configuration again, while it goes on. */
  reload(): Promise<void>;
  /** Requests that have ended so far, in the order of their ends. */
  answered(): readonly ProxiedRequest[];
  /** All that the access log says. */
  log(): string;
}

/** A line of the access log. */
export interface ProxiedRequest {
  /** Method. */
  readonly method: string;
  /** Path, without the query. */
  readonly path: string;
  /** Status. */
  readonly status: number;
  /** Addresses of those who were asked, in order. */
  readonly upstreams: readonly string[];
}

/** The proxies that there are configurations for. */
export const PROXY_NAMES = ["nginx", "caddy"] as const;

/** Name of a proxy. */
export type ProxyName = (typeof PROXY_NAMES)[number];

/** Times that a test has no patience for. */
export interface ProxyTimes {
  /** How long nginx waits for a word of the server. Caddy waits for ever. Default: as committed. */
  readonly silenceMs?: number;
  /** How long nginx lets streams of before a reload be. Caddy lets them end. Default: as committed. */
  readonly graceMs?: number;
}

/** Starts a proxy before two servers, `host:port` each, until the test has finished. */
export async function startProxy(
  name: ProxyName,
  upstreams: readonly [string, string],
  times: ProxyTimes = {},
): Promise<ProxyProcess> {
  const folder = mkdtempSync(join(tmpdir(), `heddle-${name}-`));
  chmodSync(folder, 0o755);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  return (name === "nginx" ? startNginx : startCaddy)(folder, port, upstreams, times);
}

type Start = (
  folder: string,
  port: number,
  upstreams: readonly [string, string],
  times: ProxyTimes,
) => Promise<ProxyProcess>;

const startNginx: Start = async (folder, port, [one, two], { silenceMs = 60_000, graceMs = 30_000 }) => {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((kind) => `${kind}_temp_path ${join(folder, kind)};`)
    .join(" ");
  const access = join(folder, "access.log");
  const main = replaced("deploy/nginx.conf", [
    ["listen 80;", `listen 127.0.0.1:${port};`],
    ["server 127.0.0.1:5000 ", `server ${one} `],
    ["server 127.0.0.1:5001 ", `server ${two} `],
    ["worker_shutdown_timeout 30s;", `worker_shutdown_timeout ${graceMs}ms;`],
    ["/var/log/nginx/access.log", access],
    ["http {", `http { ${temporary}`],
  ]);
  const silence: Replacement = ["proxy_read_timeout 60s;", `proxy_read_timeout ${silenceMs}ms;`];
  writeFileSync(join(folder, "nginx.conf"), main);
  writeFileSync(join(folder, "nginx-heddle.conf"), replaced("deploy/nginx-heddle.conf", [silence]));
  const globals = `daemon off; pid ${join(folder, "pid")}; error_log stderr;`;
  const args = ["-p", folder, "-c", join(folder, "nginx.conf"), "-e", "stderr", "-g", globals];
  const { kill, said } = started("nginx", args, {});
  await answering(port, said);
  const log = (): string => readFileSync(access, "utf8");
  return {
    url: `http://127.0.0.1:${port}`,
    reload: async () => kill("SIGHUP"),
    log,
    answered: () => linesOf(log()).map((line) => nginxRequest(line)),
  };
};

function nginxRequest(line: string): ProxiedRequest {
  const [, , method = "", path = "", status, , , ...asked] = line.split(" ");
  const upstreams = asked.join(" ").match(/[\d.]+:\d+/g) ?? [];
  return { method, path, status: Number(status), upstreams };
}

const startCaddy: Start = async (folder, port, [one, two]) => {
  const access = join(folder, "access.log");
  const file = join(folder, "Caddyfile");
  const admin = await freePort();
  const written = replaced("deploy/Caddyfile", [
    ["grace_period 30s", `grace_period 30s\n\tadmin 127.0.0.1:${admin}`],
    ["heddle-1:5000 heddle-2:5000", `${one} ${two}`],
    ["lb_policy least_conn", "lb_policy round_robin\n\theader_down X-Upstream {http.reverse_proxy.upstream.address}"],
    ["{$SITE} {", `http://127.0.0.1:${port} {\n\tbind 127.0.0.1\n\tlog {\n\t\toutput file ${access}\n\t}`],
  ]);
  writeFileSync(file, written);
  const env = { SITE: `127.0.0.1:${port}`, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const { said } = started("caddy", ["run", "--config", file, "--adapter", "caddyfile"], env);
  await answering(port, said);
  const log = (): string => readFileSync(access, "utf8");
  return {
    url: `http://127.0.0.1:${port}`,
    async reload() {
      const args = ["reload", "--force", "--config", file, "--adapter", "caddyfile", "--address", `127.0.0.1:${admin}`];
      const reloading = started("caddy", args, env);
      if ((await reloading.ended) !== 0) throw new Error(reloading.said());
    },
    log,
    answered: () => linesOf(log()).map((line) => caddyRequest(JSON.parse(line))),
  };
};

interface CaddyLine {
  readonly request: { readonly method: string; readonly uri: string };
  readonly status: number;
  readonly resp_headers: Readonly<Record<string, readonly string[]>>;
}

const caddyRequest = ({ request, status, resp_headers: headers }: CaddyLine): ProxiedRequest => ({
  method: request.method,
  path: request.uri.split("?", 1)[0] ?? "",
  status,
  upstreams: headers["X-Upstream"] ?? [],
});

type Replacement = readonly [what: string, by: string];

/** The text of a file with replacements, each of which is found exactly once. */
function replaced(file: string, replacements: readonly Replacement[]): string {
  let text = readFileSync(file, "utf8");
  for (const [what, by] of replacements) {
    const parts = text.split(what);
    if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times "${what}": expected once.`);
    text = parts.join(by);
  }
  return text;
}

const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

interface Started {
  readonly ended: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
  said(): string;
}

function started(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Started {
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, ...env } });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  const ended = once(child, "close").then(([code]: (number | null)[]) => code ?? null);
  onTestFinished(async () => {
    // nginx would leave its workers behind; Caddy would wait for its streams.
    child.kill(command === "nginx" ? "SIGTERM" : "SIGKILL");
    await ended;
  });
  return { ended, kill: (signal) => void child.kill(signal), said: () => said };
}

/** Waits until somebody listens: it says so nowhere. */
async function answering(port: number, said: () => string): Promise<void> {
  for (let attempt = 1; attempt <= 200; attempt++) {
    const socket = connect(port, "127.0.0.1");
    const open = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "close").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (open) return;
    await pause(50);
  }
  throw new Error(`The proxy does not answer: ${said()}`);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
