/** The page of the sample in a real browser: what it shows of each endpoint, and what it does when the server goes away. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Locator, Page, WebSocketRoute } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { openBrowser } from "./browser.ts";
import { findings } from "./axe-findings.ts";
import { settingsFile, startSample } from "./sample-process.ts";
import type { ServerProcess } from "./server-process.ts";

// A browser that draws in software, on cores that others use too, takes its time.
vi.setConfig({ testTimeout: 120_000 });

let browser: Browser;
let sample: ServerProcess;

beforeAll(async () => {
  [browser, sample] = await Promise.all([openBrowser(), startSample(settingsFile())]);
});

/** Pages of the test. They are left, not closed: this browser is one process, which closing a context takes along. */
const opened: Page[] = [];

afterEach(async () => {
  for (const page of opened.splice(0)) await page.goto("about:blank");
});

afterAll(async () => {
  await browser.close();
  await sample.stop();
});

async function blank(options: BrowserContextOptions = {}): Promise<Page> {
  const viewport = { width: 1200, height: 750 };
  const context = await browser.newContext({ viewport, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(40_000);
  opened.push(page);
  return page;
}

/** Opens the page, and waits until it is loaded. */
async function open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await blank(options);
  await page.goto(url);
  await page.getByRole("button", { name: "Connect", exact: true }).and(page.locator(":enabled")).waitFor();
  return page;
}

const choose = (page: Page, agent: string): Promise<void> =>
  page.getByRole("radio", { name: agent }).check({ force: true });

const field = (page: Page): Locator => page.getByLabel("Your message");

/** Asks by keyboard, and waits for the end of the answer. */
async function ask(page: Page, text: string): Promise<void> {
  const ended = page.locator(".figures, .failure");
  const before = await ended.count();
  await field(page).fill(text);
  await field(page).press("Enter");
  await ended.nth(before).waitFor();
}

const state = (page: Page): Locator => page.locator("#state");

const sawState = (page: Page, text: string): Promise<void> => state(page).getByText(text, { exact: true }).waitFor();

describe("what it shows", () => {
  test("003 REQ-SA-5.1, sample/structure.4: the root shows the page, which runs nothing that is not its own", async () => {
    const answer = await fetch(sample.url);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self';");
    expect(policy).not.toContain("unsafe");
    const html = await answer.text();
    expect(html).not.toMatch(/<script>|<style|\sstyle=|\son\w+=|https?:\/\//);
    const page = await open(sample.url);
    expect(await page.getByRole("heading", { name: "Talk to the chat agent" }).isVisible()).toBe(true);
    expect(await state(page).textContent()).toContain("Not connected");
  });

  test("003 REQ-SA-5.5, sample/structure.page: the page's script speaks WebSocket by itself", async () => {
    const html = await (await fetch(sample.url)).text();
    expect(html).toContain('src="js/page.js"');
    const script = await (await fetch(`${sample.url}/js/agui-client.js`)).text();
    expect(script).toContain("new WebSocket(");
    expect(script).not.toContain("import ");
  });

  test("003 REQ-SA-5.2: it connects to each endpoint, and to any other address", async () => {
    const page = await open(sample.url);
    for (const agent of ["Chat", "Tools", "Reasoning"]) {
      await choose(page, agent);
      await page.getByRole("button", { name: "Connect", exact: true }).click();
      await sawState(page, "Live");
      await page.getByText(`Connected to ${agent}`, { exact: true }).waitFor();
      await page.getByRole("button", { name: "Disconnect" }).click();
      await sawState(page, "Ended");
    }
    await choose(page, "Other");
    await page.getByLabel("Address").fill(`${sample.url.replace("http", "ws")}/api/ag-ui/reasoning`);
    await ask(page, "Is 7 prime?");
    expect(await page.locator(".agent .bubble").last().textContent()).toBe("7 is prime.");
    await page.getByRole("button", { name: "Disconnect" }).click();
    await page.getByLabel("Address").fill("/api/ag-ui/nowhere");
    await page.getByLabel("Address").press("Enter");
    await page.getByRole("alert").getByText("Nobody answers at this address.").waitFor();
  });

  test("003 REQ-SA-5.4: text, tool calls, results and failures are laid out for people", async () => {
    const page = await open(sample.url);
    await choose(page, "Tools");
    await page.getByRole("button", { name: "What is the weather in Paris, and what is 17*23?" }).click();
    await page.locator(".figures").waitFor();
    const cards = page.locator(".tool");
    expect(await cards.locator("h3").allTextContents()).toEqual(["Get weather", "Calculate"]);
    expect(await cards.locator(".badge").allTextContents()).toEqual([
      expect.stringMatching(/^Done in /),
      expect.stringMatching(/^Done in /),
    ]);
    expect(await cards.first().innerText()).toMatch(/City\s+Paris[^]*Sky\s+partly cloudy\s+Temperature\s+19 °C/);
    expect(await cards.last().innerText()).toMatch(/Expression\s+17\*23\s+Result\s+Value\s+391/);
    expect(await page.locator(".agent .bubble").last().textContent()).toBe(
      "In Paris it is partly cloudy, 19 °C. 17*23 is 391.",
    );
    expect(await page.locator(".step").getAttribute("data-status")).toBe("finished");
    expect(await page.locator(".figures").innerText()).toMatch(/scripted\/tools\s+\d+ tokens in, \d+ out\s+\d/);
    await ask(page, "Weather in Atlantis?");
    expect(await cards.last().innerText()).toMatch(/Failed[^]*What went wrong\s+I have no weather for Atlantis/);
    expect(await page.locator(".user .bubble").allTextContents()).toHaveLength(2);
  });

  test("003 REQ-SA-5.4: thoughts and progress stand apart from the answer", async () => {
    const page = await open(sample.url);
    await choose(page, "Reasoning");
    await ask(page, "Is 221 prime?");
    const thought = page.locator(".thought details");
    expect(await thought.locator("summary").textContent()).toMatch(/^Thought for /);
    expect(await thought.locator("p").textContent()).toContain("13 divides 221: 17 is left.");
    await thought.locator("summary").click();
    expect(await thought.locator("p").isVisible()).toBe(false);
    expect(await page.locator(".item.progress").textContent()).toBe("Trying divisors, 8 of 8");
    expect(await page.locator(".agent .bubble").textContent()).toBe("221 is not prime: it is 13 × 17.");
  });

  test("003 REQ-SA-5.4: an error has a sentence, its code, and a way to try again", async () => {
    const page = await open(sample.url);
    await ask(page, "Fail, please");
    const failure = page.locator(".failure");
    expect(await failure.innerText()).toMatch(/The agent could not answer\s+agent-failed\s+You asked me to fail/);
    await failure.getByRole("button", { name: "Try again" }).click();
    await failure.nth(1).waitFor();
    await ask(page, "Hello");
    expect(await page.locator(".agent .bubble").textContent()).toContain("Hello!");
  });

  test("what an agent says is text, never markup", async () => {
    const page = await open(sample.url);
    await ask(page, "<img src=x onerror=document.title='bad'><b>hi</b>");
    expect(await page.locator(".agent .bubble").textContent()).toContain("<b>hi</b>");
    expect(await page.locator(".items img, .items b, .log img").count()).toBe(0);
    expect(await page.title()).toBe("Heddle sample");
  });
});

describe("the event log", () => {
  test("it shows every event with its time and JSON, can be filtered, copied and cleared", async () => {
    const page = await open(sample.url);
    await choose(page, "Tools");
    await ask(page, "What is 2+2?");
    const rows = page.locator(".log li:visible");
    const all = await rows.count();
    const types = await page.locator(".log .type").allTextContents();
    expect(types.slice(0, 2)).toEqual(["session-started", "run-agent"]);
    expect(types.at(-1)).toBe("agent-response-complete");
    expect(await page.locator(".log time").first().textContent()).toMatch(/^\d\d:\d\d:\d\d\.\d{3}$/);
    expect(await page.locator("#events-count").textContent()).toBe(String(all));

    const chips = page.getByRole("group", { name: "Show only" });
    await chips.getByRole("button", { name: /^Tools/ }).click();
    expect([...new Set(await page.locator(".log li:visible .type").allTextContents())]).toEqual([
      "tool-call-chunk",
      "tool-call-complete",
      "tool-result-chunk",
      "tool-result-complete",
    ]);
    await chips.getByRole("button", { name: /^Done/ }).click();
    expect(await rows.count()).toBe(5);
    // What was copied, as one finds out: by pasting it.
    const clipboard = async (): Promise<string> => {
      await field(page).fill("");
      await field(page).press("Control+V");
      return field(page).inputValue();
    };
    await page.getByRole("button", { name: "Copy all" }).click();
    await page.getByText("The log is copied.").waitFor();
    const lines = (await clipboard()).split("\n").map((line): { type: string } => JSON.parse(line));
    expect(lines.map(({ type }) => type).at(-1)).toBe("agent-response-complete");
    expect(lines).toHaveLength(5);
    await chips.getByRole("button", { name: "All" }).click();
    expect(await rows.count()).toBe(all);

    const result = page.locator(".log li[data-type=tool-result-chunk]");
    await result.locator("summary").press("Enter");
    expect(await result.locator("pre").innerText()).toContain('"isError": false');
    await result.getByRole("button", { name: "Copy tool-result-chunk" }).click();
    await page.getByText("The event is copied.").waitFor();
    expect(JSON.parse(await clipboard())).toMatchObject({ type: "tool-result-chunk", data: { isError: false } });

    await page.getByRole("button", { name: "Clear" }).click();
    expect(await page.locator(".log li, .items li").count()).toBe(0);
    expect(await page.getByRole("heading", { name: "Ask the agent with tools" }).isVisible()).toBe(true);
  });
});

describe("the keyboard", () => {
  test("everything can be done without a mouse: choose, connect, send, new line", async () => {
    const page = await open(sample.url);
    await page.getByRole("radio", { name: "Chat" }).focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.getByRole("radio", { name: "Tools" }).isChecked()).toBe(true);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await sawState(page, "Live");
    await field(page).focus();
    await page.keyboard.type("1+1");
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.type("2+2");
    expect(await field(page).inputValue()).toBe("1+1\n2+2");
    await page.keyboard.press("Enter");
    expect(await field(page).inputValue()).toBe("");
    await page.locator(".figures").waitFor();
    expect(await page.locator(".user .bubble").textContent()).toBe("1+1\n2+2");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("message");
  });
});

describe("how it looks", () => {
  test.each([
    ["a phone", { width: 390, height: 844 }],
    ["a small phone", { width: 320, height: 568 }],
    ["a desk", { width: 1200, height: 750 }],
  ])("nothing is wider than %s", async (_, viewport) => {
    const page = await open(sample.url, { viewport });
    const isTooWide = (): Promise<boolean> =>
      page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(await isTooWide()).toBe(false);
    await choose(page, "Tools");
    await ask(page, `Weather in Atlantis, ${"x".repeat(120)} and Rome? 2+2`);
    expect(await isTooWide()).toBe(false);
    // What reaches beyond the window or its own box; summaries are cut with dots, and labels for readers are hidden.
    const wide = page.locator("body *:visible:not(.about, .hidden)").evaluateAll((elements) =>
      elements
        .filter((element) => {
          const { scrollWidth, clientWidth } = element;
          const isOutside = element.getBoundingClientRect().right > window.innerWidth + 1;
          return isOutside || (clientWidth > 0 && scrollWidth > clientWidth + 1);
        })
        .map((element) => element.outerHTML.slice(0, 80)),
    );
    expect(await wide).toEqual([]);
  });

  test("on a phone, conversation and events take turns", async () => {
    const page = await open(sample.url, { viewport: { width: 390, height: 844 } });
    await ask(page, "Hello");
    const events = page.getByRole("region", { name: "Event log" });
    expect([await field(page).isVisible(), await events.isVisible()]).toEqual([true, false]);
    await page.getByRole("button", { name: /^Events/ }).click();
    expect([await field(page).isVisible(), await events.isVisible()]).toEqual([false, true]);
  });

  test.each(["light", "dark"] as const)(
    "in %s mode, axe finds nothing serious, empty and full",
    async (colorScheme) => {
      const page = await open(sample.url, { colorScheme });
      const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(ground).toBe(colorScheme === "dark" ? "rgb(20, 22, 26)" : "rgb(246, 244, 239)");
      expect(await findings(page)).toEqual([]);
      await ask(page, "Fail");
      await choose(page, "Tools");
      await ask(page, "Weather in Rome and Atlantis? 2+2");
      await page.locator(".log [data-type=tool-result-chunk] summary").first().click();
      await choose(page, "Reasoning");
      await ask(page, "Is 91 prime?");
      expect(await findings(page)).toEqual([]);
    },
  );
});

/** What stands between the page and the server. */
interface Relay {
  /** Holds everything back behind so many events of a type. */
  holdAfter(type: string, count: number): void;
  /** Resolves when the last event before the hold has passed. */
  readonly held: Promise<void>;
  /** Lets what is held go, and everything after it. */
  release(): void;
  /** Cuts the connection; what is held is lost. */
  cut(): Promise<void>;
}

async function relayed(page: Page): Promise<Relay> {
  const { promise: held, resolve } = Promise.withResolvers<void>();
  let hold = { type: "", left: Infinity };
  let waiting: (string | Buffer)[] = [];
  let newest: WebSocketRoute | undefined;
  await page.routeWebSocket(/api\/ag-ui/, (socket) => {
    newest = socket;
    socket.connectToServer().onMessage((message) => {
      if (hold.left === 0) return void waiting.push(message);
      if (JSON.parse(String(message)).type === hold.type) hold.left -= 1;
      socket.send(message);
      if (hold.left === 0) resolve();
    });
  });
  return {
    holdAfter: (type, left) => void (hold = { type, left }),
    held,
    release() {
      hold.left = Infinity;
      for (const message of waiting) newest?.send(message);
    },
    async cut() {
      hold.left = Infinity;
      waiting = [];
      await newest?.close({ code: 4000, reason: "gone" });
    },
  };
}

describe("while things happen", () => {
  test("003 REQ-SA-5.3: events show up while they arrive, and the page says that it is busy", async () => {
    const page = await open(sample.url);
    const relay = await relayed(page);
    relay.holdAfter("text-chunk", 3);
    await field(page).fill("My name is Ada");
    await field(page).press("Enter");
    await relay.held;
    await page.getByText("Nice to meet", { exact: true }).waitFor();
    expect(await page.locator("[data-type=text-chunk]").count()).toBe(3);
    expect(await page.locator(".agent .bubble").getAttribute("aria-busy")).toBe("true");
    expect(await page.locator("#busy").innerText()).toBe("Answering");
    relay.release();
    await page.locator(".figures").waitFor();
    expect(await page.locator(".agent .bubble").textContent()).toContain("Nice to meet you, Ada. Ask me");
    expect(await page.locator("#busy").isVisible()).toBe(false);
    expect(await page.locator("[aria-busy]").count()).toBe(0);
  });

  test("an answer that ends while the connection is away is there when it comes back, once, and whole", async () => {
    const page = await open(sample.url);
    const relay = await relayed(page);
    relay.holdAfter("tool-result-chunk", 1);
    await choose(page, "Tools");
    await field(page).fill("Weather in Rome and Atlantis?");
    await field(page).press("Enter");
    await relay.held;
    await page.locator(".tool").getByText("sunny").waitFor();
    await relay.cut();
    await page.getByText("Back again, in the same session").waitFor();
    await page.locator(".figures").waitFor();
    expect(await page.locator(".tool .badge").allTextContents()).toEqual([expect.stringMatching(/^Done in/), "Failed"]);
    expect(await page.locator(".agent .bubble").allTextContents()).toEqual([
      "Let me look up these 2 things at once.",
      expect.stringMatching(/^In Rome it is sunny, 26 °C\. One thing did not work/),
    ]);
    expect(await page.locator("#busy").isVisible()).toBe(false);
  });

  test("an answer that goes on while the connection is away is told again from its beginning", async () => {
    const own = await startSample(settingsFile({ paceMs: 150 }));
    const page = await open(own.url);
    const relay = await relayed(page);
    await choose(page, "Reasoning");
    await field(page).fill("Is 35 prime?");
    await field(page).press("Enter");
    await page.getByText("To take 35 apart").waitFor();
    await relay.cut();
    await page.getByText("Back again, in the same session").waitFor();
    await page.locator(".figures").waitFor();
    const types = await page.locator(".log .type").allTextContents();
    expect(types.slice(types.lastIndexOf("session-started"))).toContain("thought-chunk");
    expect(await page.locator(".agent .bubble").allTextContents()).toEqual(["35 is not prime: it is 5 × 7."]);
    const thoughts = await page.locator(".thought p").allTextContents();
    expect(thoughts.map((thought) => thought.match(/35 apart/g)?.length)).toEqual([1]);
    await own.stop();
  });

  test("it reconnects after the server was killed and started again, and goes on with the same session and its history", async () => {
    const store = `sqlite:${join(await mkdtemp(join(tmpdir(), "heddle-sample-")), "sample.db")}`;
    const file = settingsFile();
    const first = await startSample(file, { HEDDLE_STORE: store });
    const page = await open(first.url);
    await ask(page, "My name is Ada");
    await first.kill();
    await sawState(page, "Reconnecting");
    await page.getByRole("alert").getByText("The connection dropped.").waitFor();
    const port = new URL(first.url).port;
    const second = await startSample(file, { HEDDLE_STORE: store, HEDDLE_PORT: port });
    await page
      .getByRole("button", { name: "Try now" })
      .click({ timeout: 1000 })
      .catch(() => undefined);
    await page.getByText("Back again, in the same session").waitFor();
    expect(await page.getByRole("alert").isVisible()).toBe(false);
    await ask(page, "What is my name?");
    expect(await page.locator(".agent .bubble").last().textContent()).toContain("Your name is Ada.");
    const sessions = await page.locator(".log li[data-type=session-started] pre").allTextContents();
    const ids = sessions.map((text) => String(JSON.parse(text).sessionId));
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    await second.stop();
  });

  test("a server that has forgotten the session gets a new one, and the page says so", async () => {
    const file = settingsFile();
    const first = await startSample(file);
    const page = await open(first.url);
    await ask(page, "My name is Ada");
    await first.kill();
    const second = await startSample(file, { HEDDLE_PORT: new URL(first.url).port });
    await page.getByText("Connected to a new session: the server does not know the earlier one any more").waitFor();
    await ask(page, "What is my name?");
    expect(await page.locator(".agent .bubble").last().textContent()).toContain("You have not told me");
    await second.stop();
  });

  test("a page whose list of agents does not load says so, and offers to load again", async () => {
    const page = await blank();
    await page.route("**/endpoints.json", (route) => route.fulfill({ status: 503, body: "" }));
    await page.goto(sample.url);
    await page.getByRole("alert").getByText("The list of agents could not be loaded (503).").waitFor();
    await page.unroute("**/endpoints.json");
    await page.getByRole("button", { name: "Load again" }).click();
    await page.getByRole("heading", { name: "Talk to the chat agent" }).waitFor();
    expect(await page.getByRole("alert").isVisible()).toBe(false);
  });
});
