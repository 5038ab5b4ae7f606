/**
 * The page at `/`: what runs here, and how to call it. One file, no script, no request to anywhere.
 * Where the inspector is served, it stands in its place.
 */

/** What the page is about. */
export interface LandingPageFacts {
  /** Names of the agents. */
  readonly agents: readonly string[];
  /** Scheme, host and port that the reader came by. */
  readonly origin: string;
  /** Path that the routes are mounted under; empty for the root. */
  readonly prefix: string;
}

/** Writes the page. */
export function landingPage({ agents, origin, prefix }: LandingPageFacts): string {
  const base = `${origin}${prefix}`;
  const name = agents[0] ?? "agent";
  const input = '{"threadId":"t1","runId":"r1","messages":[]}';
  const run = `curl -N ${base}/agents/${name} -H 'content-type: application/json' -d '${input}'`;
  const attach = `curl -N '${base}/threads/t1/events?run=r1'`;
  const none = "<p>No agents yet. Name a file that exports one: <code>heddle serve agent.ts</code></p>";
  const list = `<ul>${agents.map((agent) => `<li><code>POST ${escape(`${prefix}/agents/${agent}`)}</code></li>`).join("")}</ul>`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heddle</title>
<style>${STYLE}</style>
<main>
<h1>Heddle</h1>
<p class="lead">An event log between AI agents and the people who use them. It speaks AG-UI.</p>
<h2>What runs here</h2>
${agents.length === 0 ? none : list}
<h2>Call it</h2>
<p>Start a run and watch it. Every event is logged before it is shown; closing the connection does not stop the run.</p>
<pre>${escape(run)}</pre>
<p>Watch it again, from the start or from the <code>id:</code> of any event with <code>&amp;after=</code>. The same
command as above joins the same run; a new <code>runId</code> starts another.</p>
<pre>${escape(attach)}</pre>
<h2>What else is here</h2>
<p><a href="${escape(`${prefix}/openapi.json`)}">openapi.json</a> says what else answers.</p>
</main>
</html>
`;
}

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.6 system-ui, sans-serif; background: light-dark(#faf9f7, #16181d); color: light-dark(#22252b, #e6e6e6); }
main { max-width: 46rem; margin: 0 auto; padding: 4rem 1.5rem; }
h1 { margin: 0; font-size: 2.2rem; letter-spacing: -0.02em; }
h2 { margin: 2.5rem 0 0.5rem; font-size: 1.05rem; }
.lead { margin-top: 0.3rem; color: light-dark(#5d636e, #9aa1ad); }
ul { padding-left: 1.2rem; }
code, pre { font: 0.88rem/1.5 ui-monospace, monospace; }
pre { padding: 0.9rem 1.1rem; border: 1px solid light-dark(#e2ded6, #2c3038); border-radius: 8px;
  background: light-dark(#fff, #1d2026); white-space: pre-wrap; overflow-wrap: anywhere; }
`;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
