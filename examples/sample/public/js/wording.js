/** Words and figures for people: names, times, and values in two columns. */
import { element } from "./element.js";

/** "get_weather" as "Get weather", "temperatureC" as "Temperature C". */
export function prettyName(name) {
  const words = String(name)
    .replaceAll(/[_-]+/g, " ")
    .replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A time that people can read. */
export const seconds = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

/** An object as names and values, anything else as text. JSON in a text is read first; what is known is not repeated. */
export function factsOf(given, known) {
  const value = typeof given === "string" ? parsed(given) : given;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return element("p", { class: "fact" }, typeof value === "string" ? value : JSON.stringify(value));
  }
  const news = Object.entries(value).filter(([name, each]) => known?.[name] === undefined || known[name] !== each);
  const pairs = news.flatMap(([name, each]) => [
    element("dt", {}, prettyName(name)),
    element("dd", {}, typeof each === "string" ? each : JSON.stringify(each)),
  ]);
  return element("dl", { class: "facts" }, ...pairs);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
