/**
 * A tool that tells the weather. Its figures are invented and always the same; each result names that as its source.
 *
 * A city that it does not know makes it throw: that becomes a failed result, which the agent and the reader both see.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "heddle/agent";

const SOURCE = "the sample's almanac (invented figures)";

const ALMANAC: Readonly<Record<string, readonly [sky: string, temperatureC: number]>> = {
  Berlin: ["cloudy", 16],
  Cairo: ["sunny", 33],
  Lima: ["foggy", 18],
  London: ["raining", 13],
  Nairobi: ["sunny", 24],
  Oslo: ["snowing", -2],
  Paris: ["partly cloudy", 19],
  Rome: ["sunny", 26],
  Sydney: ["windy", 21],
  Tokyo: ["clear", 22],
};

/** How long a call takes. */
export interface ToolDelay {
  /** Milliseconds, as if somebody far away had to be asked. */
  readonly delayMs: number;
}

/** Makes the tool. */
export const weatherTool = ({ delayMs }: ToolDelay) =>
  defineTool({
    // What the model sees: a name, what it is for, and what its arguments look like.
    name: "get_weather",
    description: "The weather in a city, now.",
    parameters: {
      type: "object",
      properties: { city: { type: "string", minLength: 1, maxLength: 80 } },
      required: ["city"],
      additionalProperties: false,
    },
    // A call that takes longer fails.
    timeoutMs: 10_000,
    // What it does. The arguments fit the schema when they arrive here; whatever is returned becomes JSON.
    async execute({ city }, { signal }) {
      if (delayMs > 0) await sleep(delayMs, undefined, { signal });
      const asked = String(city).toLowerCase();
      const [name, report] = Object.entries(ALMANAC).find(([known]) => known.toLowerCase() === asked) ?? [];
      if (report === undefined) {
        throw new Error(`I have no weather for ${String(city)}. I know ${Object.keys(ALMANAC).join(", ")}.`);
      }
      const [sky, temperatureC] = report;
      return { city: name, sky, temperature: `${temperatureC} °C`, source: SOURCE };
    },
  });
